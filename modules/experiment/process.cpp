#include "experiment/process.h"

#include "base/error.h"
#include "experiment/device.h"
#include "recurrent/gpu_support.h"
#include "training/determinism.h"

namespace rnnlab {

void require_runs_on(const Experiment& experiment, c10::Device device) {
  if (const auto reason = refusal(computed_layer(experiment), device)) throw_error(ExitCode::kUsage, "{}", *reason);
  if (is_persistent(computed_layer(experiment)) && device.is_cuda())
    if (const auto reason = refusal_of_size(computed_layer(experiment), experiment.model.hidden_size, gpu_of(device)))
      throw_error(ExitCode::kUsage, "{}", *reason);
  if (const auto reason = refusal_on_cpu(experiment.precision); reason && device.is_cpu())
    throw_error(ExitCode::kUsage, "{}", *reason);
}

void set_up_process(const Experiment& experiment) {
  set_num_threads(experiment.training.num_threads);
  set_determinism(experiment.deterministic ? Determinism::kOn : Determinism::kOff);
  set_precision(experiment.precision);
}

TrainerOptions trainer_options(const Experiment& experiment, c10::Device device) {
  return {.settings = experiment.training,
          .seed = static_cast<uint64_t>(experiment.seed),
          .device = device,
          .precision = experiment.precision,
          .placement = experiment.data.placement};
}

}  // namespace rnnlab
