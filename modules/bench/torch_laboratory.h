// The real laboratory: LibTorch on this machine.
#pragma once

#include <memory>
#include <optional>

#include "bench/laboratory.h"
#include "bench/layer_programs.h"

namespace rnnlab {

class TorchLaboratory : public Laboratory {
 public:
  // Draws by settings.seed, and sets the number of threads of this process.
  explicit TorchLaboratory(const BenchSettings& settings);

  void begin(const Combination& combination) override;
  std::string device() const override;
  std::unique_ptr<LayerRunner> make_runner(LayerKind layer) override;
  Ceiling measure_ceiling() override;
  std::vector<Warning> doubts() override;
  Inspection inspect(LayerKind layer) override;

 private:
  uint64_t seed_;
  std::vector<std::string> memory_warnings_;  // of the combination
  std::optional<Problem> problem_;
  std::unique_ptr<CapturedWork> graph_memory_;  // captures nothing itself
};

}  // namespace rnnlab
