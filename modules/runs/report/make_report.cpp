// SPDX-License-Identifier: Apache-2.0
#include "runs/report/make_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "results/comparison.h"
#include "results/run_folder.h"
#include "runs/report/text.h"

namespace rnnlab::report {
namespace {

// Writes the sections on runs (one, or one for each experiment) and on benchmarks, and the opening of the report.
class ReportBuilder {
 public:
  explicit ReportBuilder(const Sources& sources)
      : price_per_hour_(sources.price_per_hour), predictions_(sources.predictions) {}

  void add_left_out(const std::vector<UnreadableSource>& all) {
    std::vector<std::string> reasons;
    for (const UnreadableSource& one : all) reasons.push_back(one.reason);
    if (!reasons.empty())
      report_.opening.emplace_back(Notice{Severity::kWarning, "left out because they cannot be read", reasons});
  }

  void add_runs(const std::vector<RunRecord>& runs) {
    if (runs.empty()) return;
    const Comparison together = compared(runs);
    const std::vector<std::string> reasons = reasons_against(together);
    const std::vector<std::string> names = experiments(runs);
    if (reasons.empty() || names.size() == 1) {
      add_section(runs, together, join(names, " and "));
      return;
    }
    report_.opening.emplace_back(
        Notice{Severity::kWarning, "runs of different experiments are not compared with each other", reasons});
    for (const std::string& name : names) {
      const std::vector<RunRecord> of_name = runs_of(runs, name);
      add_section(of_name, compared(of_name), name);
    }
  }

  void add_benchmark(const Benchmark& benchmark) {
    add_answer(answer_of(benchmark), "Benchmark " + benchmark.file);
    for (Block& block : opening_notices(benchmark)) report_.opening.push_back(std::move(block));
    report_.sections.push_back(bench_section(benchmark, unique_id(benchmark.file)));
    add_once(subjects_, benchmark.file);
  }

  void add_predictions(const Sources& sources) {
    const std::vector<RunGroup> groups = group_runs(sources.runs);
    std::vector<std::string> reasons;
    std::vector<Section> sections;
    for (const RunPredictions& one : sources.predictions) {
      const std::string name = name_of(one, groups);
      if (one.overview)
        sections.push_back(prediction_section(name, one, unique_id("predictions of " + name)));
      else
        reasons.push_back(fmt::format("{}: {}", name, one.reason));
    }
    report_.sections.insert(is_about_quality_ ? report_.sections.begin() : report_.sections.end(), sections.begin(),
                            sections.end());
    if (!reasons.empty()) report_.opening.emplace_back(Notice{Severity::kNote, "runs without predictions", reasons});
  }

  Report finish() {
    const bool are_many = subjects_.size() > 3;
    report_.title = "Report on " + (are_many ? fmt::format("{} and {} more", subjects_[0], subjects_.size() - 1)
                                             : join_with_and(subjects_));
    order_opening();
    return std::move(report_);
  }

 private:
  // Runs with other work have no ratio, and all other differences count as forced.
  Comparison compared(const std::vector<RunRecord>& runs) const {
    Comparison comparison = compare(runs, {.on_difference = OnDifference::kReport, .price_per_hour = price_per_hour_});
    comparison.forced = std::exchange(comparison.differences, {});
    return comparison;
  }

  static std::vector<std::string> reasons_against(const Comparison& comparison) {
    std::vector<std::string> reasons = comparison.forced;
    reasons.insert(reasons.end(), comparison.other_work.begin(), comparison.other_work.end());
    return reasons;
  }

  // A refusal is read before the answers, and the remaining notices after the answers.
  void order_opening() {
    const auto num_answers = std::ranges::count_if(
        report_.opening, [](const Block& block) { return std::holds_alternative<Answer>(block); });
    if (num_answers > 1) name_answers();
    const auto is_refusal = [](const Block& block) {
      const auto* notice = std::get_if<Notice>(&block);
      return notice != nullptr && notice->severity == Severity::kRefusal;
    };
    const auto is_answer = [](const Block& block) { return std::holds_alternative<Answer>(block); };
    const auto rest = std::ranges::stable_partition(report_.opening, is_refusal);
    std::ranges::stable_partition(rest, is_answer);
  }

  void add_answer(Answer answer, const std::string& heading) {
    report_.opening.emplace_back(std::move(answer));
    answer_headings_.push_back(heading);
  }

  void name_answers() {
    auto heading = answer_headings_.begin();
    for (Block& block : report_.opening)
      if (auto* answer = std::get_if<Answer>(&block); answer != nullptr)
        answer->sentence = *heading++ + ": " + answer->sentence;
  }

  // A single run that still improves is worth a longer training.
  void add_advice(const std::vector<RunRecord>& runs) {
    if (runs.size() != 1) return;
    if (const auto advice = train_longer_advice(runs.front()))
      report_.opening.emplace_back(Notice{Severity::kNote, "the training was short", {*advice}});
  }

  // Returns "flowers, cpu fused", with the label that the run has in the section on runs.
  static std::string name_of(const RunPredictions& predictions, const std::vector<RunGroup>& groups) {
    for (const RunGroup& group : groups)
      for (const RunRecord* run : group.runs)
        if (run->folder == predictions.folder) return run->summary.name + ", " + group.label;
    return predictions.folder.string();
  }

  static std::vector<std::string> experiments(const std::vector<RunRecord>& runs) {
    std::vector<std::string> names;
    for (const RunRecord& run : runs)
      if (std::ranges::find(names, run.summary.name) == names.end()) names.push_back(run.summary.name);
    return names;
  }

  static std::vector<RunRecord> runs_of(const std::vector<RunRecord>& runs, const std::string& name) {
    std::vector<RunRecord> found;
    std::ranges::copy_if(runs, std::back_inserter(found), [&](const auto& run) { return run.summary.name == name; });
    return found;
  }

  void add_section(const std::vector<RunRecord>& runs, const Comparison& comparison, const std::string& name) {
    const Question question = question_of(runs, comparison);
    if (question == Question::kQuality) is_about_quality_ = true;
    const std::string heading = "Runs of " + name;
    add_answer(answer_of(runs, comparison, question, predictions_), heading);
    for (Block& block : opening_notices(comparison, name, question)) report_.opening.push_back(std::move(block));
    add_advice(runs);
    report_.sections.push_back(run_section(runs, comparison, heading, unique_id(name), question));
    add_once(subjects_, name);
  }

  // A slug has no dash. The ids within a section are its id, a dash and more characters, so all ids differ.
  std::string unique_id(const std::string& name) {
    const std::string wanted = slug(name);
    std::string id = wanted;
    for (int number = 2; std::ranges::find(ids_, id) != ids_.end(); ++number) id = fmt::format("{}_{}", wanted, number);
    ids_.push_back(id);
    return id;
  }

  std::optional<double> price_per_hour_;
  const std::vector<RunPredictions>& predictions_;
  Report report_;
  std::vector<std::string> answer_headings_;    // of the answers in the opening, in their order
  bool is_about_quality_ = false;               // then predictions come before times
  std::vector<std::string> ids_ = {"content"};  // ids that the page itself uses
  std::vector<std::string> subjects_;
};

}  // namespace

Report make_report(const Sources& sources) {
  if (sources.runs.empty() && sources.benchmarks.empty())
    throw_error(ExitCode::kUsage,
                "nothing to report: name at least one run folder, or a file of `rnnlab bench --json`");
  ReportBuilder writer(sources);
  writer.add_left_out(sources.left_out);
  writer.add_runs(sources.runs);
  for (const Benchmark& benchmark : sources.benchmarks) writer.add_benchmark(benchmark);
  writer.add_predictions(sources);
  return writer.finish();
}

namespace {

// Maps paths to names: equal paths have equal names, and different paths have different names.
class Names {
 public:
  std::string name(const std::string& original, const std::string& wanted) {
    const auto known = given_.find(original);
    if (known != given_.end()) return known->second;
    std::string free = wanted;
    for (int number = 2; !taken_.insert(free).second; ++number) free = fmt::format("{} ({})", wanted, number);
    return given_.emplace(original, free).first->second;
  }

 private:
  std::map<std::string, std::string> given_;
  std::set<std::string> taken_;
};

// ---- every text in a record ----

template <class T>
requires std::is_arithmetic_v<T> || std::is_enum_v<T>
void clean(T&) {}
void clean(std::string& text) { text = without_folders(text); }
template <class T>
void clean(std::vector<T>& values);
template <class T>
void clean(std::optional<T>& value);
template <class T>
void clean(std::map<std::string, T>& values);
template <HasFields T>
void clean(T& record);

template <class T>
void clean(std::vector<T>& values) {
  for (T& value : values) clean(value);
}

template <class T>
void clean(std::optional<T>& value) {
  if (value) clean(*value);
}

// The keys are names of settings and columns, so only the values are cleaned.
template <class T>
void clean(std::map<std::string, T>& values) {
  for (auto& [key, value] : values) clean(value);
}

template <HasFields T>
void clean(T& record) {
  record.visit_fields([](const std::string&, auto& member, int64_t) { clean(member); });
}

// Whether two runs shared a machine is decided by its name if it has no id (results/measuring_order.cpp), so an
// invented id takes the place of that name.
void forget_machine(Environment& environment, Names& machines) {
  environment.command_line.clear();
  HostInfo& host = environment.host;
  if (host.machine_id.empty() && !host.hostname.empty()) host.machine_id = machines.name(host.hostname, "machine");
  host.hostname.clear();
  environment.host.kernel.clear();
  if (environment.ranks)
    for (RankInfo& rank : environment.ranks->each) rank.host.clear();
  clean(environment);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

Sources without_machine(Sources sources) {
  Names folders, files, machines;
  std::map<std::string, Names> settings;  // by key
  for (RunRecord& run : sources.runs) {
    forget_machine(run.environment, machines);
    clean(run.summary);
    run.summary.identity.conditions.kernel.clear();
    run.summary.identity.conditions.machine_id = run.environment.host.machine_id;
    run.folder = folders.name(run.folder.string(), shared_run_name(run.folder, run.summary.name));
    for (auto& [key, value] : run.config) value = settings[key].name(value, setting_without_folders(value));
  }
  for (Benchmark& benchmark : sources.benchmarks) {
    benchmark.file = files.name(benchmark.file, last_name(benchmark.file));
    forget_machine(benchmark.report.environment, machines);
    clean(benchmark.report);
  }
  for (RunPredictions& one : sources.predictions) {
    one.folder = folders.name(one.folder.string(), last_name(one.folder.string()));
    one.reason = without_folders(one.reason);
  }
  for (UnreadableSource& one : sources.left_out)
    one.reason = without_folders(replaced(one.reason, one.source, last_name(one.source)));
  return sources;
}

}  // namespace rnnlab::report
