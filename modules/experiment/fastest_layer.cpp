#include "experiment/fastest_layer.h"

#include <torch/cuda.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "experiment/first_batch.h"
#include "training/cuda_graph.h"
#include "training/device_memory.h"
#include "training/train_step.h"

namespace rnnlab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmupPasses = 2;
constexpr int kTimedPasses = 9;
constexpr double kLongEnough = 2.0;  // seconds after which no further pass of a kind is timed

// In fp32, small factors of persistent have fewer digits; in tf32, hidden states of rnn_relu may overflow its float16:
// nobody is to get that unasked.
bool may_come_unasked(LayerKind kind, const RecurrentOptions& options, Precision precision) {
  if (!is_persistent(kind)) return true;
  const bool overflows = precision == Precision::kTf32 && options.cell == Cell::kRnnRelu;
  return precision != Precision::kFp32 && !overflows;
}

bool may_be_fastest(LayerKind kind) {
  constexpr std::array kBelowAnother = {LayerKind::kNaive, LayerKind::kGrouped, LayerKind::kStreamed,
                                        LayerKind::kPersistentClusters, LayerKind::kPersistentTeams};
  return std::ranges::find(kBelowAnother, kind) == kBelowAnother.end();
}

double seconds_of_pass(const std::function<void()>& pass, c10::Device device) {
  const auto began = Clock::now();
  pass();
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
  return std::chrono::duration<double>(Clock::now() - began).count();
}

double median_seconds(const std::function<void()>& pass, c10::Device device) {
  for (int i = 0; i < kWarmupPasses; ++i) seconds_of_pass(pass, device);
  std::vector<double> seconds;
  double sum = 0;
  while (std::ssize(seconds) < kTimedPasses && sum < kLongEnough) {
    seconds.push_back(seconds_of_pass(pass, device));
    sum += seconds.back();
  }
  std::ranges::nth_element(seconds, seconds.begin() + std::ssize(seconds) / 2);
  return seconds[seconds.size() / 2];
}

// A kind that cannot be captured trains without graphs too.
bool can_capture(CapturedWork& graph, const std::function<void()>& pass) {
  try {
    graph.capture(pass);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

double median_seconds_as_trained(const std::function<void()>& pass, const TrainerOptions& options) {
  if (!options.settings.cuda_graph || !options.device.is_cuda()) return median_seconds(pass, options.device);
  const std::unique_ptr<CapturedWork> graph = make_captured_work(options.device);
  if (!can_capture(*graph, pass)) return median_seconds(pass, options.device);
  return median_seconds([&] { graph->replay(); }, options.device);
}

// Some find out only when they run, by the GPU or the precision, that they cannot.
std::optional<double> seconds_if_able(const MeasureLayer& measure, LayerKind kind, std::optional<UserError>& refusal) {
  try {
    return measure(kind);
  } catch (const UserError& error) {
    if (error.exit_code() != ExitCode::kUsage) throw;
    refusal = error;
    return std::nullopt;
  }
}

}  // namespace

std::vector<LayerKind> candidates(const RecurrentOptions& options, Precision precision, Processor processor) {
  std::vector<LayerKind> able, promising;
  for (const LayerKind kind : layer_kinds())
    if (!refusal(kind, options) && !refusal(kind, processor) && may_come_unasked(kind, options, precision))
      able.push_back(kind);
  std::ranges::copy_if(able, std::back_inserter(promising), may_be_fastest);
  return promising.empty() ? able : promising;
}

FastestLayer fastest_of(const std::vector<LayerKind>& kinds, const MeasureLayer& measure) {
  RNNLAB_INVARIANT(!kinds.empty(), "layer: auto has nothing to choose from");
  if (kinds.size() == 1)
    return {kinds[0], fmt::format("layer: auto took {}, the only one that can", config::name_of(kinds[0]))};
  std::vector<std::string> times;
  std::optional<UserError> refusal;
  LayerKind fastest = kinds[0];
  double shortest = 0;
  for (const LayerKind kind : kinds) {
    const auto seconds = seconds_if_able(measure, kind, refusal);
    if (!seconds) continue;
    times.push_back(fmt::format("{} {}", config::name_of(kind), format_seconds(*seconds)));
    if (times.size() > 1 && *seconds >= shortest) continue;
    fastest = kind;
    shortest = *seconds;
  }
  if (times.empty()) throw *refusal;
  return {fastest,
          fmt::format("layer: auto took {}, by the time of a pass: {}", config::name_of(fastest), join(times, ", "))};
}

MeasureLayer measure_training(const Experiment& experiment, const Dataset& dataset, const TrainerOptions& options) {
  return [&experiment, &dataset, &options](LayerKind kind) {
    const auto model = make_model(experiment.model, {kind, experiment.cudnn_algorithm}, dataset.shape);
    model->to(options.device);
    model->train();
    const Batch batch = first_batch(dataset.train, options);
    const Objective objective(options.settings.loss, dataset, options.device);
    const auto pass = [&] {
      model->zero_grad();
      backpropagate(*model, batch, objective, options.precision);
    };
    const double seconds = median_seconds_as_trained(pass, options);
    release_cached_memory();
    return seconds;
  };
}

}  // namespace rnnlab
