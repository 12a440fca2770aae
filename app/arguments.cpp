// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <fmt/format.h>
#include <CLI/Option.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"
#include "output.h"
#include "results/run_folder.h"
#include "run_names.h"
#include "runs/experiment.h"

namespace rnnlab::app {
namespace {

bool is_key_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

// If the key is known, the argument is an override even if the current folder has a file of that name.
bool is_override(const std::string& argument, const config::StructSpec& keys) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos) return false;
  const std::string key = argument.substr(0, equals);
  if (!std::ranges::all_of(key, is_key_character)) return false;
  return keys.find_path(key) != nullptr || !path_exists(argument);
}

// Reports `training.epochs = 5` as one argument, with the spaces of a file.
void refuse_spaces_around_equals(const std::string& argument, const config::StructSpec& keys) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || path_exists(argument)) return;
  const std::string key(trim(std::string_view(argument).substr(0, equals)));
  const config::Entry* entry = keys.find_path(key);
  if (entry == nullptr) return;
  throw_error(ExitCode::kUsage, "argument {}: there are spaces before its '=': write {}={}", in_quotes(argument), key,
              trim(std::string_view(argument).substr(equals + 1)));
}

// Reports `training.epochs 5`, or `training.epochs: 5` as in a file, at arguments[at].
void refuse_key_without_value(const std::vector<std::string>& arguments, size_t at, const config::StructSpec& keys) {
  const std::string& argument = arguments[at];
  const std::string key = argument.substr(0, argument.find_last_not_of(':') + 1);
  const config::Entry* entry = keys.find_path(key);
  if (entry == nullptr || entry->field() == nullptr || path_exists(argument)) return;
  const std::string next = at + 1 < arguments.size() ? arguments[at + 1] : "";
  const std::string value = next.substr(std::min(next.find_first_not_of('='), next.size()));
  const bool is_value = !value.empty() && (next[0] == '=' || (!is_override(next, keys) && !path_exists(next)));
  throw_error(ExitCode::kUsage, "{} is a key and not a file, and its '=' is missing: write {}={}", in_quotes(argument),
              key, is_value ? in_quotes(value).substr(1, in_quotes(value).size() - 2) : "VALUE");
}

int depth_of(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(text, [](char c) { return c == '{' || c == '['; }) -
                          std::ranges::count_if(text, [](char c) { return c == '}' || c == ']'; }));
}

// Without quotes the shell splits `sweep={layer: [naive, fused]}` into several arguments; arguments[at] is the first.
void refuse_cut_value(const std::vector<std::string>& arguments, size_t at) {
  std::string whole = arguments[at];
  const char opening = whole[std::min(whole.find('=') + 1, whole.size() - 1)];
  if (opening != '{' && opening != '[') return;
  for (size_t next = at + 1; depth_of(whole) > 0 && next < arguments.size(); ++next) whole += " " + arguments[next];
  if (whole == arguments[at] || depth_of(whole) != 0) return;
  throw_error(ExitCode::kUsage, "argument {}: the shell split it at its spaces; put quotes around the whole: {}",
              in_quotes(arguments[at]), in_quotes(whole, 200));
}

}  // namespace

ExperimentArguments split_arguments(const std::vector<std::string>& arguments, const config::StructSpec& keys) {
  ExperimentArguments parts;
  for (size_t at = 0; at < arguments.size(); ++at) {
    if (is_override(arguments[at], keys)) {
      refuse_cut_value(arguments, at);
      parts.overrides.push_back(arguments[at]);
    } else {
      refuse_spaces_around_equals(arguments[at], keys);
      refuse_key_without_value(arguments, at, keys);
      parts.files.push_back(arguments[at]);
    }
  }
  return parts;
}

ExperimentArguments split_experiment_arguments(const std::string& verb, const std::vector<std::string>& arguments) {
  ExperimentArguments parts = split_arguments(arguments, Experiment::schema().spec());
  if (parts.files.empty())
    throw_error(ExitCode::kUsage, "{0}: no experiment file given\n  `rnnlab {0} --help` shows how it is used", verb);
  return parts;
}

void refuse_arguments_for_list(const std::string& verb, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return;
  throw_error(ExitCode::kUsage, "{}: got {}, but a list of all keys takes no arguments: remove one of the two", verb,
              in_quotes(arguments.front()));
}

config::Document read_document(const std::string& file, const std::vector<std::string>& overrides,
                               config::Findings& findings) {
  config::Document document = config::Document::from_file_with_base(file, findings);
  for (const std::string& assignment : overrides) document.apply_override(assignment, findings);
  return document;
}

namespace {

std::string key_of(const std::string& assignment) {
  return std::string(trim(assignment.substr(0, assignment.find('='))));
}

// A later argument replaces an earlier one, so that a script can be given more arguments.
void note_replaced(const std::vector<std::string>& overrides) {
  std::map<std::string, std::string> last;
  for (const std::string& assignment : overrides) {
    const auto [earlier, is_first] = last.try_emplace(key_of(assignment), assignment);
    if (is_first || earlier->second == assignment) continue;
    print_notes({fmt::format("{} replaces {}", in_quotes(assignment), in_quotes(earlier->second))});
    earlier->second = assignment;
  }
}

}  // namespace

std::vector<ExperimentCase> read_all_cases(const std::string& verb, const std::vector<std::string>& arguments) {
  const auto [files, overrides] = split_experiment_arguments(verb, arguments);
  note_replaced(overrides);
  config::Findings findings;
  std::vector<ExperimentCase> cases;
  for (const std::string& file : files)
    for (ExperimentCase& one : read_cases(read_document(file, overrides, findings), findings))
      cases.push_back(std::move(one));
  print_notes(findings.throw_if_any());
  return cases;
}

namespace {

std::string check_part(const std::string& name) {
  if (config::from_name<DataPart>(name)) return "";
  return fmt::format("got {}, expected train, valid, test or all", in_quotes(name));
}

std::string check_passes(const std::string& text) {
  const auto number = parse_int64(text);
  const bool is_fine = number && *number >= 1 && *number <= 1'000'000;
  return is_fine ? "" : fmt::format("got {}, expected an integer, at least 1 and at most 1000000", in_quotes(text));
}

std::string check_price(const std::string& text) {
  const auto price = parse_double(text);
  const bool is_fine = price && std::isfinite(*price) && *price > 0;
  return is_fine ? "" : fmt::format("got {}, expected a number above 0, such as 2.49", in_quotes(text));
}

}  // namespace

void add_use_arguments(CLI::App& command, ModelArguments& arguments, TakesData takes_data) {
  const bool is_on_data = takes_data == TakesData::kYes;
  command
      .add_option("arguments", arguments.arguments,
                  is_on_data
                      ? "a run's folder, a checkpoint or the name of an experiment, and overrides such as device=cpu"
                      : "a run's folder, a checkpoint, the name of an experiment, or a file of weights")
      ->type_name(is_on_data ? "RUN [key=value]" : "RUN|FILE");
  command
      .add_option("--checkpoint", arguments.checkpoint,
                  "best, last, or one by its name, such as step-000123; by default the best if one is marked")
      ->type_name("NAME");
  if (!is_on_data) return;
  add_part_option(command, arguments.part,
                  "train, valid, test or all of the data; by default valid, and all of other data");
}

CLI::Option* add_part_option(CLI::App& command, std::string& part, const std::string& description) {
  return command.add_option("--part", part, description)->check(check_part)->type_name("PART");
}

void add_machine_option(CLI::App& command, bool& with_machine) {
  command.add_flag("--with-machine", with_machine, "also print host name, kernel, command line and absolute paths");
}

CLI::Option* add_price_option(CLI::App& command, std::optional<double>& price_per_hour) {
  return command
      .add_option("--price-per-hour", price_per_hour, "price of the machine in any currency, for the price of an epoch")
      ->check(check_price)
      ->type_name("PRICE");
}

CLI::Option* add_passes_option(CLI::App& command, int64_t& num_passes) {
  return command
      .add_option("--passes", num_passes, "passes over the data; the time is their median; an untimed batch runs first")
      ->check(check_passes)
      ->type_name("N")
      ->capture_default_str();
}

namespace {

void require_one_name(const std::string& verb, const std::vector<std::string>& runs) {
  if (runs.size() == 1) return;
  const std::string got =
      runs.empty() ? "no name" : fmt::format("{} names, {} first and {} last", runs.size(), runs.front(), runs.back());
  const std::string advice =
      runs.empty() ? "" : fmt::format("; `rnnlab rank` lists several runs, and `rnnlab {}` takes one at a time", verb);
  throw_error(ExitCode::kUsage,
              "{0}: got {1}, expected one run or checkpoint{2}; other data are given as data.path=FILE or "
              "data.train_inputs=FILE\n  `rnnlab {0} --help` shows how it is used",
              verb, got, advice);
}

}  // namespace

ModelRequest model_request(const std::string& verb, const ModelArguments& arguments) {
  const auto [files, overrides] = split_arguments(arguments.arguments, Experiment::schema().spec());
  std::vector<std::string> runs;  // runs/weather/* names the newest run twice, because of the link `latest`
  for (const std::string& file : files) add_once(runs, run_of_latest(file));
  require_one_name(verb, runs);
  return {.run = named_trained_run(runs.front(), kRunsFolder),
          .checkpoint = arguments.checkpoint,
          .overrides = overrides,
          .part = config::from_name<DataPart>(arguments.part)};
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) print_notice(fmt::format("rnnlab: note: {}\n", note));
}

TrainedModel load_model(const ModelRequest& request) {
  TrainedModel trained = load_trained_model(request);
  print_notes(trained.notes);
  return trained;
}

namespace {

namespace fs = std::filesystem;

std::vector<std::string> without_repetitions(const std::vector<std::string>& folders) {
  std::set<fs::path> seen;
  std::vector<std::string> unique;
  for (const std::string& folder : folders) {
    std::error_code unreadable;
    const fs::path whole = fs::weakly_canonical(folder, unreadable);
    if (seen.insert(unreadable ? fs::path(folder) : whole).second) unique.push_back(folder);
  }
  return unique;
}

// The runs are sorted by the second of their start, which is in their names; results/run_record.h orders runs of one
// second. load_run reports runs that cannot be read.
std::vector<fs::path> runs_below(const fs::path& folder) {
  return folders_with(folder, {kEpochsCsvFile, kSummaryFile});
}

// The user may have written "runs" instead of "runs/gru_speed"; different experiments must not be mixed by mistake.
void require_no_experiments_in(const fs::path& folder) {
  std::error_code unreadable;
  for (fs::directory_iterator entry(folder, unreadable); entry != end(entry); entry.increment(unreadable))
    if (!runs_below(entry->path()).empty())
      throw_error(ExitCode::kUsage,
                  "{}: not a run folder, but its subfolders contain runs; pass one of them, for example {}",
                  folder.string(), entry->path().string());
}

std::vector<std::string> subfolders(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code unreadable;
  for (fs::directory_iterator entry(folder, unreadable); entry != end(entry); entry.increment(unreadable))
    if (!runs_below(entry->path()).empty()) names.push_back(entry->path().string());
  std::ranges::sort(names);
  return names;
}

// Returns the runs in the folder that have ended, with a notice for each of the others.
std::vector<std::string> ended_runs(const std::string& folder) {
  std::vector<std::string> ended;
  for (const auto& run : runs_below(folder)) {
    if (path_exists(run / kSummaryFile))
      ended.push_back(run.string());
    else
      print_notice(fmt::format("rnnlab: {} skipped: it still runs, or was killed\n", run.string()));
  }
  return ended;
}

std::vector<std::string> expanded(const std::string& folder) {
  const std::vector<std::string> ended = ended_runs(folder);
  if (ended.empty()) require_no_experiments_in(folder);
  return ended.empty() ? std::vector<std::string>{folder} : ended;
}

}  // namespace

std::vector<std::string> named_runs(const std::vector<std::string>& folders) {
  std::vector<std::string> all;
  for (const std::string& folder : folders)
    for (std::string& run : expanded(named_path(folder, kRunsFolder))) all.push_back(std::move(run));
  return without_repetitions(all);
}

std::vector<std::string> named_runs_of_all(const std::vector<std::string>& folders) {
  std::vector<std::string> all;
  for (const std::string& name : folders) {
    const std::string folder = named_path(name, kRunsFolder);
    const std::vector<std::string> below = runs_below(folder).empty() ? subfolders(folder) : std::vector<std::string>();
    const std::vector<std::string> own = below.empty() ? expanded(folder) : std::vector<std::string>();
    all.insert(all.end(), own.begin(), own.end());
    for (const std::string& one : below) {
      const std::vector<std::string> ended = ended_runs(one);
      all.insert(all.end(), ended.begin(), ended.end());
    }
  }
  return without_repetitions(all);
}

}  // namespace rnnlab::app
