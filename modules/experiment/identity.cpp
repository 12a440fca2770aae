#include "experiment/identity.h"

#include <span>

#include "base/sha256.h"
#include "experiment/read_experiment.h"
#include "models/model_parameters.h"
#include "results/work_settings.h"

namespace rnnlab {
namespace {

std::string order_sha256(const at::Tensor& order) {
  return Sha256().update(std::span(static_cast<const std::byte*>(order.const_data_ptr()), order.nbytes())).hex();
}

}  // namespace

Identity make_identity(const RunStart& start) {
  const Experiment& e = start.experiment;
  const Environment& environment = start.environment;
  const WorkHashes hashes = work_hashes(effective_settings(e));
  return {.data_fingerprint = start.dataset.fingerprint,
          .batch_size = e.training.batch_size,
          .model_hash = hashes.model,
          .initial_weights_sha256 = weights_sha256(start.model),
          .order_sha256 = order_sha256(start.order),
          .training_hash = hashes.training,
          .placement = std::string(config::name_of(start.placement)),
          .precision = effective_precision(e.precision, start.device),
          .build_type = build_kind(environment.build),
          .cpu_model = environment.cpu.model,
          .num_threads = environment.num_threads,
          .gpu_model = gpu_model(environment.nvidia),
          .conditions = conditions_of(environment)};
}

}  // namespace rnnlab
