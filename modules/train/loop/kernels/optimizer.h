// SPDX-License-Identifier: Apache-2.0
// Kernels of the end of a training step, in float32: messages to other processes and their sums, the norms of the
// gradients, the numbers of the step, and the update of all parameters by Adam. The order of addition is fixed.
#pragma once

#include <cstdint>
#include <span>

struct CUstream_st;  // what cudaStream_t points to

namespace rnnlab::kernels {

// Kernels on many tensors cut each tensor into pieces; a block works on one piece.
inline constexpr uint32_t kThreadsOfPiece = 256;
inline constexpr uint32_t kPiece = 8 * kThreadsOfPiece;  // number of elements
inline uint32_t num_blocks_for(int64_t size) { return static_cast<uint32_t>((size + kPiece - 1) / kPiece); }

// The Euclidean norms of many tensors.
struct NormTensor {
  const float* values = nullptr;
  int64_t size = 0;
};

// Returns the number of floats that Norms::parts must have for these tensors.
inline int64_t num_norm_parts(std::span<const NormTensor> tensors) {
  int64_t parts = 0;
  for (const NormTensor& tensor : tensors) parts += num_blocks_for(tensor.size);
  return parts;
}

struct Norms {
  std::span<const NormTensor> tensors;
  float* parts = nullptr;  // partial sums
  float* norms = nullptr;  // (tensors)
  // (2) or null: the GPU's clock at an earlier time, in nanoseconds, and a sum to which the time since then is added
  int64_t* clock = nullptr;
  bool has_parts = false;  // SumOfRanks has computed `parts`
};

// Writes a message to other processes: copies of tensors, and, if `tail` is not null, numbers of the step.
struct CopiedTensor {
  const float* from = nullptr;
  float* to = nullptr;
  int64_t size = 0;
};

struct FillMessage {
  std::span<const CopiedTensor> tensors;
  float* tail = nullptr;        // (3 + num_ranks), or null: the two losses, the metric, the request of each rank
  const float* loss = nullptr;  // ()
  const float* weighted_loss = nullptr;  // ()
  const float* metric_sum = nullptr;     // ()
  float factor = 1.0F;                   // of both losses
  const float* request = nullptr;        // (), of this rank; that of another rank is 0
  int64_t rank = 0;
  int64_t num_ranks = 0;
};

// Adds up the messages of several processes, in the order of their ranks; messages may be in the memory of other GPUs.
// Also computes the partial sums for the norms of the gradients in the sum, with the bits that Norms gives them.
inline constexpr int64_t kMostSummed = 8;

struct SummedPart {
  int64_t offset = 0;  // in each message
  int64_t size = 0;
  float* norm_parts = nullptr;  // (num_blocks_for(size)), or null
};

struct SumOfRanks {
  const float* sources[kMostSummed] = {};
  int64_t num_ranks = 0;
  float* sum = nullptr;               // none of the sources
  std::span<const SummedPart> parts;  // what to add up
};

// Reads the GPU's clock, in nanoseconds.
struct ReadClock {
  int64_t* time = nullptr;  // ()
};

// Computes the numbers of a step and the norms of its gradients by two kernels (LibTorch launches a dozen): the step's
// row, whether all numbers are finite, and the factor by which clipping scales the gradients.
inline constexpr int64_t kNumbersBeforeNorms = 4;

struct StepNumbers {
  Norms gradients;                       // their `norms` are in the row
  const float* loss = nullptr;           // ()
  const float* weighted_loss = nullptr;  // ()
  const float* metric_sum = nullptr;     // ()
  const float* skipped = nullptr;        // () or null: if it is not 0, all norms count as 0
  float* row = nullptr;                  // (kNumbersBeforeNorms + number of gradients): these numbers, then the norms
  float* found_inf = nullptr;            // () set to 1 if a number of the row is not finite
  float max_norm = 0.0F;                 // of all gradients together
  float* clip_scale = nullptr;           // () written, or null: min(1, max_norm / (norm of all + 1e-6))
};

// Updates all parameters with Adam or AdamW by one kernel, with the formulas of LibTorch's fused operators.
struct AdamTensor {
  float* weight = nullptr;
  const float* gradient = nullptr;
  float* mean = nullptr;
  float* square = nullptr;
  int64_t size = 0;  // number of elements; all four arrays have the same order
};

enum class Decay { kOfGradient, kOfWeight };  // Adam, AdamW

struct AdamUpdate {
  std::span<const AdamTensor> tensors;
  float* step = nullptr;                  // () count of updates, which the kernel increments
  uint32_t* num_ended = nullptr;          // () of the kernel's blocks: 0 before and after an update
  const float* learning_rate = nullptr;   // ()
  const float* found_inf = nullptr;       // () or null: if it is not 0, nothing changes
  const float* gradient_scale = nullptr;  // () or null: factor of the gradients
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  Decay decay = Decay::kOfGradient;
};

// Queue the work on `stream`. Throw std::runtime_error with CUDA's message if a launch fails.
void run(const Norms& work, CUstream_st* stream);
void run(const FillMessage& work, CUstream_st* stream);
void run(const SumOfRanks& work, CUstream_st* stream);
void run(const ReadClock& work, CUstream_st* stream);
void run(const StepNumbers& work, CUstream_st* stream);
void run(const AdamUpdate& update, CUstream_st* stream);

}  // namespace rnnlab::kernels
