// SPDX-License-Identifier: Apache-2.0
// rnnlab convert: writes a trained model's weights for other programs, and converts weight files between layouts.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "arguments.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/system/files.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "output.h"
#include "runs/report/model_card.h"
#include "runs/use/export_weights.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kConvertFooter = R"(
Layouts: pytorch (torch.nn's names), keras (Keras 3's variables), tensorflow (the cells that TensorFlow's cuDNN layers
save themselves as). xlstm (the package's sLSTM cell) is only read. docs/weights.md has their tables. In Python:
  torch.nn.LSTM(28, 128).load_state_dict(safetensors.torch.load_file("lstm.safetensors"))
  python scripts/keras_weights.py load model.safetensors untrained.keras model.keras
The other way, model.initial_weights=FILE starts training from such a file of any layout.

Examples:
  rnnlab convert mnist_rows -o model.safetensors        (the newest run of runs/mnist_rows)
  rnnlab convert mnist_rows --whole -o mnist.safetensors --card mnist.md   (for rnnlab predict mnist.safetensors)
  rnnlab convert runs/mnist_rows/2026-11-21T02-59-51Z-cuda0-cudnn --part recurrent -o lstm.safetensors
  rnnlab convert runs/mnist_rows/2026-11-21T02-59-51Z-cuda0-cudnn --layout keras -o model.safetensors
  rnnlab convert keras_model.safetensors --from keras -o ours.safetensors)";

constexpr const char* kOutputAdvice = "name an ordinary file; weights cannot be printed";

struct ConvertOptions {
  ModelArguments use;
  std::string out;
  std::string part = "model";
  std::string layout = "pytorch";
  std::string from;
  bool whole = false;
  std::string card;
  bool with_machine = false;
  bool json = false;
};

std::vector<std::string> names_of_written_layouts() {
  std::vector<std::string> names;
  for (const Layout layout : written_layouts()) names.emplace_back(config::name_of(layout));
  return names;
}

Json card_json(const ConvertOptions& options) { return options.card.empty() ? Json(nullptr) : Json(options.card); }

std::string exported_json(const ConvertOptions& options, const Exported& exported, const std::string& source) {
  return json_text({{"file", options.out},
                    {"card", card_json(options)},
                    {"source", source},
                    {"num_tensors", exported.num_tensors},
                    {"num_parameters", exported.num_parameters},
                    {"module", exported.module},
                    {"notes", to_json(exported.notes)},
                    {"source_notes", to_json(exported.source_notes)},
                    {"warning", exported.warning}});
}

void print_exported(const ConvertOptions& options, const ExportFormat& format, const Exported& exported,
                    const std::string& source) {
  const bool is_for_a_layer = format.part == ExportPart::kRecurrent || format.layout != Layout::kPyTorch;
  print_notes(exported.source_notes);
  if (is_for_a_layer) print_notes(exported.notes);
  if (!exported.warning.empty()) print_notice(fmt::format("rnnlab: warning: {}: {}\n", source, exported.warning));
  if (options.json) return print_data(exported_json(options, exported, source));
  print_text(fmt::format("{}: {}, {} of {}\n", options.out, counted(exported.num_tensors, "tensor"),
                         counted(exported.num_parameters, "parameter"), source));
  if (options.whole)
    print_text(fmt::format("use it in place of the run: rnnlab predict {}\n", shell_quoted(options.out)));
  if (is_for_a_layer) print_text(fmt::format("for {}\n", exported.module));
}

void convert_file(const ConvertOptions& options, const ModelRequest& request, const ExportFormat& format,
                  const CommandLine& command_line) {
  if (!request.checkpoint.empty())
    throw_error(ExitCode::kUsage, "--checkpoint: {} is a file and has no checkpoints to choose from; leave it out",
                request.run.string());
  const MachineFacts machine = options.with_machine ? machine_facts(request.run, command_line) : MachineFacts();
  const Exported exported =
      convert_weights(request.run, config::from_name<Layout>(options.from), format, options.out, machine);
  print_exported(options, format, exported, request.run.string());
}

// A reader of the card has the file of the whole model, if it was written beside the card.
void write_card(const ConvertOptions& options, const TrainedModel& trained) {
  const report::CardParts found = report::read_parts(trained);
  print_notes(found.notes);
  const std::string given = is_safetensors_file(trained.checkpoint) ? trained.checkpoint.string() : "RUN";
  const std::string name = last_name(options.whole ? options.out : given);
  write_output_file(options.card, report::model_card(saved_model(trained), found.parts, name));
  if (!options.json) print_text(fmt::format("{}: the card of {}\n", options.card, trained.experiment.name));
  if (options.json && options.out.empty()) print_data(json_text({{"card", card_json(options)}}));
}

void convert_run(const ConvertOptions& options, ModelRequest request, const ExportFormat& format,
                 const CommandLine& command_line) {
  if (!options.from.empty())
    throw_error(ExitCode::kUsage,
                "--from applies to weight files only, and {} is a run or a whole model; remove --from",
                request.run.string());
  request.overrides = {"device=cpu", "precision=fp32"};
  const TrainedModel trained = load_model(request);
  if (!options.out.empty()) {
    const MachineFacts machine = options.with_machine ? machine_facts(trained, command_line) : MachineFacts();
    const Exported exported = options.whole ? export_whole(saved_model(trained), options.out, machine)
                                            : export_weights(trained, format, options.out, machine);
    print_exported(options, format, exported, trained.checkpoint.string());
  }
  if (!options.card.empty()) write_card(options, trained);
}

// Only a run or the file of a whole model has what weights do not tell. Readers know a whole model by the ending of its
// name.
void require_possible(const ConvertOptions& options, const ModelRequest& request, const ExportFormat& format,
                      bool is_whole_model) {
  if ((options.whole || !options.card.empty()) && !is_whole_model)
    throw_error(ExitCode::kUsage,
                "{}: {} holds weights without the settings of their model; pass the run that trained them",
                options.whole ? "--whole" : "--card", request.run.string());
  const bool is_plain = format.part == ExportPart::kModel && format.layout == Layout::kPyTorch;
  if (options.out.empty() && (!is_plain || options.with_machine))
    throw_error(ExitCode::kUsage,
                "--part, --layout and --with-machine say how weights are written; add -o FILE.safetensors, or remove "
                "them");
  if (!options.whole) return;
  if (!is_plain)
    throw_error(ExitCode::kUsage,
                "--whole writes every weight as this program reads it, in the pytorch layout; remove --part and "
                "--layout, or remove --whole");
  if (!is_safetensors_file(options.out))
    throw_error(ExitCode::kUsage, "--whole: the name {} must end in .safetensors, by which the file is known again",
                in_quotes(options.out));
}

void require_name_of_markdown(const std::filesystem::path& card) {
  if (card.empty() || card.extension() == ".md") return;
  throw_error(ExitCode::kUsage, "--card {}: a card is Markdown; name a file that ends in .md", card.string());
}

// The names of other formats, whose readers would fail.
void require_name_of_safetensors(const std::filesystem::path& out) {
  constexpr std::array<std::string_view, 9> kOthers = {".pt",    ".pth", ".bin",  ".h5",  ".hdf5",
                                                       ".keras", ".npz", ".ckpt", ".onnx"};
  const std::string ending = lower_case(out.extension().string());
  if (std::ranges::find(kOthers, ending) == kOthers.end()) return;
  std::filesystem::path better = out;
  throw_error(ExitCode::kUsage,
              "{}: the file has the format safetensors, which a reader of {} files cannot read; name it {}",
              out.string(), ending, better.replace_extension(".safetensors").string());
}

ExitCode convert_one(const ConvertOptions& options, const CommandLine& command_line) {
  if (options.out.empty() && (options.card.empty() || options.whole))
    throw_error(ExitCode::kUsage, "convert: no output file is given; add -o FILE.safetensors");
  const auto require_outputs = [&](const std::vector<std::filesystem::path>& inputs) {
    for (const std::string& out : {options.out, options.card}) require_harmless_output(out, kOutputAdvice, inputs);
  };
  require_outputs({});  // before a run is looked up, as in other verbs
  require_name_of_markdown(options.card);
  const ModelRequest request = model_request("convert", options.use);
  if (!request.overrides.empty())
    throw_error(ExitCode::kUsage,
                "convert: got {}, but weights are the same on every device and with every layer: leave it out",
                in_quotes(request.overrides.front()));
  const ExportFormat format = {.part = config::from_name<ExportPart>(options.part).value(),
                               .layout = config::from_name<Layout>(options.layout).value()};
  require_name_of_safetensors(options.out);
  require_outputs({request.run});
  // What is not a file of weights is the folder of a run, a checkpoint, or the file of a whole model.
  const bool is_whole_model = !is_file(request.run) || (is_safetensors_file(request.run) && is_model_file(request.run));
  require_possible(options, request, format, is_whole_model);
  is_whole_model ? convert_run(options, request, format, command_line)
                 : convert_file(options, request, format, command_line);
  return ExitCode::kDone;
}

}  // namespace

void add_convert(CLI::App& program, Action& chosen) {
  const auto [command, options] = add_verb<ConvertOptions>(
      program, chosen, "convert", "Write a trained model's weights for other programs, or convert theirs",
      kConvertFooter, convert_one);
  add_use_arguments(*command, options->use, TakesData::kNo);
  command->add_option("-o,--out", options->out, "the file to write")->type_name("FILE.safetensors");
  command->add_option("--part", options->part, "model, or recurrent: only the recurrent layers")
      ->check(one_of(config::names_of<ExportPart>()))
      ->type_name("PART")
      ->capture_default_str();
  command->add_option("--layout", options->layout, "layout of the file to write: pytorch, keras or tensorflow")
      ->check(one_of(names_of_written_layouts()))
      ->type_name("LAYOUT")
      ->capture_default_str();
  command->add_option("--from", options->from, "layout of the file to read; by default its names decide")
      ->check(one_of(config::names_of<Layout>()))
      ->type_name("LAYOUT");
  command->add_flag("--whole", options->whole,
                    "write one file with all that predict, evaluate and convert need in place of the run: settings, "
                    "scales, vocabulary, equations, versions");
  command
      ->add_option("--card", options->card,
                   "write a model card: what the model is, its data, training, results, use and limits; reads the "
                   "data of training for the numbers of samples and the test part")
      ->type_name("FILE.md");
  command->add_flag("--json", options->json, "print what was written as JSON");
  add_machine_option(*command, options->with_machine);
}

}  // namespace rnnlab::app
