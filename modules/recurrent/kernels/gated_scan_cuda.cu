// Each thread runs over all steps of one unit of a sequence. Neighbours in a warp are neighbours in memory. The
// operands of the next steps are loaded before the current operands are used: with 32,768 threads, this keeps the
// memory busy.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <type_traits>

#include "recurrent/kernels/gated_scan.h"

// A compilation unit may contain sources of several kernels, so these helpers have their own namespace.
namespace rnnlab::kernels {
namespace {
namespace gated_scan {

constexpr int kThreadsOfScan = 64;
constexpr int kStepsAhead = 8;

template <class T>
using RealOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

__device__ inline float exponential(float x) { return __expf(x); }
__device__ inline double exponential(double x) { return exp(x); }

template <class Real>
__device__ Real sigmoid_of(Real x) {
  return Real(1) / (Real(1) + exponential(-x));
}

// Returns log sigmoid(x), which is finite for every finite x.
template <class Real>
__device__ Real log_sigmoid_of(Real x) {
  return fmin(x, Real(0)) - log1p(exponential(-fabs(x)));
}

// Holds the rows of the sums before activation, or their gradients.
template <class Real, int kGates>
struct Sums {
  Real values[kGates];
};

// Holds a and 1 - a, each with all its digits.
template <class Real>
struct Factors {
  Real keep, take;
};

template <class Real>
__device__ Factors<Real> factors_of(const Sums<Real, 2>& sums) {
  return {sigmoid_of(-sums.values[0]), sigmoid_of(sums.values[0])};
}
template <class Real>
__device__ Factors<Real> factors_of(const Sums<Real, 3>& sums) {
  const Real logit = log_sigmoid_of(sums.values[1]) - log_sigmoid_of(sums.values[0]);
  return {sigmoid_of(logit), sigmoid_of(-logit)};
}

// Converts the gradient of a's logit to the gradients of the gates' sums.
template <class Real>
__device__ void spread(Real gradient, const Sums<Real, 2>&, Sums<Real, 2>& gradients) {
  gradients.values[0] = -gradient;
}
template <class Real>
__device__ void spread(Real gradient, const Sums<Real, 3>& sums, Sums<Real, 3>& gradients) {
  gradients.values[0] = -gradient * sigmoid_of(-sums.values[0]);
  gradients.values[1] = gradient * sigmoid_of(-sums.values[1]);
}

template <class Real>
struct CandidateOf {
  Real value, slope;
};

template <class Real>
__device__ CandidateOf<Real> candidate_of(Real x, bool is_positive) {
  if (!is_positive) return {x, Real(1)};
  if (x >= Real(0)) return {x + Real(0.5), Real(1)};
  const Real value = sigmoid_of(x);
  return {value, value * (Real(1) - value)};
}

// Returns positions of a thread's unit in the tensors.
template <class T, int kGates>
struct Place {
  __device__ Place(const GatedScan& scan, int64_t channel)
      : scan_(scan), channel_(channel), row_(channel / scan.hidden_size), unit_(channel % scan.hidden_size) {}

  // Returns the step that is number `i` in the scan, from 0.
  __device__ int64_t step(int64_t i) const { return scan_.is_reversed ? scan_.num_steps - 1 - i : i; }
  __device__ int64_t state(int64_t i) const { return step(i) * scan_.batch_size * scan_.hidden_size + channel_; }
  __device__ int64_t sum(int64_t i, int gate) const {
    return ((step(i) * scan_.batch_size + row_) * kGates + gate) * scan_.hidden_size + unit_;
  }
  __device__ bool is_alive(int64_t i) const {
    return scan_.alive == nullptr || scan_.alive[step(i) * scan_.batch_size + row_];
  }

 private:
  const GatedScan& scan_;
  int64_t channel_, row_, unit_;
};

template <class T>
__device__ RealOf<T> value_at(const void* data, int64_t index) {
  return static_cast<RealOf<T>>(static_cast<const T*>(data)[index]);
}
template <class T>
__device__ void put(void* data, int64_t index, RealOf<T> value) {
  static_cast<T*>(data)[index] = static_cast<T>(value);
}

template <class T, int kGates>
__device__ Sums<RealOf<T>, kGates> sums_at(const GatedScan& scan, const Place<T, kGates>& place, int64_t i) {
  Sums<RealOf<T>, kGates> sums;
#pragma unroll
  for (int gate = 0; gate < kGates; ++gate) sums.values[gate] = value_at<T>(scan.sums, place.sum(i, gate));
  return sums;
}

template <class T, int kGates>
__global__ void __launch_bounds__(kThreadsOfScan) forward_kernel(const __grid_constant__ GatedScanForward work) {
  using Real = RealOf<T>;
  const GatedScan& scan = work.scan;
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * kThreadsOfScan + threadIdx.x;
  if (channel >= scan.batch_size * scan.hidden_size) return;
  const Place<T, kGates> place(scan, channel);
  Real state = value_at<T>(scan.initial, channel);
  Sums<Real, kGates> next[kStepsAhead];
#pragma unroll
  for (int j = 0; j < kStepsAhead; ++j)
    if (j < scan.num_steps) next[j] = sums_at<T, kGates>(scan, place, j);
  for (int64_t first = 0; first < scan.num_steps; first += kStepsAhead) {
    Sums<Real, kGates> sums[kStepsAhead];
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j) sums[j] = next[j];
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j)
      if (first + kStepsAhead + j < scan.num_steps) next[j] = sums_at<T, kGates>(scan, place, first + kStepsAhead + j);
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j) {
      if (first + j >= scan.num_steps) break;
      const Factors<Real> factors = factors_of(sums[j]);
      const Real candidate = candidate_of(sums[j].values[kGates - 1], scan.has_positive_candidate).value;
      if (place.is_alive(first + j)) state = factors.keep * state + factors.take * candidate;
      put<T>(work.states, place.state(first + j), state);
    }
  }
}

// Holds the operands of one step of the backward pass.
template <class Real, int kGates>
struct StepOperands {
  Sums<Real, kGates> sums;
  Real previous, gradient;
};

template <class T, int kGates>
__device__ StepOperands<RealOf<T>, kGates> operands_at(const GatedScanBackward& work, const Place<T, kGates>& place,
                                                       int64_t channel, int64_t i) {
  return {sums_at<T, kGates>(work.scan, place, i),
          i == 0 ? value_at<T>(work.scan.initial, channel) : value_at<T>(work.states, place.state(i - 1)),
          value_at<T>(work.state_gradients, place.state(i))};
}

template <class T, int kGates>
__global__ void __launch_bounds__(kThreadsOfScan) backward_kernel(const __grid_constant__ GatedScanBackward work) {
  using Real = RealOf<T>;
  const GatedScan& scan = work.scan;
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * kThreadsOfScan + threadIdx.x;
  if (channel >= scan.batch_size * scan.hidden_size) return;
  const Place<T, kGates> place(scan, channel);
  const int64_t last = scan.num_steps - 1;  // steps are in reverse order: number j is last - j
  Real carry = 0;                           // the gradient of the state that a later step read
  StepOperands<Real, kGates> next[kStepsAhead];
#pragma unroll
  for (int j = 0; j < kStepsAhead; ++j)
    if (j <= last) next[j] = operands_at<T, kGates>(work, place, channel, last - j);
  for (int64_t first = 0; first <= last; first += kStepsAhead) {
    StepOperands<Real, kGates> operands[kStepsAhead];
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j) operands[j] = next[j];
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j)
      if (first + kStepsAhead + j <= last)
        next[j] = operands_at<T, kGates>(work, place, channel, last - (first + kStepsAhead + j));
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j) {
      if (first + j > last) break;
      const int64_t i = last - (first + j);
      const Real gradient = operands[j].gradient + carry;
      Sums<Real, kGates> gradients = {};
      if (place.is_alive(i)) {
        const Sums<Real, kGates>& sums = operands[j].sums;
        const Factors<Real> factors = factors_of(sums);
        const CandidateOf<Real> candidate = candidate_of(sums.values[kGates - 1], scan.has_positive_candidate);
        spread(gradient * (operands[j].previous - candidate.value) * factors.keep * factors.take, sums, gradients);
        gradients.values[kGates - 1] = gradient * factors.take * candidate.slope;
        carry = gradient * factors.keep;
      } else {
        carry = gradient;
      }
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) put<T>(work.sum_gradients, place.sum(i, gate), gradients.values[gate]);
    }
  }
  put<T>(work.initial_gradient, channel, carry);
}

template <class T>
void start(const GatedScanForward& work, unsigned num_blocks, cudaStream_t stream) {
  if (work.scan.gates == ScanGates::kUpdateGate)
    forward_kernel<T, 2><<<num_blocks, kThreadsOfScan, 0, stream>>>(work);
  else
    forward_kernel<T, 3><<<num_blocks, kThreadsOfScan, 0, stream>>>(work);
}

template <class T>
void start(const GatedScanBackward& work, unsigned num_blocks, cudaStream_t stream) {
  if (work.scan.gates == ScanGates::kUpdateGate)
    backward_kernel<T, 2><<<num_blocks, kThreadsOfScan, 0, stream>>>(work);
  else
    backward_kernel<T, 3><<<num_blocks, kThreadsOfScan, 0, stream>>>(work);
}

template <class T, class Work>
void launch(const Work& work, cudaStream_t stream) {
  const int64_t num_channels = work.scan.batch_size * work.scan.hidden_size;
  start<T>(work, static_cast<unsigned>((num_channels + kThreadsOfScan - 1) / kThreadsOfScan), stream);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess)
    throw std::runtime_error(std::string("the kernel of layer: scan did not start: ") + cudaGetErrorString(error) +
                             "; `rnnlab info` shows what this machine can do");
}

template <class Work>
void launch_typed(const Work& work, cudaStream_t stream) {
  switch (work.scan.type) {
    case ElementType::kFloat32:
      return launch<float>(work, stream);
    case ElementType::kFloat64:
      return launch<double>(work, stream);
    case ElementType::kFloat16:
      return launch<__half>(work, stream);
    case ElementType::kBfloat16:
      return launch<__nv_bfloat16>(work, stream);
  }
}

}  // namespace gated_scan
}  // namespace

void run(const GatedScanForward& work, cudaStream_t stream) { gated_scan::launch_typed(work, stream); }
void run(const GatedScanBackward& work, cudaStream_t stream) { gated_scan::launch_typed(work, stream); }

}  // namespace rnnlab::kernels
