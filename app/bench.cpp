// SPDX-License-Identifier: Apache-2.0
// rnnlab bench: times single recurrent layers over a grid of sizes, and compares them with an earlier benchmark.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/Option.hpp>
#include <memory>
#include <mutex>
#include <optional>

#include "arguments.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "output.h"
#include "runs/bench/baseline.h"
#include "runs/bench/bench_report.h"
#include "runs/bench/run_bench.h"
#include "runs/child_process.h"
#include "runs/failure.h"
#include "train/loop/stop_signal.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kBenchFooter = R"(
Every key takes one value or several: a list in the file, values with commas on the command line. The first layer is
the reference for the others. docs/bench.md says what the numbers mean.

Examples:
  rnnlab bench experiments/bench_ladder.yaml processes=5 --json ladder.json
  rnnlab bench layer=naive,fused hidden_size=128,512 num_layers=1 device=cpu
  rnnlab bench experiments/bench_ladder.yaml processes=5 --against ladder.json

Exit codes: as `rnnlab --help` says, and 7 if --against found a row that is slower, or that is missing.)";

struct BenchOptions {
  std::vector<std::string> arguments;
  std::string csv, json, against;
  double tolerance_percent = 5;
  bool wide = false;
  bool force = false;
  bool quiet = false;
  bool schema = false;
  bool process = false;  // one of several processes of a benchmark; the process that started it reads its report
};

BenchSettings read_settings(const std::vector<std::string>& arguments) {
  const auto [files, overrides] = split_arguments(arguments, BenchSettings::schema().spec());
  if (files.size() > 1)
    throw_error(ExitCode::kUsage,
                "bench: got {} files, expected at most one\n  `rnnlab bench --help` shows how it is used",
                files.size());
  config::Findings findings;
  auto document = files.empty() ? config::Document::from_text("{}", "command line", findings)
                                : config::Document::from_file(files.front(), findings);
  for (const std::string& assignment : overrides) document.apply_override(assignment, findings);
  BenchSettings settings = read_bench_settings(document, findings);
  print_notes(findings.throw_if_any());
  return settings;
}

// Holds the rows measured so far, for a signal during a measurement that does not end.
class LatestReport {
 public:
  void keep(const BenchReport& report) {
    const std::lock_guard lock(mutex_);
    report_ = report;
  }
  std::optional<BenchReport> get() const {
    const std::lock_guard lock(mutex_);
    return report_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<BenchReport> report_;
};

// The file of --json is rewritten after each measurement, so a process that is killed, or that a library ends, loses at
// most one combination. If a write fails now, it is repeated, or the error is reported, at the end.
void keep(const BenchReport& report, const std::string& json) {
  if (json.empty()) return;
  try {
    write_report(json, report);
  } catch (const std::exception&) {
    // The error is ignored, because the last write reports it.
  }
}

// Shows lines and, on a terminal, a bar for the combination that is measured.
class BenchProgress {
 public:
  explicit BenchProgress(bool is_quiet) : is_quiet_(is_quiet), bar_(is_quiet ? Terminal{} : inspect_terminal(2)) {}

  void say(const std::string& line) {
    if (is_quiet_) return;
    bar_.clear();
    title_.clear();
    print_notice(line + "\n");
  }

  void show(const std::string& what, int64_t done, int64_t total) {
    if (title_ != what) bar_.start(what, total);
    title_ = what;
    bar_.update(done, [] { return std::string(); });
  }

 private:
  bool is_quiet_;
  std::string title_;
  ProgressBar bar_;
};

BenchHooks make_hooks(const BenchOptions& options) {
  const auto progress = std::make_shared<BenchProgress>(options.quiet);
  return {.should_stop = [] { return pending_stop().has_value(); },
          .on_progress = [progress](const std::string& line) { progress->say(line); },
          .on_report = [&options](const BenchReport& report) { keep(report, options.json); },
          .on_sample = [progress](const std::string& what, int64_t done,
                                  int64_t total) { progress->show(what, done, total); }};
}

// Prints the report for the process that started this one.
void print_report(const BenchReport& report) {
  print_data(fmt::format("{}{}\n", kReportMark, report_on_one_line(report)));
}

ExitCode bench_process(const BenchSettings& settings, const BenchOptions& options, const CommandLine& command_line) {
  end_with_parent(STDOUT_FILENO);
  const StopSignalGuard signals({}, SecondSignal::kIsIgnored);
  BenchHooks hooks = make_hooks(options);
  hooks.on_report = print_report;
  const StopDeadline deadline([](const StopRequest&) {});  // all rows so far have been printed
  const BenchOutcome outcome = run_bench_in_this_process(settings, command_line, hooks, [](const BenchReport&) {});
  print_report(outcome.report);
  if (const auto stop = pending_stop()) return stop->exit_code;
  return outcome.exit_code;
}

// Tries each file, first those with every sample, because minutes of measuring are in them. Throws all failures at the
// end.
void write_results(const BenchReport& report, const BenchOptions& options) {
  std::vector<Failure> failures;
  const auto attempt = [&](const auto& write) {
    try {
      write();
    } catch (...) {
      failures.push_back(describe_failure(std::current_exception()));
    }
  };
  if (!options.json.empty()) attempt([&] { write_report(options.json, report); });
  if (!options.csv.empty()) attempt([&] { write_output_file(options.csv, report_csv(report)); });
  attempt([&] { print_text(report_text(report, options.wide ? TableWidth::kWide : TableWidth::kNarrow)); });
  if (failures.empty()) return;
  std::vector<std::string> messages;
  for (const Failure& failure : failures) messages.push_back(failure.message);
  throw UserError(failures.front().exit_code, join(messages, "\n"));
}

// Calls write_results and prints its error instead of throwing, because the process exits with the signal's code.
void write_results_or_warn(const BenchReport& report, const BenchOptions& options) {
  try {
    write_results(report, options);
  } catch (const std::exception& error) {
    print_notice(fmt::format("rnnlab: error: {}\n", error.what()));
  }
}

void require_outputs(const BenchOptions& options) {
  std::vector<std::filesystem::path> inputs(options.arguments.begin(), options.arguments.end());
  inputs.emplace_back(options.against);
  for (const std::string& file : {options.csv, options.json})
    require_harmless_output(file, "without --csv and --json the table is printed to standard output", inputs);
  if (options.csv.empty() || options.json.empty()) return;
  std::error_code ignored;
  const auto place_of = [&](const std::string& file) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(file, ignored), ignored);
  };
  if (place_of(options.csv) == place_of(options.json))
    throw_error(ExitCode::kUsage, "--csv and --json: both name {}; name two files", options.json);
}

BaselineOptions against_options(const BenchOptions& options) {
  return {.on_difference = options.force ? OnDifference::kForce : OnDifference::kRefuse,
          .tolerance = options.tolerance_percent / 100};
}

ExitCode print_against(const BenchReport& now, const BenchReport& before, const BenchOptions& options) {
  const BaselineComparison against = compare_to_baseline(now, before, options.against, against_options(options));
  print_text("\n" + baseline_text(against));
  return against.has_regression() ? ExitCode::kRegression : ExitCode::kDone;
}

// If the current measurement has not ended a second after a signal, the rows measured before are written.
BenchOutcome measure_here(const BenchSettings& settings, const BenchOptions& options, const CommandLine& command_line,
                          const CheckPlan& check_plan) {
  LatestReport latest;
  const StandardOutput output;
  const StopDeadline deadline([&](const StopRequest&) {
    print_notice("rnnlab: the current measurement takes longer; the current combination is skipped\n");
    output.restore();
    if (const auto report = latest.get()) write_results_or_warn(*report, options);
  });
  BenchHooks hooks = make_hooks(options);
  hooks.on_report = [&](const BenchReport& report) {
    latest.keep(report);
    keep(report, options.json);
  };
  return run_bench_in_this_process(settings, command_line, hooks, check_plan);
}

BenchOutcome measure(const BenchSettings& settings, const BenchOptions& options, const CommandLine& command_line,
                     const CheckPlan& check_plan) {
  if (settings.processes == 1) return measure_here(settings, options, command_line, check_plan);
  const std::vector<std::string> quietly = options.quiet ? std::vector<std::string>{"-q"} : std::vector<std::string>{};
  return run_bench_in_processes(settings, command_line, make_hooks(options), check_plan, quietly);
}

ExitCode bench(const BenchOptions& options, const CommandLine& command_line) {
  const BenchSettings settings = read_settings(options.arguments);
  if (options.process) return bench_process(settings, options, command_line);
  require_outputs(options);
  std::optional<BenchReport> before;
  if (!options.against.empty()) before = read_report(options.against);
  const std::string lost =
      options.json.empty() ? "the rows so far are lost" : fmt::format("rows that are not in {} are lost", options.json);
  const StopSignalGuard signals({"the benchmark stops after the current measurement and prints the rows so far", lost});
  const auto check_plan = [&](const BenchReport& plan) {
    if (before) check_comparable(plan, *before, options.against, against_options(options));
    if (!options.quiet) print_notice(work_text(settings) + "\n");
  };
  const BenchOutcome outcome = measure(settings, options, command_line, check_plan);
  write_results(outcome.report, options);
  if (const auto stop = pending_stop()) return stop->exit_code;
  if (outcome.exit_code != ExitCode::kDone) throw UserError(outcome.exit_code, outcome.failure);
  if (!before) return ExitCode::kDone;
  return print_against(outcome.report, *before, options);
}

// Returns what is wrong with the text, or "", as CLI11 requires.
std::string check_tolerance(const std::string& text) {
  const auto percent = parse_double(text);
  if (percent && *percent >= 0) return "";
  return fmt::format("got {}, expected a number of percent, at least 0", in_quotes(text));
}

ExitCode print_schema(const std::vector<std::string>& arguments) {
  refuse_arguments_for_list("bench", arguments);
  print_data(config::describe(BenchSettings::schema()));
  return ExitCode::kDone;
}

}  // namespace

void add_bench(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("bench", "Time recurrent layers over a grid of sizes");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("arguments", options->arguments, "a file of keys, and keys such as hidden_size=256,512")
      ->type_name("[FILE] [key=value,value]");
  command->add_flag("--wide", options->wide, "a table with every column");
  command->add_option("--csv", options->csv, "write the rows as CSV")->type_name("FILE");
  command->add_option("--json", options->json, "write everything, every sample included")->type_name("FILE");
  auto* against = command->add_option("--against", options->against, "compare with what --json wrote earlier");
  against->type_name("FILE");
  command
      ->add_option("--tolerance", options->tolerance_percent, "by how many percent a row may be slower with --against")
      ->type_name("PERCENT")
      ->check(check_tolerance)
      ->capture_default_str()
      ->needs(against);
  command
      ->add_flag("--force", options->force,
                 "compare although the results are not comparable, with a note in the output")
      ->needs(against);
  command->add_flag("-q,--quiet", options->quiet, "no progress");
  command->add_flag("--schema", options->schema, "print every key with its type, default and meaning");
  command->add_flag("--process", options->process)->group("");
  command->footer(kBenchFooter);
  command->callback([&chosen, options] {
    chosen = [options](const CommandLine& command_line) {
      return options->schema ? print_schema(options->arguments) : bench(*options, command_line);
    };
  });
}

}  // namespace rnnlab::app
