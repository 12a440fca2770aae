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
#include "base/system/json_fields.h"
#include "base/text.h"
#include "output.h"
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
  rnnlab convert runs/mnist_rows/2026-11-21T02-59-51Z-cuda0-cudnn --part recurrent -o lstm.safetensors
  rnnlab convert runs/mnist_rows/2026-11-21T02-59-51Z-cuda0-cudnn --layout keras -o model.safetensors
  rnnlab convert keras_model.safetensors --from keras -o ours.safetensors)";

struct ConvertOptions {
  ModelArguments use;
  std::string out;
  std::string part = "model";
  std::string layout = "pytorch";
  std::string from;
  bool with_machine = false;
  bool json = false;
};

std::vector<std::string> names_of_written_layouts() {
  std::vector<std::string> names;
  for (const Layout layout : written_layouts()) names.emplace_back(config::name_of(layout));
  return names;
}

std::string exported_json(const std::string& file, const Exported& exported, const std::string& source) {
  return json_text({{"file", file},
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
  if (options.json) return print_data(exported_json(options.out, exported, source));
  print_text(fmt::format("{}: {}, {} of {}\n", options.out, counted(exported.num_tensors, "tensor"),
                         counted(exported.num_parameters, "parameter"), source));
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

void convert_run(const ConvertOptions& options, ModelRequest request, const ExportFormat& format,
                 const CommandLine& command_line) {
  if (!options.from.empty())
    throw_error(ExitCode::kUsage, "--from applies to weight files only, and {} is a run; remove --from",
                request.run.string());
  request.overrides = {"device=cpu", "precision=fp32"};
  const TrainedModel trained = load_model(request);
  const MachineFacts machine = options.with_machine ? machine_facts(trained, command_line) : MachineFacts();
  print_exported(options, format, export_weights(trained, format, options.out, machine), trained.checkpoint.string());
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
  if (options.out.empty()) throw_error(ExitCode::kUsage, "convert: no output file is given; add -o FILE.safetensors");
  constexpr const char* kAdvice = "name an ordinary file; weights cannot be printed";
  require_harmless_output(options.out, kAdvice);  // before a run is looked up, as in other verbs
  const ModelRequest request = model_request("convert", options.use);
  if (!request.overrides.empty())
    throw_error(ExitCode::kUsage,
                "convert: got {}, but weights are the same on every device and with every layer: leave it out",
                in_quotes(request.overrides.front()));
  const ExportFormat format = {.part = config::from_name<ExportPart>(options.part).value(),
                               .layout = config::from_name<Layout>(options.layout).value()};
  require_name_of_safetensors(options.out);
  require_harmless_output(options.out, kAdvice, {request.run});
  // What is not a file of weights is the folder of a run or a checkpoint.
  is_file(request.run) ? convert_file(options, request, format, command_line)
                       : convert_run(options, request, format, command_line);
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
  command->add_flag("--json", options->json, "print what was written as JSON");
  add_machine_option(*command, options->with_machine);
}

}  // namespace rnnlab::app
