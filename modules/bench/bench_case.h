// One point of the grid of `rnnlab bench`: all values that are equal for the layers compared there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/bench_settings.h"
#include "recurrent/recurrent_options.h"

namespace rnnlab {

struct BenchCase {
  std::string device = "cpu";  // as the user wrote it
  BenchMode mode = BenchMode::kEager;
  Precision precision = Precision::kFp32;
  RecurrentOptions options;
  int64_t batch_size = 1;
  int64_t num_steps = 1;
};

// Returns every combination, device slowest and num_layers fastest, in the order of the settings' keys.
std::vector<BenchCase> expand(const BenchSettings& settings);

// Returns "cuda graph fp32 lstm H 512 B 64 T 100 L 4"; with "I 28" if the inputs differ from H, and with
// "bidirectional".
std::string to_string(const BenchCase& combination);

// ---- lower bounds of one pass ----

// Returns the multiplications and additions of the products of one forward pass. The backward pass for the data (inputs
// and states) and that for the weights have the same number each. Point-wise work is left out, because it is below 1 %
// at H 128 and less at larger H.
double forward_flops(const BenchCase& combination);

// The bytes that must go through memory if all other values stay on the chip, each counted once: weights, the inputs
// and outputs of every layer, and the gates, which training keeps for its backward pass.
struct LeastBytes {
  double forward = 0;           // reads weights and inputs, writes outputs and gates
  double backward_data = 0;     // reads weights, gates and output gradients, writes gate and input gradients
  double backward_weights = 0;  // reads gate gradients, inputs and outputs, writes weight gradients
};
LeastBytes least_bytes(const BenchCase& combination);

// Returns the cell steps of a pass: T * L, or twice as many for both directions.
int64_t num_layer_steps(const BenchCase& combination);

}  // namespace rnnlab
