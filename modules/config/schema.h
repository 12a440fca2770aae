// Schema<T> is the one field list of a struct of settings: parsing, checks, help and printing all come from it.
// Defaults are what T{} holds. A struct declares `static const config::Schema<TrainingSettings>& schema();` and defines
// it in its .cpp:
//
//   const config::Schema<TrainingSettings>& TrainingSettings::schema() {
//     static const config::Schema<TrainingSettings> schema = [] {
//       config::Schema<TrainingSettings> s("How the weights are fitted");
//       s.field("epochs", &TrainingSettings::epochs, "passes over the training data").at_least(1);
//       s.check([](const TrainingSettings& t, config::Checker& checker) {
//         if (t.warmup_epochs >= t.epochs) checker.complain({"warmup_epochs", "epochs"}, "no epoch is left to time");
//       });
//       return s;
//     }();
//     return schema;
//   }
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "config/document.h"
#include "config/enum_names.h"
#include "config/field.h"
#include "config/findings.h"
#include "config/spec.h"

namespace rnnlab::config {

class ReadContext;

// What a rule over several keys complains to.
class Checker {
 public:
  Checker(ReadContext& context, const StructSpec& spec, std::string prefix);

  // Names every key with its place, or "(default)" where the file does not set it. `keys` are dotted and start at the
  // struct of the rule; name all that the rule looked at, for a rule about a key that is wrong in itself is not
  // reported. A rule must not depend on whether a key is set: use std::optional, so that a printed configuration means
  // the same as the file it came from.
  void complain(const std::vector<std::string>& keys, const std::string& message);

 private:
  ReadContext& context_;
  const StructSpec& spec_;
  std::string prefix_;  // "" or "training."
};

template <class T>
class Schema {
 public:
  // The title heads the printed configuration and the reference page.
  explicit Schema(std::string title) { spec_.title = std::move(title); }

  // V: bool, an integer, double, std::string, an enum with EnumNames, or a std::vector or std::optional of one of
  // these. The help is one line without its full stop; the unit, the default and the bounds are added to it.
  template <class V>
  Field<V> field(std::string key, V T::*member, std::string help) {
    spec_.entries.push_back({std::move(key), std::move(help), make_field_spec(member)});
    return Field<V>(std::get<FieldSpec>(spec_.entries.back().content));
  }

  // `schema` must outlive this one.
  template <class V>
  void group(std::string key, V T::*member, std::string help, const Schema<V>& schema) {
    GroupSpec group{&schema.spec(), [member](void* object) -> void* { return &(static_cast<T*>(object)->*member); },
                    [member](const void* object) -> const void* { return &(static_cast<const T*>(object)->*member); }};
    spec_.entries.push_back({std::move(key), std::move(help), std::move(group)});
  }

  // A rule over several keys. It runs on the finished struct, whose every key holds a valid value or its default.
  void check(std::function<void(const T&, Checker&)> rule) {
    spec_.rules.push_back([rule = std::move(rule)](const void* object, Checker& checker) {
      rule(*static_cast<const T*>(object), checker);
    });
  }

  // A file of these settings has no `sweep:`, and no message proposes one.
  void refuse_sweep() { spec_.sweep = StructSpec::Sweep::kRefused; }

  const StructSpec& spec() const { return spec_; }

 private:
  StructSpec spec_;
};

void read_struct(const Document& document, const StructSpec& spec, void* object, Findings& findings);
std::string print_struct(const StructSpec& spec, const void* object, const void* defaults);
std::string describe_struct(const StructSpec& spec, const void* defaults);
std::string markdown_struct(const StructSpec& spec, const void* defaults);
std::string json_schema_struct(const StructSpec& spec, const void* defaults);

// T{} with what the document sets. What is wrong goes to `findings` and leaves its key at the default.
// A top-level `sweep` is not looked at: Sweep (config/sweep.h) takes it out.
template <class T>
T read(const Document& document, const Schema<T>& schema, Findings& findings) {
  T object{};
  read_struct(document, schema.spec(), &object, findings);
  return object;
}

// YAML with a comment a key (meaning, unit, default, bounds); it reads back to an equal value.
template <class T>
std::string print(const T& object, const Schema<T>& schema) {
  const T defaults{};
  return print_struct(schema.spec(), &object, &defaults);
}

// Plain text, one line a key: dotted key, what it takes, default, meaning.
template <class T>
std::string describe(const Schema<T>& schema) {
  const T defaults{};
  return describe_struct(schema.spec(), &defaults);
}

// A Markdown page, one section and table a group.
template <class T>
std::string markdown(const Schema<T>& schema) {
  const T defaults{};
  return markdown_struct(schema.spec(), &defaults);
}

// JSON Schema (draft 2020-12) of a file, its sweep included: for editors.
template <class T>
std::string json_schema(const Schema<T>& schema) {
  const T defaults{};
  return json_schema_struct(schema.spec(), &defaults);
}

}  // namespace rnnlab::config
