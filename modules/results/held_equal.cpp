#include "results/held_equal.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/text.h"
#include "results/comparability.h"
#include "results/conditions.h"
#include "results/devices.h"
#include "system/json_fields.h"

namespace rnnlab {
namespace {

using AreEqual = std::function<bool(const RunRecord&, const RunRecord&)>;
using TextOf = std::function<std::string(const RunRecord&)>;

void sort_in(HeldEqual& held, const char* what, const std::vector<RunRecord>& runs, const TextOf& text,
             const AreEqual& are_equal) {
  HeldCondition condition{.what = what, .values = {}};
  const bool is_told = std::ranges::none_of(runs, [&](const RunRecord& run) { return text(run).empty(); });
  const bool is_equal = std::ranges::all_of(runs, [&](const RunRecord& run) { return are_equal(runs[0], run); });
  for (const RunRecord& run : runs) add_once(condition.values, text(run));
  if (!is_told)
    held.unrecorded.emplace_back(what);
  else if (is_equal)
    held.equal.push_back({what, {condition.values[0]}});
  else
    held.unequal.push_back(std::move(condition));
}

// A value that may depend on the seed is compared between runs of equal seeds.
void sort_in_by_seed(HeldEqual& held, const char* what, const std::vector<RunRecord>& runs,
                     std::string Identity::*hash) {
  constexpr size_t kDigitsShown = 12;
  const auto is_untold = [&](const RunRecord& run) { return (run.summary.identity.*hash).empty(); };
  if (std::ranges::any_of(runs, is_untold)) {
    held.unrecorded.emplace_back(what);
    return;
  }
  std::map<int64_t, std::set<std::string>> values;
  for (const RunRecord& run : runs)
    values[run.summary.seed].insert((run.summary.identity.*hash).substr(0, kDigitsShown));
  HeldCondition condition{.what = what, .values = {}};
  bool is_equal = true;
  for (const auto& [seed, hashes] : values) {
    is_equal = is_equal && hashes.size() == 1;
    for (const std::string& one : hashes)
      add_once(condition.values, values.size() == 1 ? one : fmt::format("{} (seed {})", one, seed));
  }
  (is_equal ? held.equal : held.unequal).push_back(std::move(condition));
}

std::string program_text(const RunRecord& run) {
  const std::string& program = other_program(run);
  return program.empty() ? "rnnlab" : program;
}

// Runs of rnnlab alone do not need this condition.
void sort_in_programs(HeldEqual& held, const std::vector<RunRecord>& runs) {
  const auto is_ours = [](const RunRecord& run) { return other_program(run).empty(); };
  if (std::ranges::all_of(runs, is_ours)) return;
  const auto is_same = [](const RunRecord& a, const RunRecord& b) { return other_program(a) == other_program(b); };
  sort_in(held, "program", runs, program_text, is_same);
}

// Runs of one process each do not need this condition.
void sort_in_devices(HeldEqual& held, const std::vector<RunRecord>& runs) {
  if (std::ranges::all_of(runs, [](const RunRecord& run) { return num_devices(run) == 1; })) return;
  const auto text = [](const RunRecord& run) { return std::to_string(num_devices(run)); };
  sort_in(held, "devices", runs, text,
          [](const RunRecord& a, const RunRecord& b) { return num_devices(a) == num_devices(b); });
}

std::string lines_of(const std::vector<HeldCondition>& conditions) {
  size_t width = 0;
  for (const HeldCondition& condition : conditions) width = std::max(width, condition.what.size());
  std::string lines;
  for (const HeldCondition& condition : conditions)
    lines += fmt::format("  {:<{}}  {}\n", condition.what, width, join(condition.values, "; "));
  return lines;
}

}  // namespace

HeldEqual held_equal(const std::vector<RunRecord>& runs) {
  HeldEqual held;
  if (runs.empty()) return held;
  sort_in_programs(held, runs);
  sort_in_devices(held, runs);
  sort_in_by_seed(held, "data", runs, &Identity::data_fingerprint);
  sort_in_by_seed(held, "order of the samples", runs, &Identity::order_sha256);
  sort_in_by_seed(held, "initial weights", runs, &Identity::initial_weights_sha256);
  for (const RunCondition& condition : run_conditions()) {
    const auto is_same = [&](const RunRecord& a, const RunRecord& b) { return are_equal(condition, a, b); };
    sort_in(held, condition.what, runs, condition.value, is_same);
  }
  for (const ConditionField& field : condition_fields()) {
    const auto text = [&](const RunRecord& run) { return field.text(run.summary.identity.conditions); };
    const auto is_same = [&](const RunRecord& a, const RunRecord& b) {
      return are_equal(field, a.summary.identity.conditions, b.summary.identity.conditions);
    };
    sort_in(held, field.what, runs, text, is_same);
  }
  return held;
}

std::string held_equal_text(const HeldEqual& held) {
  std::string text = "Held equal:\n" + lines_of(held.equal);
  if (!held.unequal.empty()) text += "Not held equal:\n" + lines_of(held.unequal);
  if (!held.unrecorded.empty()) text += "Not recorded by every run: " + join(held.unrecorded, ", ") + "\n";
  return text;
}

}  // namespace rnnlab
