#include "training/determinism.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <cstdlib>

#include "base/split_mix64.h"

namespace rnnlab {

void set_environment_for_determinism() { setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0); }

void set_determinism(Determinism determinism) {
  const bool on = determinism == Determinism::kOn;
  auto& context = at::globalContext();
  context.setDeterministicAlgorithms(on, /*warn_only=*/false);
  context.setDeterministicCuDNN(on);
  context.setDeterministicMkldnn(on);
  context.setBenchmarkCuDNN(false);
  // Filling what nobody reads would only cost time: no operation here reads memory that it has not written.
  context.setDeterministicFillUninitializedMemory(false);
}

void set_num_threads(std::optional<int64_t> num_threads) {
  static const int default_threads = at::get_num_threads();
  at::set_num_threads(num_threads ? static_cast<int>(*num_threads) : default_threads);
}

void seed_dropout(uint64_t seed, int64_t epoch) {
  // The step spreads neighbouring epochs over all bits.
  at::manual_seed(seed ^ (static_cast<uint64_t>(epoch) * SplitMix64::kStep));
}

}  // namespace rnnlab
