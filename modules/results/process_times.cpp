#include "results/process_times.h"

#include <map>
#include <tuple>

#include "base/statistics.h"

namespace rnnlab {
namespace {

using RoundKey = std::tuple<std::string, int64_t, std::vector<int64_t>>;
using SecondsByRound = std::map<RoundKey, double>;

// Splits the group's runs by process.
std::vector<RunGroup> by_process(const RunGroup& group) {
  std::vector<RunGroup> processes;
  std::map<std::string, size_t> index_of;
  for (const RunRecord* run : group.runs) {
    const auto [found, is_new] = index_of.emplace(run->summary.turn.process, processes.size());
    if (is_new) processes.emplace_back();
    processes[found->second].runs.push_back(run);
  }
  return processes;
}

// Returns nothing if a process does not belong to a round of a measurement, or if two processes have the same round and
// seeds.
std::optional<SecondsByRound> by_round(const std::vector<ProcessTime>& processes) {
  SecondsByRound found;
  for (const ProcessTime& process : processes) {
    if (process.measurement.empty() || process.round == 0) return std::nullopt;
    const bool is_new =
        found.emplace(RoundKey{process.measurement, process.round, process.seeds}, process.seconds).second;
    if (!is_new) return std::nullopt;
  }
  return found;
}

}  // namespace

std::vector<ProcessTime> process_times(const RunGroup& group) {
  std::vector<ProcessTime> times;
  for (const RunGroup& process : by_process(group)) {
    const std::vector<double> seconds = timed_seconds(process);
    const Turn& turn = process.runs[0]->summary.turn;
    if (!seconds.empty()) times.push_back({turn.measurement, turn.round, seeds(process), median(seconds)});
  }
  return times;
}

std::vector<double> seconds_of(const std::vector<ProcessTime>& processes) {
  std::vector<double> seconds;
  for (const ProcessTime& process : processes) seconds.push_back(process.seconds);
  return seconds;
}

std::optional<PairedSeconds> paired_by_round(const std::vector<ProcessTime>& first,
                                             const std::vector<ProcessTime>& second) {
  const auto of_first = by_round(first), of_second = by_round(second);
  if (!of_first || !of_second || of_first->size() != of_second->size()) return std::nullopt;
  PairedSeconds pairs;
  for (const auto& [round, seconds] : *of_first) {
    const auto partner = of_second->find(round);
    if (partner == of_second->end()) return std::nullopt;
    pairs.first.push_back(seconds);
    pairs.second.push_back(partner->second);
  }
  return pairs;
}

}  // namespace rnnlab
