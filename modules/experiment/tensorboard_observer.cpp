#include "experiment/tensorboard_observer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/histc.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/model_graph.h"
#include "results/run_folder.h"
#include "system/machine.h"
#include "tensorboard/summaries.h"

namespace rnnlab {
namespace {

constexpr std::array<std::string_view, 2> kNoScalars = {"epoch", "warmup"};
constexpr std::array<std::string_view, 3> kOfTraining = {"learning_rate", "gradient_norm", "skipped_steps"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::string scalar_tag(const EpochColumn& column) {
  std::string name(column.name);
  if (contains(kNoScalars, name)) return "";
  if (contains(kOfTraining, name)) return "training/" + name;
  if (column.role == ColumnRole::kMeasurement) return "measured/" + name;
  name[name.find('_')] = '/';
  return name;
}

std::string scalars_of(const EpochRow& row) {
  std::string summary;
  for (const EpochColumn& column : epoch_columns()) {
    const std::string tag = scalar_tag(column);
    const auto value = number_in(row, column);
    if (!tag.empty() && value) summary += tensorboard::scalar_summary(tag, *value);
  }
  return summary;
}

namespace {

// Returns the settings of config.yaml; paths lose their folders if the machine must not be identified.
std::map<std::string, std::string> settings_of(const Experiment& experiment) {
  config::Findings findings;
  auto settings = config_values(
      config::Document::from_text(config::print(experiment, Experiment::schema()), "config.yaml", findings));
  if (experiment.training.tensorboard_machine) return settings;
  for (auto& [key, value] : settings) value = setting_without_folders(value);
  return settings;
}

std::string machine_of(const TrainingSettings& training) {
  return training.tensorboard_machine ? host_info().hostname : tensorboard::kAnyMachine;
}

std::string graph_of(const PreparedRun& run) {
  const Objective objective(run.options.settings.loss, run.dataset, run.device);
  return tensorboard::graph_def_of(
      model_graph(run.experiment.model, run.dataset.shape, std::string(config::name_of(objective.loss()))));
}

// Returns "" for a tensor that is not finite: float16 overflowed and the update was skipped.
std::string histogram_of(const std::string& tag, const at::Tensor& tensor) {
  if (!tensor.defined()) return "";
  const at::NoGradGuard no_grad;
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kFloat);  // on a GPU, counting is not deterministic
  const auto [lowest, highest] = at::aminmax(values);
  const double low = lowest.item<double>(), high = highest.item<double>();
  if (!std::isfinite(low) || !std::isfinite(high)) return "";
  const at::Tensor counts = at::histc(values, tensorboard::kNumBuckets, low, high).to(at::kDouble);
  const at::Tensor exact = values.to(at::kDouble);
  return tensorboard::histogram_summary(
      tag, {.lowest = low,
            .highest = high,
            .sum = exact.sum().item<double>(),
            .sum_of_squares = exact.square().sum().item<double>(),
            .counts = {counts.const_data_ptr<double>(), static_cast<size_t>(counts.numel())}});
}

std::string with_slashes(std::string name) {
  std::ranges::replace(name, '.', '/');
  return name;
}

}  // namespace

TensorBoardObserver::TensorBoardObserver(const std::filesystem::path& run_folder, const PreparedRun& run,
                                         int64_t first_epoch)
    : run_(run), first_epoch_(first_epoch), file_(run_folder, machine_of(run.experiment.training)) {}

void TensorBoardObserver::on_run_begin(const RunPlan&) {
  file_.append_start(first_epoch_);
  if (first_epoch_ > 1) return;  // an earlier file has the rest
  file_.append_summary(0, tensorboard::session_start(settings_of(run_.experiment)));
  file_.append_graph(graph_of(run_));
}

void TensorBoardObserver::on_epoch_end(const TrainingState& state, const EpochRow& row) {
  std::string summary = scalars_of(row);
  if (run_.experiment.training.tensorboard_histograms) {
    for (const auto& [name, tensor] : run_.trainer.optimizer().parameters()) {
      summary += histogram_of("weights/" + with_slashes(name), tensor);
      summary += histogram_of("gradients/" + with_slashes(name), tensor.grad());
    }
  }
  file_.append_summary(state.epoch, summary);
}

void TensorBoardObserver::on_run_end(const TrainingState& state) {
  if (state.exit_code == ExitCode::kDone)
    file_.append_summary(0, tensorboard::session_end(tensorboard::SessionEnd::kDone));
  sync();
}

void TensorBoardObserver::fail() {
  file_.append_summary(0, tensorboard::session_end(tensorboard::SessionEnd::kFailed));
  sync();
}

}  // namespace rnnlab
