// SPDX-License-Identifier: Apache-2.0
// The answer of a report in sentences: how fast each group of runs is, and on what machine and data.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "base/numbers.h"
#include "base/text.h"
#include "results/comparison_output.h"
#include "results/ranking.h"
#include "results/run_folder.h"
#include "runs/report/sections.h"

namespace rnnlab::report {
namespace {

constexpr size_t kMostSentences = 8;

}  // namespace

std::string not_comparable(const Comparison& comparison) { return comparison.forced.empty() ? "" : "NOT COMPARABLE: "; }

std::vector<std::string> headlines(const Comparison& comparison) {
  const auto sentence = [&](const GroupResult& group) {
    return not_comparable(comparison) + group_sentence(group, comparison);
  };
  std::vector<const GroupResult*> compared;
  for (const GroupResult& group : comparison.groups)
    if (group.ratio) compared.push_back(&group);
  std::vector<std::string> sentences = {group_sentence(baseline_of(comparison), comparison)};
  if (compared.size() > kMostSentences) {
    const auto [fastest, slowest] = std::ranges::minmax(compared, {}, [](const auto* group) { return *group->ratio; });
    sentences.push_back(fmt::format("The fastest of {}: {}", comparison.groups.size(), sentence(*fastest)));
    sentences.push_back("The slowest: " + sentence(*slowest));
    return sentences;
  }
  for (const GroupResult* group : compared) sentences.push_back(sentence(*group));
  return sentences;
}

// ---- the answer ----

namespace {

// Returns "a", "a and b", or "3 machines".
std::string few_or_count(const std::vector<std::string>& values, const char* what) {
  constexpr size_t kMostNamed = 2;
  return values.size() <= kMostNamed ? join_with_and(values) : fmt::format("{} {}", values.size(), what);
}

std::string machine_of(const RunRecord& run) {
  const std::vector<GpuInfo>& gpus = run.environment.nvidia.gpus;
  return machine_text(run.environment, is_on_gpu(run) ? gpus : std::vector<GpuInfo>());
}

// Returns "pets.csv" for "\"data/pets.csv\""; "" for a list of files.
std::string file_name_of(const std::string& setting) {
  if (setting.starts_with('[')) return "";
  const bool is_quoted = setting.size() > 1 && setting.front() == '"' && setting.back() == '"';
  return last_name(is_quoted ? setting.substr(1, setting.size() - 2) : setting);
}

// Returns "pets.csv, 4000 training samples"; "" if the run records neither.
std::string data_of(const RunRecord& run) {
  std::vector<std::string> parts;
  const auto source = run.config.find("data.source");
  const auto path = run.config.find("data.path");
  const std::string file = path == run.config.end() ? "" : file_name_of(path->second);
  if (!file.empty())
    parts.push_back(file);
  else if (source != run.config.end())
    parts.push_back(source->second);
  const auto counts = [](const EpochRow& row) { return !row.warmup && std::isfinite(num_samples(row)); };
  const auto row = std::ranges::find_if(run.rows, counts);
  if (row != run.rows.end()) parts.push_back(fmt::format("{:.0f} training samples", num_samples(*row)));
  return join(parts, ", ");
}

}  // namespace

std::string machine_text(const Environment& environment, const std::vector<GpuInfo>& gpus) {
  std::vector<std::string> parts;
  for (const GpuInfo& gpu : gpus) add_once(parts, gpu.name);
  add_once(parts, environment.cpu.model);
  parts.push_back(counted(environment.num_threads, "thread"));
  return join(parts, ", ");
}

std::string conditions_of(const std::vector<RunRecord>& runs) {
  std::vector<std::string> machines, data;
  std::set<std::string> days;
  constexpr size_t kDay = 10;  // characters of "2026-11-21"
  for (const RunRecord& run : runs) {
    add_once(machines, machine_of(run));
    if (const std::string known = data_of(run); !known.empty()) add_once(data, known);
    days.insert(run.environment.start_time.substr(0, kDay));
  }
  const std::string last_day = days.size() > 1 ? " to " + *days.rbegin() : "";
  const std::string of_data = data.empty() ? "" : "; data: " + few_or_count(data, "kinds of data");
  return fmt::format("{}; {}{}{}", few_or_count(machines, "machines"), *days.begin(), last_day, of_data);
}

const RunRecord& best_run(const std::vector<const RunRecord*>& runs) {
  const std::string metric = own_metric(runs[0]->summary.final_metrics);
  const RunRecord* best = runs[0];
  for (const RunRecord* run : runs) {
    const auto value = value_at_best(*run, metric), least = value_at_best(*best, metric);
    if (value && (!least || is_better(metric, *value, *least))) best = run;
  }
  return *best;
}

bool is_forecast(const RunRecord& run) {
  return parse_int64(value_or_absent(run.config, "data.window")).value_or(0) > 0 &&
         run.summary.final_metrics.contains("valid_rmse");
}

namespace {

// Returns the quality of the run on the part of its predictions, or else on the validation part in its best epoch.
PartQuality quality_of(const RunRecord& run, const std::vector<RunPredictions>& predictions) {
  for (const RunPredictions& one : predictions)
    if (one.folder == run.folder && one.quality) return *one.quality;
  const auto best = best_row(run);
  return {.part = DataPart::kValid,
          .model = best ? metrics_in_row(*best) : run.summary.final_metrics,
          .baselines = run.summary.baselines,
          .notes = {}};
}

std::string label_of_run(const RunRecord& run, const Comparison& comparison) {
  for (const GroupResult& group : comparison.groups)
    if (std::ranges::find(group.folders, run.folder.string()) != group.folders.end()) return group.label;
  return run.summary.name;
}

// Returns "The model wins: test RMSE 0.3993, against 1.164 for ....", or "" without metrics. Of several groups the best
// run is named; without baselines the answer of the comparison says which is the best.
std::string quality_sentence(const std::vector<RunRecord>& runs, const Comparison& comparison,
                             const std::vector<RunPredictions>& predictions) {
  std::vector<const RunRecord*> all;
  for (const RunRecord& run : runs) all.push_back(&run);
  const RunRecord& best = best_run(all);
  const PartQuality quality = quality_of(best, predictions);
  std::string text = winner_text(quality.model, quality.baselines, name_of_part(quality.part));
  if (text.empty()) return "";
  if (comparison.groups.size() > 1)
    return quality.baselines.empty() ? "" : fmt::format("{}: {}.", label_of_run(best, comparison), text);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

}  // namespace

Question question_of(const std::vector<RunRecord>& runs, const Comparison& comparison) {
  return !compares_times(comparison) || std::ranges::all_of(runs, is_forecast) ? Question::kQuality : Question::kTimes;
}

Answer answer_of(const std::vector<RunRecord>& runs, const Comparison& comparison, Question question,
                 const std::vector<RunPredictions>& predictions) {
  std::string sentence = not_comparable(comparison) + answer_sentence(comparison);
  if (question == Question::kTimes) return {sentence, conditions_of(runs)};
  const std::string quality = quality_sentence(runs, comparison, predictions);
  if (quality.empty()) return {sentence, conditions_of(runs)};
  const bool is_one = comparison.groups.size() == 1;  // its time is in its section
  return {is_one ? quality : quality + " " + sentence, conditions_of(runs)};
}

}  // namespace rnnlab::report
