#include "inference/evaluate_model.h"

#include <torch/cuda.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "training/evaluate.h"

namespace rnnlab {
namespace {

void wait_for_device(c10::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

double seconds_of_pass(c10::Device device, const std::function<void()>& pass) {
  wait_for_device(device);
  const auto began = std::chrono::steady_clock::now();
  pass();
  wait_for_device(device);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace

double PassTimes::median_seconds() const { return median(seconds); }

double PassTimes::samples_per_second() const { return static_cast<double>(num_samples) / median_seconds(); }

double PassTimes::microseconds_per_sample() const { return 1e6 / samples_per_second(); }

PassTimes time_passes(c10::Device device, int64_t num_samples, int64_t num_passes, const std::function<void()>& pass) {
  RNNLAB_INVARIANT(num_passes > 0, "no pass to time");
  PassTimes times{.num_samples = num_samples};
  for (int64_t i = 0; i < num_passes; ++i) times.seconds.push_back(seconds_of_pass(device, pass));
  return times;
}

std::string pass_times_text(const PassTimes& times) {
  const auto [least, most] = std::ranges::minmax(times.seconds);
  const std::string range = times.seconds.size() == 1 ? ""
                                                      : fmt::format(" ({} .. {} in {} passes)", format_seconds(least),
                                                                    format_seconds(most), times.seconds.size());
  return fmt::format("{}{}, {:.4g} samples/s, {:.4g} us a sample", format_seconds(times.median_seconds()), range,
                     times.samples_per_second(), times.microseconds_per_sample());
}

Objective objective_of(const TrainedModel& trained) {
  Dataset dataset;
  static_cast<FittedData&>(dataset) = trained.data;
  return {trained.experiment.training.loss, dataset, trained.device};
}

std::set<int64_t> untimed_batches(const Batches& batches) { return {0, batches.batches_per_epoch() - 1}; }

ModelEvaluation evaluate_model(const TrainedModel& trained, const Samples& samples, int64_t num_passes) {
  const TrainerOptions options = trained.options();
  auto batches = make_valid_batches(samples, options);
  RNNLAB_INVARIANT(batches, "nothing to evaluate on");
  const Objective objective = objective_of(trained);
  BatchLoop loop(*batches, 1, evaluation_work(*trained.model, objective, options.precision), Replay::kNever);
  for (const int64_t batch : untimed_batches(*batches)) {
    batches->start_epoch(0, batch);
    loop.next();
  }
  Totals totals;
  const PassTimes times = time_passes(options.device, samples.size(), num_passes,
                                      [&] { totals = evaluate(*trained.model, *batches, loop, options.device); });
  return {objective.metrics(totals), times};
}

}  // namespace rnnlab
