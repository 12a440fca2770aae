// SPDX-License-Identifier: Apache-2.0
#include "train/loop/kernels/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>

#include "layers/kernels/launch.h"

namespace rnnlab::kernels {
namespace {

// Work on many tensors by one launch: each tensor is cut into pieces, and a block works on one piece. LibTorch's fused
// operators give a block 65,536 elements, so a network with one large weight leaves half of a large GPU idle.

constexpr size_t kTensorsAtOnce = 48;  // the limit of a launch's arguments

// `Tensor` must be a struct with an int64_t `size`.
template <class Tensor>
struct WorkList {
  Tensor tensors[kTensorsAtOnce];
  uint32_t first_block[kTensorsAtOnce + 1];
  uint32_t num_tensors;

  explicit WorkList(std::span<const Tensor> work) : num_tensors(static_cast<uint32_t>(work.size())) {
    std::copy(work.begin(), work.end(), tensors);
    first_block[0] = 0;
    for (size_t i = 0; i < work.size(); ++i) first_block[i + 1] = first_block[i] + num_blocks_for(work[i].size);
  }

  __host__ __device__ uint32_t num_blocks() const { return first_block[num_tensors]; }

  // Returns the index in the list of the tensor on which a block works.
  __device__ uint32_t tensor_of(uint32_t block) const {
    uint32_t low = 0, high = num_tensors;  // bisection keeps first_block[low] <= block < first_block[high]
    while (high - low > 1) {
      const uint32_t middle = (low + high) / 2;
      (first_block[middle] <= block ? low : high) = middle;
    }
    return low;
  }
};

// Calls `work` with successive lists of at most kTensorsAtOnce tensors.
template <class Tensor, class Work>
void for_each_list(std::span<const Tensor> tensors, const Work& work) {
  for (size_t first = 0; first < tensors.size(); first += kTensorsAtOnce)
    work(WorkList<Tensor>(tensors.subspan(first, std::min(kTensorsAtOnce, tensors.size() - first))));
}

constexpr int kOfThread = kPiece / kThreadsOfPiece;

// Returns the sum over the block in thread 0.
__device__ float block_sum(float value) {
  __shared__ float sums[kThreadsOfPiece / kLanes];
  value = warp_sum(value);
  if (threadIdx.x % kLanes == 0) sums[threadIdx.x / kLanes] = value;
  __syncthreads();
  if (threadIdx.x != 0) return 0.0F;
  for (uint32_t warp = 1; warp < kThreadsOfPiece / kLanes; ++warp) value += sums[warp];
  return value;
}

// Returns the GPU's clock in nanoseconds. Kernels of one GPU read the same clock.
__device__ int64_t now() {
  int64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

// Returns the sum of the squares of the block's values in thread 0.
__device__ float sum_of_squares(const float (&values)[kOfThread]) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kOfThread; ++i) sum += values[i] * values[i];
  return block_sum(sum);
}

// One thread of a kernel adds the time since the clock was read; `clock` may be null.
__device__ void add_elapsed(int64_t* clock) {
  if (clock != nullptr && blockIdx.x == 0 && threadIdx.x == 0) clock[1] += now() - clock[0];
}

__global__ void __launch_bounds__(kThreadsOfPiece)
    squares_kernel(const __grid_constant__ WorkList<NormTensor> list, float* parts, int64_t* clock) {
  wait_for_work_ahead();
  add_elapsed(clock);
  const uint32_t number = list.tensor_of(blockIdx.x);
  const NormTensor& tensor = list.tensors[number];
  const int64_t first = static_cast<int64_t>(blockIdx.x - list.first_block[number]) * kPiece + threadIdx.x;
  float values[kOfThread];
#pragma unroll
  for (int i = 0; i < kOfThread; ++i) {
    const int64_t place = first + i * static_cast<int64_t>(kThreadsOfPiece);
    values[i] = place < tensor.size ? tensor.values[place] : 0.0F;
  }
  const float sum = sum_of_squares(values);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

constexpr uint32_t kThreadsOfNorms = 1024;
constexpr uint32_t kWarpsOfNorm = 4;  // warps that add up the parts of one tensor

// Returns a thread's sum of the parts from `first` to `last`. It loads several at once, because a load takes long.
__device__ float sum_of_parts(const float* parts, uint32_t first, uint32_t last) {
  constexpr uint32_t kAtOnce = 8, kStride = kWarpsOfNorm * kLanes;
  float sum = 0;
  for (; first < last; first += kAtOnce * kStride) {
    float loaded[kAtOnce];
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i) loaded[i] = first + i * kStride < last ? parts[first + i * kStride] : 0.0F;
#pragma unroll
    for (const float part : loaded) sum += part;
  }
  return sum;
}

// One block writes the norms of all tensors of a list, and ends with a barrier.
__device__ void write_norms(const WorkList<NormTensor>& list, const float* parts, float* norms) {
  __shared__ float of_warps[kTensorsAtOnce][kWarpsOfNorm];
  const uint32_t lane = threadIdx.x % kLanes;
  for (uint32_t i = threadIdx.x / kLanes; i < list.num_tensors * kWarpsOfNorm; i += kThreadsOfNorms / kLanes) {
    const uint32_t number = i / kWarpsOfNorm, place = i % kWarpsOfNorm * kLanes + lane;
    const float sum = warp_sum(sum_of_parts(parts, list.first_block[number] + place, list.first_block[number + 1]));
    if (lane == 0) of_warps[number][i % kWarpsOfNorm] = sum;
  }
  __syncthreads();
  if (threadIdx.x < list.num_tensors) {
    float sum = 0;
    for (const float of_warp : of_warps[threadIdx.x]) sum += of_warp;
    norms[threadIdx.x] = sqrtf(sum);
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kThreadsOfNorms)
    norms_kernel(const __grid_constant__ WorkList<NormTensor> list, const float* parts, float* norms, int64_t* clock) {
  wait_for_work_ahead();
  add_elapsed(clock);
  write_norms(list, parts, norms);
}

// Calls finish(list, parts, norms, clock) for each list of tensors whose partial sums have been queued. Only the first
// kernel gets the clock.
template <class Finish>
void for_each_summed_list(const Norms& work, cudaStream_t stream, const Finish& finish) {
  float* parts = work.parts;
  float* norms = work.norms;
  int64_t* clock = work.clock;
  for_each_list(work.tensors, [&](const WorkList<NormTensor>& list) {
    if (list.num_blocks() > 0 && !work.has_parts)
      launch_dependent(squares_kernel, list.num_blocks(), kThreadsOfPiece, 0, stream, list, parts,
                       std::exchange(clock, nullptr));
    finish(list, parts, norms, std::exchange(clock, nullptr));
    parts += list.num_blocks();
    norms += list.num_tensors;
  });
}

}  // namespace

void run(const Norms& work, cudaStream_t stream) {
  for_each_summed_list(work, stream,
                       [&](const WorkList<NormTensor>& list, const float* parts, float* norms, int64_t* clock) {
                         launch_dependent(norms_kernel, 1, kThreadsOfNorms, 0, stream, list, parts, norms, clock);
                       });
  require_started("the kernel of gradients' norms");
}

namespace {

__device__ bool is_aligned(const CopiedTensor& tensor) {
  return (reinterpret_cast<uintptr_t>(tensor.from) | reinterpret_cast<uintptr_t>(tensor.to)) % sizeof(float4) == 0;
}

// One thread writes the numbers, because there are few.
__device__ void write_tail(const FillMessage& work) {
  work.tail[0] = *work.loss * work.factor;
  work.tail[1] = *work.weighted_loss * work.factor;
  work.tail[2] = *work.metric_sum;
  for (int64_t i = 0; i < work.num_ranks; ++i) work.tail[3 + i] = i == work.rank ? *work.request : 0.0F;
}

// The last block writes the tail, if there is one.
__global__ void __launch_bounds__(kThreadsOfPiece)
    fill_kernel(const __grid_constant__ WorkList<CopiedTensor> list, const __grid_constant__ FillMessage work) {
  wait_for_work_ahead();
  if (blockIdx.x == list.num_blocks()) {
    if (threadIdx.x == 0) write_tail(work);
    return;
  }
  const uint32_t number = list.tensor_of(blockIdx.x);
  const CopiedTensor& tensor = list.tensors[number];
  const int64_t first = static_cast<int64_t>(blockIdx.x - list.first_block[number]) * kPiece;
  if (is_aligned(tensor) && first + static_cast<int64_t>(kPiece) <= tensor.size) {
    const auto* from = reinterpret_cast<const float4*>(tensor.from + first);
    auto* to = reinterpret_cast<float4*>(tensor.to + first);
    for (uint32_t i = threadIdx.x; i < kPiece / 4; i += kThreadsOfPiece) to[i] = from[i];
    return;
  }
  const int64_t last = min(first + static_cast<int64_t>(kPiece), tensor.size);
  for (int64_t i = first + threadIdx.x; i < last; i += kThreadsOfPiece) tensor.to[i] = tensor.from[i];
}

}  // namespace

void run(const FillMessage& work, cudaStream_t stream) {
  FillMessage rest = work;
  const auto launch = [&](const WorkList<CopiedTensor>& list) {
    const uint32_t blocks = list.num_blocks() + (rest.tail == nullptr ? 0 : 1);
    if (blocks > 0) launch_dependent(fill_kernel, blocks, kThreadsOfPiece, 0, stream, list, rest);
    rest.tail = nullptr;  // only the first kernel writes it
  };
  if (work.tensors.empty())
    launch(WorkList<CopiedTensor>({}));
  else
    for_each_list(work.tensors, launch);
  require_started("the kernel of a message");
}

namespace {

struct Sources {
  const float* of_ranks[kMostSummed];
  int32_t num_ranks;
};

// A thread issues its loads of several ranks before it adds, because a load from another GPU takes long.
__global__ void __launch_bounds__(kThreadsOfPiece)
    sum_kernel(const __grid_constant__ WorkList<SummedPart> list, const __grid_constant__ Sources sources, float* sum) {
  wait_for_work_ahead();
  const uint32_t number = list.tensor_of(blockIdx.x);
  const SummedPart& part = list.tensors[number];
  const uint32_t piece = blockIdx.x - list.first_block[number];
  const int64_t first = static_cast<int64_t>(piece) * kPiece + threadIdx.x;
  const auto load = [&](int32_t rank, float* values) {
    const float* const source = sources.of_ranks[rank] + part.offset;
#pragma unroll
    for (int i = 0; i < kOfThread; ++i) {
      const int64_t place = first + i * static_cast<int64_t>(kThreadsOfPiece);
      values[i] = place < part.size ? source[place] : 0.0F;
    }
  };
  float values[kOfThread], others[kOfThread];
  load(0, values);
  for (int32_t rank = 1; rank < sources.num_ranks; ++rank) {
    load(rank, others);
#pragma unroll
    for (int i = 0; i < kOfThread; ++i) values[i] += others[i];
  }
#pragma unroll
  for (int i = 0; i < kOfThread; ++i) {
    const int64_t place = first + i * static_cast<int64_t>(kThreadsOfPiece);
    if (place < part.size) sum[part.offset + place] = values[i];
  }
  if (part.norm_parts == nullptr) return;
  const float squares = sum_of_squares(values);
  if (threadIdx.x == 0) part.norm_parts[piece] = squares;
}

}  // namespace

void run(const SumOfRanks& work, cudaStream_t stream) {
  Sources sources{.of_ranks = {}, .num_ranks = static_cast<int32_t>(work.num_ranks)};
  std::copy_n(work.sources, work.num_ranks, sources.of_ranks);
  for_each_list(work.parts, [&](const WorkList<SummedPart>& list) {
    if (list.num_blocks() > 0)
      launch_dependent(sum_kernel, list.num_blocks(), kThreadsOfPiece, 0, stream, list, sources, work.sum);
  });
  require_started("the kernel that adds up messages");
}

namespace {

__global__ void clock_kernel(int64_t* time) {
  wait_for_work_ahead();
  *time = now();
}

}  // namespace

void run(const ReadClock& work, cudaStream_t stream) {
  launch_dependent(clock_kernel, 1, 1, 0, stream, work.time);
  require_started("the kernel that reads the clock");
}

namespace {

// One warp calls this function, because a network has few parameter tensors.
__device__ void finish_row(const StepNumbers& work, int64_t num_norms) {
  const float firsts[kNumbersBeforeNorms] = {*work.loss, *work.weighted_loss, *work.metric_sum,
                                             work.skipped == nullptr ? 0.0F : *work.skipped};
  bool are_finite = true;
  for (const float number : firsts) are_finite &= static_cast<bool>(isfinite(number));
  float* norms = work.row + kNumbersBeforeNorms;
  float squares = 0;
  for (int64_t i = threadIdx.x; i < num_norms; i += kLanes) {
    if (firsts[3] != 0.0F) norms[i] = 0.0F;
    are_finite &= static_cast<bool>(isfinite(norms[i]));
    squares += norms[i] * norms[i];
  }
  squares = warp_sum(squares);
  are_finite = __all_sync(~0U, are_finite);
  if (threadIdx.x != 0) return;
  for (int i = 0; i < kNumbersBeforeNorms; ++i) work.row[i] = firsts[i];
  if (!are_finite) *work.found_inf = 1.0F;
  constexpr float kNoDivisionByZero = 1e-6F;
  if (work.clip_scale != nullptr) *work.clip_scale = fminf(work.max_norm / (sqrtf(squares) + kNoDivisionByZero), 1.0F);
}

// Computes the norms of the last list of tensors, and then the numbers of the step.
__global__ void __launch_bounds__(kThreadsOfNorms)
    step_numbers_kernel(const __grid_constant__ WorkList<NormTensor> list, const float* parts, float* norms,
                        int64_t* clock, const StepNumbers work, int64_t num_norms) {
  wait_for_work_ahead();
  add_elapsed(clock);
  write_norms(list, parts, norms);
  if (threadIdx.x < kLanes) finish_row(work, num_norms);
}

}  // namespace

void run(const StepNumbers& work, cudaStream_t stream) {
  const int64_t num_norms = std::ssize(work.gradients.tensors);
  const float* end = work.gradients.norms + num_norms;
  for_each_summed_list(work.gradients, stream,
                       [&](const WorkList<NormTensor>& list, const float* parts, float* norms, int64_t* clock) {
                         if (norms + list.num_tensors < end)
                           launch_dependent(norms_kernel, 1, kThreadsOfNorms, 0, stream, list, parts, norms, clock);
                         else
                           launch_dependent(step_numbers_kernel, 1, kThreadsOfNorms, 0, stream, list, parts, norms,
                                            clock, work, num_norms);
                       });
  require_started("the kernel of a step's numbers");
}

namespace {

// The kernel's time is that of reading and writing the four tensors, so a thread issues all its loads at once.
constexpr int kVectorsOfThread = kPiece / kThreadsOfPiece / 4;

struct AdamNumbers {
  float* step;
  uint32_t* num_ended;
  const float* learning_rate;
  const float* found_inf;
  const float* gradient_scale;
  float beta1, beta2, epsilon, weight_decay;
  float new_part1, new_part2;  // 1 - beta, rounded once
  float log_beta1, log_beta2;
  Decay decay;
};

// The factors that the update of every element shares.
struct UpdateFactors {
  float beta1, beta2, new_part1, new_part2, epsilon;
  float gradient_scale;
  float step_size;           // rate over the bias correction of the mean
  float root_of_correction;  // root of the bias correction of the square
  float decay_of_gradient, decay_of_weight;
};

// The function computes 1 - beta^step with expm1, which keeps all digits if the power is close to 1.
__device__ UpdateFactors factors_of(const AdamNumbers& numbers) {
  const float step = *numbers.step + 1.0F, rate = *numbers.learning_rate;
  const bool is_of_weight = numbers.decay == Decay::kOfWeight;
  return {numbers.beta1,
          numbers.beta2,
          numbers.new_part1,
          numbers.new_part2,
          numbers.epsilon,
          numbers.gradient_scale == nullptr ? 1.0F : *numbers.gradient_scale,
          rate / -expm1f(step * numbers.log_beta1),
          sqrtf(-expm1f(step * numbers.log_beta2)),
          is_of_weight ? 0.0F : numbers.weight_decay,
          is_of_weight ? rate * numbers.weight_decay : 0.0F};
}

__device__ void update(const UpdateFactors& factors, float& weight, float gradient, float& mean, float& square) {
  gradient = __fmul_rn(gradient, factors.gradient_scale);  // rounded as if the gradients themselves were scaled
  gradient += factors.decay_of_gradient * weight;
  weight -= factors.decay_of_weight * weight;
  mean = factors.beta1 * mean + factors.new_part1 * gradient;
  square = factors.beta2 * square + factors.new_part2 * gradient * gradient;
  weight -= factors.step_size * mean / (sqrtf(square) / factors.root_of_correction + factors.epsilon);
}

__device__ bool is_aligned(const AdamTensor& tensor) {
  const auto bits = reinterpret_cast<uintptr_t>(tensor.weight) | reinterpret_cast<uintptr_t>(tensor.gradient) |
                    reinterpret_cast<uintptr_t>(tensor.mean) | reinterpret_cast<uintptr_t>(tensor.square);
  return bits % sizeof(float4) == 0;
}

__device__ float4* vector_at(float* data, int64_t index) { return reinterpret_cast<float4*>(data + index); }

// Updates a whole piece, from element `first` on.
__device__ void update_vectors(const UpdateFactors& factors, const AdamTensor& tensor, int64_t first) {
  float4 weight[kVectorsOfThread], gradient[kVectorsOfThread], mean[kVectorsOfThread], square[kVectorsOfThread];
  const auto place = [&](int i) { return first + 4 * (i * static_cast<int64_t>(kThreadsOfPiece) + threadIdx.x); };
#pragma unroll
  for (int i = 0; i < kVectorsOfThread; ++i) {
    weight[i] = *vector_at(tensor.weight, place(i));
    gradient[i] = *reinterpret_cast<const float4*>(tensor.gradient + place(i));
    mean[i] = *vector_at(tensor.mean, place(i));
    square[i] = *vector_at(tensor.square, place(i));
  }
#pragma unroll
  for (int i = 0; i < kVectorsOfThread; ++i) {
    update(factors, weight[i].x, gradient[i].x, mean[i].x, square[i].x);
    update(factors, weight[i].y, gradient[i].y, mean[i].y, square[i].y);
    update(factors, weight[i].z, gradient[i].z, mean[i].z, square[i].z);
    update(factors, weight[i].w, gradient[i].w, mean[i].w, square[i].w);
    *vector_at(tensor.weight, place(i)) = weight[i];
    *vector_at(tensor.mean, place(i)) = mean[i];
    *vector_at(tensor.square, place(i)) = square[i];
  }
}

__device__ void update_one_by_one(const UpdateFactors& factors, const AdamTensor& tensor, int64_t first) {
  const int64_t last = min(first + static_cast<int64_t>(kPiece), tensor.size);
  for (int64_t i = first + threadIdx.x; i < last; i += kThreadsOfPiece)
    update(factors, tensor.weight[i], tensor.gradient[i], tensor.mean[i], tensor.square[i]);
}

// The last block to end counts the update, because all blocks have read the count by then. num_ended becomes 0 again.
__device__ void count_step(const AdamNumbers& numbers) {
  __syncthreads();
  if (threadIdx.x == 0 && atomicInc(numbers.num_ended, gridDim.x - 1) == gridDim.x - 1) *numbers.step += 1.0F;
}

// counts: whether this is the last list of an update.
__global__ void __launch_bounds__(kThreadsOfPiece)
    adam_kernel(const __grid_constant__ WorkList<AdamTensor> list, const __grid_constant__ AdamNumbers numbers,
                bool counts) {
  wait_for_work_ahead();
  if (numbers.found_inf != nullptr && *numbers.found_inf != 0.0F) return;
  const uint32_t number = list.tensor_of(blockIdx.x);
  const AdamTensor& tensor = list.tensors[number];
  const int64_t first = static_cast<int64_t>(blockIdx.x - list.first_block[number]) * kPiece;
  const UpdateFactors factors = factors_of(numbers);
  if (is_aligned(tensor) && first + static_cast<int64_t>(kPiece) <= tensor.size)
    update_vectors(factors, tensor, first);
  else
    update_one_by_one(factors, tensor, first);
  if (counts) count_step(numbers);
}

AdamNumbers numbers_of(const AdamUpdate& update) {
  return {.step = update.step,
          .num_ended = update.num_ended,
          .learning_rate = update.learning_rate,
          .found_inf = update.found_inf,
          .gradient_scale = update.gradient_scale,
          .beta1 = static_cast<float>(update.beta1),
          .beta2 = static_cast<float>(update.beta2),
          .epsilon = static_cast<float>(update.epsilon),
          .weight_decay = static_cast<float>(update.weight_decay),
          .new_part1 = static_cast<float>(1 - update.beta1),
          .new_part2 = static_cast<float>(1 - update.beta2),
          .log_beta1 = static_cast<float>(std::log(update.beta1)),
          .log_beta2 = static_cast<float>(std::log(update.beta2)),
          .decay = update.decay};
}

}  // namespace

void run(const AdamUpdate& update, cudaStream_t stream) {
  const AdamNumbers numbers = numbers_of(update);
  size_t num_left = update.tensors.size();
  for_each_list(update.tensors, [&](const WorkList<AdamTensor>& list) {
    num_left -= list.num_tensors;
    const bool is_last = num_left == 0;
    if (list.num_blocks() > 0)
      launch_dependent(adam_kernel, list.num_blocks(), kThreadsOfPiece, 0, stream, list, numbers, is_last);
  });
  require_started("Adam's kernel");
}

}  // namespace rnnlab::kernels
