// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <fmt/format.h>
#include <CLI/Option.hpp>

#include <algorithm>
#include <cctype>
#include <map>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"
#include "output.h"
#include "results/run_folder.h"
#include "run_names.h"
#include "runs/experiment.h"

namespace rnnlab::app {

Check one_of(std::vector<std::string> names) {
  return [names = std::move(names)](const std::string& text) {
    if (std::ranges::find(names, text) != names.end()) return std::string();
    return fmt::format("got {}, expected {}", in_quotes(text), join_with_or(names));
  };
}

Check integer_between(int64_t least, int64_t most) {
  return [least, most](const std::string& text) {
    if (parse_int64(text, least, most)) return std::string();
    const bool is_bounded = most < std::numeric_limits<int64_t>::max();
    return fmt::format("got {}, expected an integer, at least {}{}", in_quotes(text), least,
                       is_bounded ? fmt::format(" and at most {}", most) : "");
  };
}

Check number_where(bool (*holds)(double), std::string expected) {
  return [holds, expected = std::move(expected)](const std::string& text) {
    const auto number = parse_double(text);
    return number && holds(*number) ? "" : fmt::format("got {}, expected {}", in_quotes(text), expected);
  };
}

void add_experiment_arguments(CLI::App& command, std::vector<std::string>& arguments) {
  command.add_option("arguments", arguments, "experiment files, and overrides such as training.epochs=5")
      ->type_name("FILE... [key=value]");
}

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

void add_use_arguments(CLI::App& command, ModelArguments& arguments, TakesData takes_data) {
  const bool is_on_data = takes_data == TakesData::kYes;
  command
      .add_option("arguments", arguments.arguments,
                  is_on_data
                      ? "a run's folder, a checkpoint, the name of an experiment or a file of `convert --whole`, and "
                        "overrides such as device=cpu"
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
  return command.add_option("--part", part, description)
      ->check(one_of(config::names_of<DataPart>()))
      ->type_name("PART");
}

void add_machine_option(CLI::App& command, bool& with_machine) {
  command.add_flag("--with-machine", with_machine, "also print host name, kernel, command line and absolute paths");
}

CLI::Option* add_price_option(CLI::App& command, std::optional<double>& price_per_hour) {
  return command
      .add_option("--price-per-hour", price_per_hour, "price of the machine in any currency, for the price of an epoch")
      ->check(number_where([](double price) { return price > 0; }, "a number above 0, such as 2.49"))
      ->type_name("PRICE");
}

CLI::Option* add_passes_option(CLI::App& command, int64_t& num_passes) {
  return command
      .add_option("--passes", num_passes, "passes over the data; the time is their median; an untimed batch runs first")
      ->check(integer_between(1, 1'000'000))
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

}  // namespace rnnlab::app
