// SPDX-License-Identifier: Apache-2.0
// rnnlab report: writes finished runs and benchmarks as one HTML page, or as Markdown.
#include "runs/report/make_report.h"

#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>

#include "arguments.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "output.h"
#include "results/own_cells.h"
#include "results/run_folder.h"
#include "run_names.h"
#include "runs/failure.h"
#include "runs/report/writers.h"
#include "runs/resume.h"
#include "runs/use/evaluate_model.h"
#include "runs/use/part_quality.h"
#include "runs/use/predict.h"
#include "runs/use/prediction_overview.h"
#include "runs/use/trained_model.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kReportFooter = R"(
RUN is a run folder, a folder full of them, the name of an experiment (runs/NAME), or a file of `rnnlab bench --json`.
The page opens without a network. Runs that `rnnlab compare` refuses are shown anyway, and the page begins with the
reasons against a comparison. Damaged ones are skipped, with a note at the top of the page and exit code 3.
It contains no host name, kernel, command line or absolute path, because it is made to be shared. --with-machine adds
them. docs/report.md says what is in it.

Examples:
  rnnlab report runs/mnist_rows -o mnist_rows.html
  rnnlab report runs/flowers --predictions --price-per-hour 2.49
  rnnlab report runs/weather --part test
  rnnlab report runs/gru_speed ladder.json --markdown > summary.md)";

constexpr const char* kDefaultPage = "report.html";

struct ReportOptions {
  std::vector<std::string> sources;
  std::string page;
  std::optional<std::string> figures;  // an option of earlier versions
  bool markdown = false;
  bool json = false;
  bool with_machine = false;
  bool predictions = false;
  bool no_predictions = false;
  std::string part;  // of the predictions
  std::optional<double> price_per_hour;

  // The page is written unless only Markdown was requested.
  std::string page_to_write() const { return page.empty() && !markdown ? kDefaultPage : page; }
};

// A damaged run is left out, so that the report still has the others.
void add_or_skip(report::Sources& sources, const std::string& source, const std::function<void()>& add) {
  try {
    add();
  } catch (const UserError& error) {
    if (error.exit_code() != ExitCode::kData) throw;
    sources.left_out.push_back({source, error.what()});
  }
}

std::string reasons(const std::vector<report::UnreadableSource>& left_out) {
  std::vector<std::string> all;
  for (const report::UnreadableSource& one : left_out) all.push_back(one.reason);
  return join(all, "\n");
}

report::Sources read_sources(const std::vector<std::string>& names) {
  report::Sources sources;
  std::vector<std::string> folders, files;
  for (const std::string& name : names) {
    const bool is_named_file = is_file(name) && named_path(name, kRunsFolder) == name;
    if (is_named_file || (!path_exists(name) && name.ends_with(".json")))
      add_once(files, name);  // read_report reports a missing file
    else
      folders.push_back(name);
  }
  for (const std::string& folder : named_runs(folders))
    add_or_skip(sources, folder, [&] { sources.runs.push_back(load_run(folder)); });
  name_own_cells(sources.runs);
  for (const std::string& file : files)
    add_or_skip(sources, file, [&] { sources.benchmarks.push_back({file, read_report(file)}); });
  const bool is_nothing_left = sources.runs.empty() && sources.benchmarks.empty();
  if (is_nothing_left && !sources.left_out.empty()) throw UserError(ExitCode::kData, reasons(sources.left_out));
  return sources;
}

// Without --part, the test part says how good a model is, if the data have one.
DataPart part_for(const TrainedModel& trained, const ReportOptions& options) {
  if (const auto part = config::from_name<DataPart>(options.part)) return *part;
  return has_test_part(trained.data_settings) ? DataPart::kTest : DataPart::kValid;
}

void add_overview(report::RunPredictions& predictions, const ReportOptions& options) {
  TrainedModel trained = load_trained_model({.run = predictions.folder, .checkpoint = ""});
  if (trained.data.shape.task == Task::kLanguageModel)
    throw_error(ExitCode::kUsage, "a language model predicts tokens, which are too many for a report");
  trained.part = part_for(trained, options);
  const InferenceData data = load_data(trained, Targets::kIfPresent);
  predictions.overview = prediction_overview(trained, data, predict(trained, data.samples));
  const InferenceData with_targets = load_data(trained, Targets::kRequired);
  const ModelEvaluation evaluation = evaluate_model(trained, with_targets.samples);
  predictions.quality = quality_on_part(trained, with_targets, evaluation.metrics);
}

void add_predictions_of(const RunRecord& run, const std::string& label, const ReportOptions& options,
                        report::Sources& sources) {
  report::RunPredictions& predictions = sources.predictions.emplace_back(report::RunPredictions{.folder = run.folder});
  try {
    add_overview(predictions, options);
  } catch (...) {  // also if the memory is too small
    predictions.overview.reset();
    predictions.reason = describe_failure(std::current_exception()).message;
    print_notice(fmt::format("rnnlab: no predictions of {}, {}: {}\n", run.summary.name, label, predictions.reason));
  }
}

// Forecasts are what a reader of a forecast comes for, so that of the best run is shown unasked.
void add_best_forecast(const ReportOptions& options, report::Sources& sources) {
  std::vector<const RunRecord*> forecasts;
  for (const RunRecord& run : sources.runs)
    if (report::is_forecast(run) && has_checkpoint(run.folder)) forecasts.push_back(&run);
  if (forecasts.empty()) return;
  const RunRecord& best = report::best_run(forecasts);
  for (const RunGroup& group : group_runs(sources.runs))
    if (std::ranges::find(group.runs, &best) != group.runs.end())
      add_predictions_of(best, group.label, options, sources);
}

void add_predictions(const ReportOptions& options, report::Sources& sources) {
  if (options.no_predictions) return;
  if (!options.predictions && options.part.empty()) return add_best_forecast(options, sources);
  for (const RunGroup& group : group_runs(sources.runs))
    add_predictions_of(report::best_run(group.runs), group.label, options, sources);
}

// The user of `--markdown -o summary.md` expects the Markdown in that file, so the name is rejected.
void require_page_name(const std::string& page) {
  const auto extension = std::filesystem::path(page).extension();
  if (page.empty() || extension == ".html" || extension == ".htm") return;
  throw_error(ExitCode::kUsage,
              "--out {}: the report is an HTML page; use a .html file (--markdown prints to standard output)", page);
}

// `page` is "" without one.
std::string written_json(const std::string& page, const std::vector<report::UnreadableSource>& left_out) {
  Json json = {{"page", page.empty() ? Json(nullptr) : Json(page)}, {"left_out", Json::array()}};
  for (const report::UnreadableSource& one : left_out)
    json["left_out"].push_back({{"source", one.source}, {"reason", one.reason}});
  return json_text(json);
}

ExitCode write_forms(const ReportOptions& options) {
  if (options.figures)
    throw_error(ExitCode::kUsage,
                "--figures: gnuplot's figures were removed; write the page (-o FILE), open it in a browser, and save a "
                "chart with its button 'Save SVG' or 'Save PNG', or its numbers with the link 'CSV'");
  const std::string page = options.page_to_write();
  require_page_name(page);
  require_harmless_output(page, "name an ordinary file; --markdown prints to standard output",
                          {options.sources.begin(), options.sources.end()});
  report::Sources sources = read_sources(options.sources);
  sources.price_per_hour = options.price_per_hour;
  add_predictions(options, sources);
  for (const report::UnreadableSource& one : sources.left_out) print_notice("rnnlab: left out: " + one.reason + "\n");
  const report::Report report = report::make_report(options.with_machine ? sources : report::without_machine(sources));
  if (!page.empty()) {
    const std::string html = report::html_of(report);
    const char* const replaced = path_exists(page) ? " in place of the file that was there" : "";
    write_output_file(page, html);
    print_notice(fmt::format("rnnlab: {} written{}, {}\n", page, replaced, format_bytes(std::ssize(html))));
  }
  // Markdown is printed last, because the reader of a pipe may end early.
  if (options.markdown) print_data(report::markdown_of(report));
  if (options.json) print_data(written_json(page, sources.left_out));
  return sources.left_out.empty() ? ExitCode::kDone : ExitCode::kData;
}

}  // namespace

void add_report(CLI::App& program, Action& chosen) {
  const auto [command, options] =
      add_verb<ReportOptions>(program, chosen, "report", "Write a page with charts of finished runs and benchmarks",
                              kReportFooter, write_forms);
  command
      ->add_option("sources", options->sources,
                   "run folders, folders full of them, names of experiments, benchmarks as JSON")
      ->required()
      ->type_name("RUN");
  command->add_option("-o,--out", options->page, "the page to write; report.html if no other form is requested")
      ->type_name("FILE");
  auto* markdown = command->add_flag("--markdown", options->markdown, "print the summary and the tables as Markdown");
  command->add_flag("--json", options->json, "print what was written and left out as JSON")->excludes(markdown);
  command->add_option("--figures", options->figures)->group("");
  auto* predictions = command->add_flag(
      "--predictions", options->predictions,
      "also show what the best run of each group predicts: confusion matrix or forecasts, largest errors; by default "
      "only that of the best forecast");
  auto* no_predictions =
      command->add_flag("--no-predictions", options->no_predictions, "show no predictions, so that no data are read")
          ->excludes(predictions);
  add_part_option(*command, options->part,
                  "the part that is predicted: train, valid, test or all; by default test if the data have it, else "
                  "valid")
      ->excludes(no_predictions);
  add_price_option(*command, options->price_per_hour);
  add_machine_option(*command, options->with_machine);
}

}  // namespace rnnlab::app
