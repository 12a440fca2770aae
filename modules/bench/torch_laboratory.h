// The real laboratory: LibTorch on this machine.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "bench/laboratory.h"
#include "bench/layer_programs.h"
#include "results/epoch_witness.h"

namespace rnnlab {

class TorchLaboratory : public Laboratory {
 public:
  // Draws by settings.seed, and sets the number of threads of this process.
  explicit TorchLaboratory(const BenchSettings& settings);

  void begin(const Combination& combination) override;
  std::string device() const override;
  std::unique_ptr<LayerRunner> make_runner(LayerKind layer) override;
  Ceiling measure_ceiling() override;
  void begin_sampling() override;
  SamplingRecord end_sampling() override;
  Inspection inspect(LayerKind layer) override;

 private:
  std::vector<Warning> waiting_during(double wall_seconds, const EpochEvidence& seen) const;

  uint64_t seed_;
  std::vector<std::string> memory_warnings_;  // of the combination
  std::optional<Problem> problem_;
  EpochWitness witness_;
  std::chrono::steady_clock::time_point sampling_began_;
  std::unique_ptr<CapturedWork> graph_memory_;  // captures nothing itself
};

}  // namespace rnnlab
