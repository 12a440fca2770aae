// SPDX-License-Identifier: Apache-2.0
// RNNLAB_FIELDS lists the members of a struct that its file has, in the order of the file, once for writing and reading
// (base/system/json_fields.h):
//
//   struct Build {
//     std::string type;
//     bool optimized = false;
//     int64_t jobs = 0;
//     std::string compiler;
//     RNNLAB_FIELDS(type, optimized, since<3>(jobs), where_given(compiler), named("is_debug", !optimized))
//   };
//
// since<3> is a member that files of versions before 3 do not have; it keeps its default there. where_given is a text,
// list or optional that only some files have: it is written if it is not empty. named gives a key to an expression,
// which makes a struct that is only written. flattened(member) is a struct whose fields are among those of this one.
// Each struct has visit_fields(visit) then, which calls visit(key, member, since) for every field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rnnlab {

// Stands for the version of a field that only some files have.
inline constexpr int64_t kWhereGiven = -1;

template <class Member>
struct ListedField {
  Member& member;
  int64_t since;
};

template <class Member>
struct FlattenedField {
  Member& member;
};

template <int64_t version, class Member>
ListedField<Member> since(Member& member) {
  return {member, version};
}

template <class Member>
ListedField<Member> where_given(Member& member) {
  return {member, kWhereGiven};
}

template <class Value>
ListedField<const Value> named(std::string_view, const Value& value) {
  return {value, 0};
}

template <class Member>
FlattenedField<Member> flattened(Member& member) {
  return {member};
}

// Takes the first entry from the text of a list and returns its key: "jobs" of "since<3>(jobs), where_given(compiler)".
std::string take_key(std::string_view& list);

template <class Visit, class Member>
void visit_entry(Visit& visit, const std::string& key, ListedField<Member> entry) {
  visit(key, entry.member, entry.since);
}

template <class Visit, class Member>
void visit_entry(Visit& visit, const std::string&, FlattenedField<Member> entry) {
  entry.member.visit_fields(visit);
}

template <class Visit, class Member>
void visit_entry(Visit& visit, const std::string& key, Member& member) {
  visit(key, member, 0);
}

template <class Visit, class... Entries>
void visit_entries(Visit& visit, std::string_view list, Entries&&... entries) {
  (visit_entry(visit, take_key(list), entries), ...);
}

struct IgnoreField {
  template <class T>
  void operator()(const std::string&, const T&, int64_t) const {}
};

template <class T>
concept HasFields = requires(const T& value) {
  value.visit_fields(IgnoreField{});
};

}  // namespace rnnlab

#define RNNLAB_FIELDS(...)                                     \
  template <class Visit>                                       \
  void visit_fields(Visit&& visit) {                           \
    ::rnnlab::visit_entries(visit, #__VA_ARGS__, __VA_ARGS__); \
  }                                                            \
  template <class Visit>                                       \
  void visit_fields(Visit&& visit) const {                     \
    ::rnnlab::visit_entries(visit, #__VA_ARGS__, __VA_ARGS__); \
  }
