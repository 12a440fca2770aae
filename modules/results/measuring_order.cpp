// SPDX-License-Identifier: Apache-2.0
#include "results/measuring_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/numbers.h"
#include "base/random.h"
#include "base/text.h"

namespace rnnlab {

std::vector<size_t> order_of_round(uint64_t seed, int64_t round, size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  SplitMix64 random(seed + static_cast<uint64_t>((round - 1) / 2));
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.next() % i]);
  if (round % 2 == 0) std::ranges::reverse(order);
  return order;
}

uint64_t seed_of_measurement(const std::string& name) {
  constexpr int kHexadecimal = 16;
  uint64_t seed = 0;
  std::from_chars(name.data(), name.data() + name.size(), seed, kHexadecimal);
  return seed;
}
namespace {

std::pair<std::string, std::string> first_and_last_start(const RunGroup& group) {
  const auto started = [](const RunRecord* run) { return run->started; };
  const auto [first, last] = std::ranges::minmax(group.runs, {}, started);
  return {first->started, last->started};
}

std::set<std::string> measurements_in_rounds(const RunGroup& group) {
  std::set<std::string> names;
  for (const RunRecord* run : group.runs)
    if (run->summary.turn.round > 0) names.insert(run->summary.turn.measurement);
  names.erase("");
  return names;
}

// Sides that share rounds were measured in turn. A sweep without repeats has one measurement and no rounds.
bool share_rounds(const RunGroup& a, const RunGroup& b) {
  const std::set<std::string> names = measurements_in_rounds(a);
  return std::ranges::any_of(measurements_in_rounds(b), [&](const std::string& name) { return names.contains(name); });
}

// ---- at the same time ----

// The times are in seconds since 1970.
struct Span {
  double begin = 0, end = 0;
};

// A machine without an id, such as a container, is identified by its name.
const std::string& machine_of(const RunRecord& run) {
  const HostInfo& host = run.environment.host;
  return host.machine_id.empty() ? host.hostname : host.machine_id;
}

// A run opens its log after it has prepared its device, which takes seconds on a GPU. Its whole time counts from its
// start before that.
std::optional<Span> span_of(const RunRecord& run) {
  const auto begin = start_in_seconds(run);
  if (!begin || run.summary.was_resumed || machine_of(run).empty()) return std::nullopt;
  const double start = seconds_since_1970(run.environment.start_time).value_or(*begin);
  return Span{*begin, std::min(start, *begin) + run.summary.total_seconds};
}

// Starts without a log are recorded to the second.
bool overlap(const Span& a, const Span& b) {
  constexpr double kSlack = 2, kPart = 0.1;
  const double together = std::min(a.end, b.end) - std::max(a.begin, b.begin);
  return together > kSlack && together > kPart * std::min(a.end - a.begin, b.end - b.begin);
}

// Returns CUDA_VISIBLE_DEVICES, which determines the GPU that is cuda:0.
std::string visible_gpus(const RunRecord& run) {
  if (!run.environment.variables) return "";
  const auto found = run.environment.variables->find("CUDA_VISIBLE_DEVICES");
  return found == run.environment.variables->end() ? "" : found->second;
}

// The parts of a machine that two runs shared while both trained.
enum class Shared { kMachine, kCpus, kGpu };

template <class T>
bool have_a_common_item(std::vector<T> a, std::vector<T> b) {
  return std::ranges::any_of(a, [&](const T& item) { return std::ranges::find(b, item) != b.end(); });
}

// If a file does not record its GPUs, the name of the device is compared.
bool share_a_gpu(const RunRecord& a, const RunRecord& b) {
  const std::string &first = a.environment.used_gpus, &second = b.environment.used_gpus;
  if (!first.empty() && !second.empty()) return have_a_common_item(split(first, ','), split(second, ','));
  return a.summary.device == b.summary.device && visible_gpus(a) == visible_gpus(b);
}

// If a file does not record its cores, two runs share cores if and only if both trained on the CPU.
bool share_cpus(const RunRecord& a, const RunRecord& b) {
  const std::string &first = a.environment.cpu.usable_list, &second = b.environment.cpu.usable_list;
  if (first.empty() || second.empty()) return !is_on_gpu(a) && !is_on_gpu(b);
  return have_a_common_item(numbers_in_list(first), numbers_in_list(second));
}

// Two runs on different GPUs share only the machine, although the threads that start their kernels share cores.
std::optional<Shared> shared_between(const RunRecord& a, const RunRecord& b) {
  if (machine_of(a) != machine_of(b)) return std::nullopt;
  if (is_on_gpu(a) && is_on_gpu(b)) return share_a_gpu(a, b) ? Shared::kGpu : Shared::kMachine;
  return share_cpus(a, b) ? Shared::kCpus : Shared::kMachine;
}

struct TimedRun {
  const RunRecord* run;
  const RunGroup* group;
  Span span;
};

std::vector<TimedRun> timed_runs(const std::vector<RunGroup>& groups) {
  std::vector<TimedRun> timed;
  for (const RunGroup& group : groups)
    for (const RunRecord* run : group.runs)
      if (const auto span = span_of(*run)) timed.push_back({run, &group, *span});
  return timed;
}

std::string run_folder_of(const TimedRun& timed) { return folder_name(*timed.run, *timed.group); }

// Two runs are named as an example.
void add_sharing(std::vector<GroupFinding>& found, const std::vector<RunGroup>& groups, Shared shared,
                 const char* where, const char* kind) {
  const std::vector<TimedRun> timed = timed_runs(groups);
  std::set<const RunGroup*> concerned;
  std::string example;
  for (size_t i = 0; i < timed.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (!overlap(timed[i].span, timed[j].span) || shared_between(*timed[i].run, *timed[j].run) != shared) continue;
      concerned.insert(timed[i].group);
      concerned.insert(timed[j].group);
      if (example.empty()) example = fmt::format("{} and {}", run_folder_of(timed[j]), run_folder_of(timed[i]));
    }
  for (const RunGroup& group : groups)
    if (concerned.contains(&group))
      found.push_back({"", group.label,
                       fmt::format(": trained while another of these runs trained {} ({})", where, example), kind});
}

// ---- rounds ----

using Rounds = std::map<std::pair<std::string, int64_t>, std::set<int64_t>>;  // by measurement and seed

Rounds rounds_of(const RunGroup& group) {
  Rounds rounds;
  for (const RunRecord* run : group.runs) {
    const Turn& turn = run->summary.turn;
    if (turn.round > 0) rounds[{turn.measurement, run->summary.seed}].insert(turn.round);
  }
  return rounds;
}

std::vector<std::string> lacking(const std::set<int64_t>& rounds, const std::set<int64_t>& others) {
  constexpr int64_t kMostRounds = 1000;  // because a file may contain any number
  std::vector<std::string> missing;
  const int64_t last = std::max(*rounds.rbegin(), *others.rbegin());
  for (int64_t round = 1; round <= std::min(last, kMostRounds); ++round)
    if (!rounds.contains(round)) missing.push_back(std::to_string(round));
  return missing;
}

bool have_a_common_key(const Rounds& own, const Rounds& others) {
  return std::ranges::any_of(own, [&](const auto& one) { return others.contains(one.first); });
}

// order_warning reports sides that do not share a measurement.
void add_missing(std::vector<GroupFinding>& found, const RunGroup& group, const Rounds& own,
                 const RunGroup& other_group, const Rounds& others) {
  for (const auto& [measurement_and_seed, rounds] : own) {
    const auto other = others.find(measurement_and_seed);
    if (other == others.end() && have_a_common_key(own, others))
      found.push_back({"", group.label,
                       fmt::format(": has {} of seed {} of a measurement in which {} has no run, so these were not "
                                   "measured in turn; compare runs of the same measurements",
                                   counted(std::ssize(rounds), "run"), measurement_and_seed.second, other_group.label),
                       warning::kMissingRounds});
    if (other == others.end()) continue;
    const std::vector<std::string> missing = lacking(rounds, other->second);
    if (missing.empty()) continue;
    found.push_back({"", group.label,
                     fmt::format(": no run of {} {} of the measurement; if runs were omitted, compare all of them",
                                 missing.size() == 1 ? "round" : "rounds", join_with_and(missing)),
                     warning::kMissingRounds});
  }
}

}  // namespace

std::optional<GroupFinding> order_warning(const RunGroup& baseline, const RunGroup& group) {
  if (share_rounds(baseline, group)) return std::nullopt;
  const auto [first, last] = first_and_last_start(baseline);
  const auto [other_first, other_last] = first_and_last_start(group);
  const bool is_before = last < other_first, is_after = other_last < first;
  const bool is_known = !first.empty() && !other_first.empty();
  if (!is_known || (!is_before && !is_after)) return std::nullopt;
  return GroupFinding{fmt::format("{} was measured as a whole {} ", baseline.label, is_before ? "before" : "after"),
                      group.label,
                      ": a drift of the machine would look like a difference; use repeats to alternate the runs",
                      warning::kOneAfterTheOther};
}

std::vector<GroupFinding> shared_device_findings(const std::vector<RunGroup>& groups) {
  std::vector<GroupFinding> found;
  add_sharing(found, groups, Shared::kGpu, "on the same GPU, so both were disturbed; train one after the other",
              warning::kAtOneTime);
  add_sharing(found, groups, Shared::kCpus, "on the same CPU cores, so both were disturbed; train one after the other",
              warning::kAtOneTime);
  return found;
}

std::vector<GroupFinding> shared_machine_warnings(const std::vector<RunGroup>& groups) {
  std::vector<GroupFinding> found;
  add_sharing(found, groups, Shared::kMachine,
              "elsewhere on the same machine; they share its memory, its power and its cooling",
              warning::kOnOneMachine);
  return found;
}

std::vector<GroupFinding> missing_rounds(const RunGroup& baseline, const RunGroup& group) {
  std::vector<GroupFinding> found;
  const Rounds first = rounds_of(baseline), second = rounds_of(group);
  add_missing(found, baseline, first, group, second);
  add_missing(found, group, second, baseline, first);
  return found;
}

}  // namespace rnnlab
