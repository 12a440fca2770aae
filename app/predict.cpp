// SPDX-License-Identifier: Apache-2.0
// rnnlab predict: prints a trained model's prediction for each sample, or text that a language model generates.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <filesystem>

#include "arguments.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/text.h"
#include "data/find_data.h"
#include "output.h"
#include "predict_stream.h"
#include "runs/use/generate_text.h"
#include "runs/use/predict.h"
#include "runs/use/prediction_files.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kPredictFooter = R"(
New data are scaled as the training data were, by what the checkpoint holds. A CSV need not have the target columns.
Each of its rows has a line in the output, with its number as `row`; data.id=[key] adds the columns that identify it.
A language model continues --prompt instead. With --stream, rows are read from standard input as they arrive, each as
the next step of its series, and each prediction is printed at once; --state FILE goes on where the last call ended.
If there is no path RUN, RUN is the name of an experiment, and its newest run in the folder runs is used.

Examples:
  rnnlab predict flowers data.path=new.csv
  rnnlab predict runs/flowers/2026-11-21T02-59-51Z-cpu-fused data.path=new.csv --out kinds.csv
  rnnlab predict demand --part all --long --out forecast.csv
  tail -n +1 -f sensor.csv | rnnlab predict sensor --stream --state sensor.state
  rnnlab predict runs/char_lm/2026-11-21T02-59-51Z-cuda0-cudnn device=cpu --prompt "ROMEO:" --length 500 --temperature 0.8)";

struct PredictOptions {
  ModelArguments use;
  std::string out;
  int64_t num_passes = 1;
  bool json = false;
  bool is_long = false;
  bool is_stream = false;
  std::string state;
  TextRequest text;
  CLI::Option* prompt = nullptr;
};

void print_or_write(const std::string& text, const std::string& out) {
  if (out.empty()) return print_data(text);
  write_output_file(out, text);
}

// Call this function before the model is loaded, and again when the files of its data are known.
void require_output(const std::string& out, const std::vector<std::filesystem::path>& inputs = {}) {
  require_harmless_output(out, "remove --out to print to standard output", inputs);
}

void require_text_file(const std::string& out) {
  const auto extension = std::filesystem::path(out).extension();
  if (extension == ".npy" || extension == ".csv" || extension == ".jsonl")
    throw_error(ExitCode::kUsage, "predict: {} is not a text file, but a language model writes text: use a .txt file",
                in_quotes(out));
}

void require_stream_options(const PredictOptions& options) {
  const auto refuse = [](const char* option) {
    throw_error(ExitCode::kUsage, "predict: {} has no effect on rows that arrive (--stream); remove it", option);
  };
  if (!options.out.empty()) refuse("--out");
  if (!options.use.part.empty()) refuse("--part");
  if (options.is_long) refuse("--long");
  if (!options.prompt->empty()) refuse("--prompt");
}

void require_options(const PredictOptions& options) {
  if (options.is_stream) return require_stream_options(options);
  if (options.json && options.out.empty())
    throw_error(ExitCode::kUsage,
                "predict: --json prints the time beside a file, or the rows of a stream: add --out "
                "FILE or --stream");
  if (!options.state.empty() && options.prompt->empty())
    throw_error(ExitCode::kUsage, "predict: --state is for rows that arrive, or for a text: add --stream or --prompt");
}

void require_text_options(const PredictOptions& options, const TrainedModel& trained) {
  const bool is_language_model = trained.data.shape.task == Task::kLanguageModel;
  if (is_language_model && options.prompt->empty())
    throw_error(ExitCode::kUsage, "predict: a language model continues a text: add --prompt TEXT");
  if (is_language_model && (options.json || options.is_long || options.num_passes != 1))
    throw_error(ExitCode::kUsage,
                "predict: --json, --long and --passes do not work with a language model, which continues a text; "
                "remove them");
  if (!is_language_model && !options.prompt->empty())
    throw_error(ExitCode::kUsage,
                "predict: --prompt works only with a language model, and this is a {}; remove --prompt",
                config::name_of(trained.experiment.model.kind));
}

std::optional<LongForm> required_long_form(const TrainedModel& trained, const PredictOptions& options) {
  if (std::filesystem::path(options.out).extension() == ".npy")
    throw_error(ExitCode::kUsage,
                "predict: raw outputs in {} have no lines: use a .csv or .jsonl file, or remove --long",
                in_quotes(options.out));
  const auto form = long_form(trained);
  if (!form)
    throw_error(ExitCode::kUsage,
                "predict: --long lists the forecasts of a series by date and horizon, but this model does not forecast "
                "from a data.window: remove --long");
  return form;
}

void predict_samples(const TrainedModel& trained, const PredictOptions& options) {
  if (!options.out.empty()) require_prediction_file(options.out);
  const std::optional<LongForm> form = options.is_long ? required_long_form(trained, options) : std::nullopt;
  const InferenceData data = load_data(trained, Targets::kIfPresent);
  print_notes(data.notes);
  if (const auto note = note_on_rows(data.rows, form)) print_notes({*note});
  const Predictions predictions = predict(trained, data.samples, options.num_passes);
  if (options.out.empty()) return print_data(prediction_csv(predictions, data.rows, form));
  write_predictions(options.out, predictions, data.rows, form);
  options.json ? print_data(prediction_json(trained, data, predictions, options.out))
               : print_text(prediction_text(predictions, options.out));
}

void add_text_options(CLI::App& command, PredictOptions& options) {
  options.prompt = command.add_option("--prompt", options.text.prompt, "language model: the text to continue");
  options.prompt->type_name("TEXT");
  const auto add = [&](const char* name, auto& value, const char* help, const char* type, const auto& check) {
    command.add_option(name, value, help)->check(check)->type_name(type)->capture_default_str()->needs(options.prompt);
  };
  add("--length", options.text.length, "language model: how many tokens to add", "N",
      integer_between(0, config::kMostCounted));
  add("--temperature", options.text.temperature,
      "language model: 0 takes the most probable token, a higher one is more random", "T",
      number_where([](double number) { return number >= 0; }, "a number, at least 0"));
  add("--seed", options.text.seed, "language model: seed of the random choice", "S", integer_between(0));
}

void print_text_of(const TrainedModel& trained, const PredictOptions& options) {
  require_text_file(options.out);
  StreamState state = options.state.empty() ? StreamState() : stream_state_in(options.state, trained);
  const std::string text = continue_text(trained, options.text, state);
  print_or_write(options.text.prompt + text + "\n", options.out);
  if (!options.state.empty()) write_stream_state(options.state, state, trained);
}

ExitCode predict_one(const PredictOptions& options) {
  require_options(options);
  require_output(options.out);
  const auto state_lock = lock_state_file(options.state);
  const ModelRequest request = model_request("predict", options.use);
  if (options.is_stream) require_stream_settings(request.overrides);
  const TrainedModel trained = load_model(request);
  if (options.is_stream)
    return predict_stream(trained, options.state, options.json ? StreamForm::kJsonl : StreamForm::kCsv);
  require_text_options(options, trained);
  require_output(options.out, data_files(trained.experiment.data));
  require_output(options.out, data_files(trained.data_settings));
  if (trained.data.shape.task != Task::kLanguageModel) {
    predict_samples(trained, options);
    return ExitCode::kDone;
  }
  print_text_of(trained, options);
  return ExitCode::kDone;
}

}  // namespace

void add_predict(CLI::App& program, Action& chosen) {
  const auto [command, options] = add_verb<PredictOptions>(
      program, chosen, "predict", "Predict with a trained model, or generate text", kPredictFooter, predict_one);
  add_use_arguments(*command, options->use, TakesData::kYes);
  auto* out = command->add_option(
      "--out", options->out,
      "write to this file instead of printing CSV, and print the time: .csv, .jsonl, or .npy for "
      "the raw outputs (samples or steps, outputs), logits or scaled values; of a language model, the text");
  out->type_name("FILE");
  add_passes_option(*command, options->num_passes)->needs(out);
  command->add_flag("--json", options->json, "with --out, print the time as JSON; with --stream, a JSON object a row");
  command->add_flag("--long", options->is_long,
                    "forecasts of a series: a line for each date and horizon, instead of a column for each horizon");
  command->add_flag("--stream", options->is_stream,
                    "read rows from standard input as they arrive, each as the next step of its series, and print each "
                    "prediction at once");
  command
      ->add_option(
          "--state", options->state,
          "with --stream or --prompt: go on after the rows or the text of the call that wrote this file, if it "
          "exists, and write the state of the end to it")
      ->check([](const std::string& file) -> std::string {
        return file.empty() ? "got an empty name, expected a file" : "";
      })
      ->type_name("FILE");
  add_text_options(*command, *options);
}

}  // namespace rnnlab::app
