// SPDX-License-Identifier: Apache-2.0
// Makes the report's sections on compared runs and on benchmarks, with their sentences, charts and tables.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/system/terminal.h"
#include "results/comparison.h"
#include "results/run_record.h"
#include "runs/bench/bench_report.h"
#include "runs/report/report.h"
#include "runs/use/part_quality.h"
#include "runs/use/prediction_overview.h"

namespace rnnlab::report {

// ---- the section on compared runs (run_section.cpp) ----

// The facts of one run except its epochs: names in the order of presentation, each once, with values. The tables below
// show shared facts once and differing facts in one row a run, so that many runs stay readable.
struct RunFacts {
  std::string run;
  std::vector<std::pair<std::string, std::string>> values;
};

// Returns machine, build, libraries, load, the executed path, and the values that must be equal for a comparison.
RunFacts environment_of(const RunRecord& run, const std::string& name);

// Returns what environment_of() says of the machine and the build.
TextTable machine_table(const Environment& environment);

// Returns the settings of config.yaml.
RunFacts settings_of(const RunRecord& run, const std::string& name);

// Returns a row for each fact that is equal in all of `runs`, which must not be empty.
TextTable shared_facts(const std::vector<RunFacts>& runs, const std::string& what);

// Returns a row for each run and a column for each fact that is not shared; "absent" if a run does not have the fact.
TextTable differing_facts(const std::vector<RunFacts>& runs);

// Append what has a content: charts with a number, below a heading; a table with rows and a second column; a notice
// with the texts of warnings.
void append_charts(std::vector<Block>& blocks, const std::string& heading, std::vector<Chart> charts);
void append_table(std::vector<Block>& blocks, NamedTable table);
void append_warnings(std::vector<Block>& blocks, const std::string& title, const std::vector<Warning>& warnings);

// What a reader of these runs wants to know first.
enum class Question { kTimes, kQuality };

// Returns kQuality for a forecast, and for runs whose times are not compared: a single run, or models that differ.
Question question_of(const std::vector<RunRecord>& runs, const Comparison& comparison);

// Returns refusals and warnings of the comparison, for the opening of the report. `name` names the compared runs. For
// kQuality, doubts about times are not among them.
std::vector<Block> opening_notices(const Comparison& comparison, const std::string& name, Question question);

// `comparison` must be the comparison of `runs`. `prefix` begins the ids of the section. For kQuality it has the doubts
// about times.
Section run_section(const std::vector<RunRecord>& runs, const Comparison& comparison, const std::string& heading,
                    const std::string& prefix, Question question);

// ---- the section on predictions of one run (prediction_section.cpp) ----

// What one of the runs predicts, or why there are no predictions of it.
struct RunPredictions {
  std::filesystem::path folder;  // of the run
  std::optional<PredictionOverview> overview = std::nullopt;
  std::string reason = {};                            // if there is no overview
  std::optional<PartQuality> quality = std::nullopt;  // on the part of the overview
};

// Returns the metrics beside those of the baselines, forecasts beside their targets or the confusion matrix, and the
// samples with the largest errors. The predictions have an overview. `run` is a name such as "flowers, cpu fused".
Section prediction_section(const std::string& run, const RunPredictions& predictions, const std::string& prefix);

// ---- the sentences of a comparison (answer.cpp) ----

// Returns the answer of a comparison on times (results/comparison_output.h), or for kQuality first whether the best run
// is better than a prediction without a model: on the part of `predictions` if that run is there, else in validation.
// `comparison` must be the comparison of `runs`, of which there is at least one.
Answer answer_of(const std::vector<RunRecord>& runs, const Comparison& comparison, Question question = Question::kTimes,
                 const std::vector<RunPredictions>& predictions = {});

// Returns whether the run forecasts numbers of a series.
bool is_forecast(const RunRecord& run);

// Returns the run with the best value of its task's metric in its best epoch; the first run without a metric. There is
// at least one run.
const RunRecord& best_run(const std::vector<const RunRecord*>& runs);

// Returns machine, date and data of the runs in one line: "AMD EPYC, 2 threads; 2026-11-21; data: digits, 4000 training
// samples".
std::string conditions_of(const std::vector<RunRecord>& runs);

// Returns "NVIDIA H200, AMD EPYC, 2 threads".
std::string machine_text(const Environment& environment, const std::vector<GpuInfo>& gpus);

// The following functions summarise a comparison in sentences.

// Returns "NOT COMPARABLE: " if the comparison was forced, for titles that may be quoted alone; else "".
std::string not_comparable(const Comparison& comparison);

// Returns a sentence on the time of the baseline, and one for each group that was compared with it; for more than eight
// groups, only for the fastest and the slowest. Sentences on ratios begin with not_comparable.
std::vector<std::string> headlines(const Comparison& comparison);

// ---- charts of compared runs (run_charts.cpp) ----

// The charts show epoch times and losses as curves, medians and ratios as bars, and a sweep as a heat map. The
// numbers of the epoch rows and of the comparison are not changed.

// Returns a name for each run of the group: the group's label, with the seed if the group has several runs.
std::vector<std::string> run_names(const RunGroup& group);

// The ids of the charts are "<prefix>-epoch-time" and so on.
std::vector<Chart> time_curves(const std::vector<RunGroup>& groups, const std::string& prefix);
std::vector<Chart> metric_curves(const std::vector<RunGroup>& groups, const std::string& prefix);

// Returns bars of times and ratios. Groups without a time are left out. With only one group there are no ratios.
std::vector<Chart> time_bars(const Comparison& comparison, const std::string& prefix);

// Returns the speed-up against the number of devices, with the ideal line, for the groups that have a speed-up.
std::vector<Chart> speed_up_curves(const Comparison& comparison, const std::string& prefix);

// Returns a heat map of the median epoch times if one to three settings vary and both axes have at least two values.
std::vector<Chart> sweep_maps(const std::vector<RunGroup>& groups, const Comparison& comparison,
                              const std::string& prefix);

// ---- the section on one benchmark of layers (bench_section.cpp) ----

struct Benchmark {
  std::string file;
  BenchReport report;
};

// Returns the charts of one benchmark: the ladder of layers as waterfalls, a sweep of sizes as heat maps of the gains,
// and the times as bars. The ids are "<prefix>-...". There is a waterfall for each size at which at least two steps of
// the ladder were measured, if there are at most six sizes, and there are heat maps if at least two kinds of sizes
// vary.
std::vector<Chart> bench_charts(const BenchReport& report, const std::string& prefix);

// Returns how many times as fast as the first layer the fastest layer is, and where and when the benchmark ran.
Answer answer_of(const Benchmark& benchmark);

// Returns the warnings of the benchmark and the quality warnings of its rows, for the opening of the report.
std::vector<Block> opening_notices(const Benchmark& benchmark);

// `prefix` begins the ids of the section.
Section bench_section(const Benchmark& benchmark, const std::string& prefix);

}  // namespace rnnlab::report
