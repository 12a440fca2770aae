// rnnlab convert: a trained model's weights as a file for other programs.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <memory>

#include "base/numbers.h"
#include "base/text.h"
#include "inference/export_weights.h"
#include "output.h"
#include "use_arguments.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kConvertFooter = R"(
The names are PyTorch's, the numbers float32. In Python:
  torch.nn.LSTM(28, 128).load_state_dict(safetensors.torch.load_file("lstm.safetensors"))
The other way, model.initial_weights=FILE starts training from such a file.

Examples:
  rnnlab convert runs/mnist_rows/2026-11-21T02-59-51Z-cuda0-cudnn -o model.safetensors
  rnnlab convert runs/mnist_rows/2026-11-21T02-59-51Z-cuda0-cudnn --part recurrent -o lstm.safetensors)";

struct ConvertOptions {
  UseArguments use;
  std::string out;
  std::string part = "model";
};

std::string check_export_part(const std::string& name) {
  if (config::from_name<ExportPart>(name)) return "";
  return fmt::format("got {}, expected model or recurrent", in_quotes(name));
}

ExitCode convert_one(const ConvertOptions& options) {
  if (options.out.empty()) throw_error(ExitCode::kUsage, "convert: there is no file to write; add -o FILE.safetensors");
  ModelRequest request = model_request("convert", options.use);
  if (!request.overrides.empty())
    throw_error(ExitCode::kUsage,
                "convert: got {}, but weights are the same on every device and with every layer: leave it out",
                in_quotes(request.overrides.front()));
  request.overrides = {"device=cpu", "layer=naive", "precision=fp32"};
  const TrainedModel trained = load_model(request);
  const ExportPart part = config::from_name<ExportPart>(options.part).value();
  const Exported exported = export_weights(trained, part, options.out);
  if (part == ExportPart::kRecurrent) print_notes(exported.notes);
  print_output(fmt::format("{}: {}, {} of {}\n", options.out, counted(exported.num_tensors, "tensor"),
                           counted(exported.num_parameters, "parameter"), trained.checkpoint.string()));
  if (part == ExportPart::kRecurrent) print_output(fmt::format("for {}\n", exported.module));
  return ExitCode::kDone;
}

}  // namespace

void add_convert(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("convert", "Write a trained model's weights for other programs");
  auto options = std::make_shared<ConvertOptions>();
  add_use_arguments(*command, options->use, TakesData::kNo);
  command->add_option("-o,--out", options->out, "the file to write")->type_name("FILE.safetensors");
  command->add_option("--part", options->part, "model, or recurrent: the recurrent layer alone, by torch.nn's names")
      ->check(check_export_part)
      ->type_name("PART")
      ->capture_default_str();
  command->footer(kConvertFooter);
  command->callback([&chosen, options] { chosen = [options](const CommandLine&) { return convert_one(*options); }; });
}

}  // namespace rnnlab::app
