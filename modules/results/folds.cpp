// SPDX-License-Identifier: Apache-2.0
#include "results/folds.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/numbers.h"
#include "base/statistics.h"

namespace rnnlab {
namespace {

int64_t number_of(const RunRecord& run, const char* key) {
  const auto found = run.config.find(key);
  return found == run.config.end() ? 0 : parse_int64(found->second).value_or(0);
}

// The baselines of a fold are equal in all of its runs.
std::map<int64_t, const std::vector<Baseline>*> baselines_of_folds(const std::vector<RunValue>& values) {
  std::map<int64_t, const std::vector<Baseline>*> found;
  for (const RunValue& one : values)
    if (const auto fold = fold_of(*one.run)) found.emplace(*fold, &one.run->summary.baselines);
  return found;
}

// Returns the values of a metric in the folds that have the baseline.
std::vector<double> values_of_baseline(const std::map<int64_t, const std::vector<Baseline>*>& folds,
                                       const std::string& name, const std::string& metric) {
  std::vector<double> values;
  for (const auto& [fold, baselines] : folds) {
    const auto found = std::ranges::find(*baselines, name, &Baseline::name);
    if (found != baselines->end() && found->metrics.contains(metric)) values.push_back(found->metrics.at(metric));
  }
  return values;
}

}  // namespace

std::optional<int64_t> fold_of(const RunRecord& run) {
  const int64_t fold = number_of(run, kFoldKey);
  return fold > 0 ? std::optional(fold) : std::nullopt;
}

int64_t num_folds(const RunRecord& run) { return number_of(run, "data.folds"); }

bool has_folds(const std::vector<RunRecord>& runs) {
  return std::ranges::any_of(runs, [](const RunRecord& run) { return fold_of(run).has_value(); });
}

std::vector<FoldValue> values_of_folds(const std::vector<RunValue>& values) {
  std::map<int64_t, std::vector<double>> found;
  std::map<int64_t, std::set<int64_t>> seeds;
  for (const auto& [run, value] : values) {
    const auto fold = fold_of(*run);
    if (!fold) continue;
    found[*fold].push_back(value);
    seeds[*fold].insert(run->summary.seed);
  }
  std::vector<FoldValue> folds;
  for (const auto& [fold, of_fold] : found)
    folds.push_back({fold, {seeds[fold].begin(), seeds[fold].end()}, arithmetic_mean(of_fold)});
  return folds;
}

std::vector<double> means_of_seeds(const std::vector<RunValue>& values, const std::vector<FoldValue>& folds) {
  std::map<int64_t, std::vector<RunValue>> by_seed;
  for (const RunValue& one : values) by_seed[one.run->summary.seed].push_back(one);
  std::vector<double> means;
  for (const auto& [seed, of_seed] : by_seed) {
    std::vector<double> of_folds;
    for (const FoldValue& fold : values_of_folds(of_seed)) of_folds.push_back(fold.mean);
    if (of_folds.size() == folds.size()) means.push_back(arithmetic_mean(of_folds));
  }
  return means;
}

std::vector<Baseline> baselines_over_folds(const std::vector<RunValue>& values) {
  const auto folds = baselines_of_folds(values);
  std::vector<Baseline> means;
  if (folds.empty()) return means;
  for (const Baseline& first : *folds.begin()->second) {
    Baseline mean{.name = first.name, .metrics = {}};
    for (const auto& [metric, value] : first.metrics)
      if (const auto all = values_of_baseline(folds, first.name, metric); all.size() == folds.size())
        mean.metrics[metric] = arithmetic_mean(all);
    if (!mean.metrics.empty()) means.push_back(std::move(mean));
  }
  return means;
}

}  // namespace rnnlab
