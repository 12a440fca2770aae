// SPDX-License-Identifier: Apache-2.0
#include "base/system/warning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/system/json_fields.h"
#include "base/text.h"

namespace rnnlab {
namespace {

// Each text is a part of the sentences of one kind and of no different kind.
constexpr std::pair<std::string_view, const char*> kOldWords[] = {
    {"THIS BUILD IS NOT FOR TIMING", warning::kSlowBuild},
    {"MORE THREADS THAN CPUS", warning::kMoreThreadsThanCpus},
    {"THE CPU IS BUSY", warning::kCpuBusy},
    {"THE CPU WAS SHARED", warning::kCpuShared},
    {" IS SHARED: ", warning::kGpuShared},
    {" WAS SHARED: ", warning::kGpuShared},
    {" IS BUSY: ", warning::kGpuBusy},
    {" THROTTLED: ", warning::kGpuThrottled},
    {"checkpoint.every_steps: ", warning::kCopiesInEpochs},
    {"traced (--trace)", warning::kTraced},
    {"goes on with another ", warning::kOtherMachine},
    {"training.schedule cosine ends with the run", warning::kScheduleChanged},
    {"a newer checkpoint is not usable", warning::kCheckpointUnusable},
    {"which checkpoint was the best is forgotten", warning::kBestForgotten},
};

}  // namespace

std::vector<std::string> texts_of(const std::vector<Warning>& warnings) {
  std::vector<std::string> texts;
  for (const Warning& warning : warnings) texts.push_back(warning.text);
  return texts;
}

bool is_about_times(const Warning& warning) {
  constexpr std::array kNotOfTimes = {warning::kOther,          warning::kLittleMemory,
                                      warning::kDevicesChanged, warning::kScheduleChanged,
                                      warning::kBestForgotten,  warning::kDiverged,
                                      warning::kInterrupted,    warning::kCheckpointUnusable,
                                      warning::kHighLoss,       warning::kNotBetterThanBaseline,
                                      warning::kWrongSummary,   warning::kWrongIdentity,
                                      warning::kOtherPrecision, warning::kBrokenSeal,
                                      warning::kRowsDisagree,   warning::kEditedSummary,
                                      warning::kEditedConfig,   warning::kEditedEnvironment,
                                      warning::kOtherWeights,   warning::kLossesPart,
                                      warning::kSkippedCopy,    warning::kUnequalEpochs};
  return std::ranges::none_of(kNotOfTimes, [&](const char* kind) { return warning.kind == kind; });
}

SplitWarnings split_by_times(const std::vector<Warning>& warnings) {
  SplitWarnings split;
  for (const Warning& one : warnings) (is_about_times(one) ? split.of_times : split.others).push_back(one);
  return split;
}

std::string one_line_on_times(const std::vector<Warning>& of_times, std::string_view where) {
  if (of_times.empty()) return "";
  const auto more = std::ssize(of_times) - 1;
  const std::string rest =
      more == 0 ? "" : fmt::format(" (and {} more {}, which {})", more, more == 1 ? "reason" : "reasons", where);
  return fmt::format("do not rely on these times: {}{}", of_times.front().text, rest);
}

void add_once(std::vector<Warning>& warnings, const Warning& warning) {
  if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
}

std::string kind_of_old_warning(std::string_view text) {
  for (const auto& [words, kind] : kOldWords)
    if (text.find(words) != std::string_view::npos) return kind;
  return warning::kOther;
}

void from_json(const JsonPlace& place, Warning& warning) {
  constexpr int64_t kFirstWithKinds = 3;
  if (place.version >= kFirstWithKinds) return from_json<Warning>(place, warning);
  from_json(place, warning.text);
  warning.kind = kind_of_old_warning(warning.text);
}

namespace {

struct RemarkOfSeveral {
  GroupFinding first;
  std::vector<std::string> who;
  bool differ = false;  // whether `after` differs
};

bool are_of_one_kind(const GroupFinding& a, const GroupFinding& b) {
  if (a.before != b.before || a.kind != b.kind) return false;
  return !a.kind.empty() || a.after == b.after;
}

// Two different remarks of one kind about the same subject are not merged, so that both are reported.
bool can_share(const RemarkOfSeveral& shared, const GroupFinding& remark) {
  if (!are_of_one_kind(shared.first, remark)) return false;
  return shared.first.after == remark.after || std::ranges::find(shared.who, remark.who) == shared.who.end();
}

// Returns the number of subjects to name: at least one, at most three, as many as fit on a line with the rest of the
// sentence.
size_t num_named(const std::vector<std::string>& who) {
  constexpr size_t kMostNamed = 3, kLongest = 100;
  size_t length = who.front().size(), count = 1;
  while (count < who.size() && count < kMostNamed && length + who[count].size() <= kLongest)
    length += who[count++].size();
  return count;
}

std::string names_of(std::vector<std::string> who) {
  const size_t count = num_named(who);
  if (who.size() <= count + 1) return join_with_and(who);
  const size_t num_more = who.size() - count;
  who.resize(count);
  return fmt::format("{} and {} more", join(who, ", "), num_more);
}

bool contains_all(const std::vector<std::string>& list, const std::vector<std::string>& members) {
  return std::ranges::all_of(members,
                             [&](const std::string& member) { return std::ranges::find(list, member) != list.end(); });
}

// Returns the subjects with the name of each complete set in the place of its first member. Two members are named.
std::vector<std::string> with_sets(std::vector<std::string> who, const std::vector<NamedSet>& sets) {
  constexpr size_t kFewest = 3;
  for (const NamedSet& set : sets) {
    if (set.members.size() < kFewest || !contains_all(who, set.members)) continue;
    const auto is_member = [&](const std::string& one) { return contains_all(set.members, {one}); };
    *std::ranges::find_if(who, is_member) = set.name;
    std::erase_if(who, is_member);
  }
  return who;
}

}  // namespace

std::vector<Warning> merged(const std::vector<GroupFinding>& remarks, const std::vector<NamedSet>& sets) {
  std::vector<RemarkOfSeveral> all;
  for (const GroupFinding& remark : remarks) {
    const auto is_alike = [&](const RemarkOfSeveral& shared) { return can_share(shared, remark); };
    const auto found = std::ranges::find_if(all, is_alike);
    RemarkOfSeveral& shared =
        found == all.end() ? all.emplace_back(RemarkOfSeveral{.first = remark, .who = {}}) : *found;
    add_once(shared.who, remark.who);
    shared.differ = shared.differ || shared.first.after != remark.after;
  }
  std::vector<Warning> lines;
  for (const RemarkOfSeveral& shared : all)
    lines.emplace_back(
        shared.first.kind,
        fmt::format("{}{}{}{}", shared.first.before, names_of(with_sets(shared.who, sets)), shared.first.after,
                    shared.differ ? " (these are the details of the first one)" : ""));
  return lines;
}

}  // namespace rnnlab
