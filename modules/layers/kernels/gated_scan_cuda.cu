// SPDX-License-Identifier: Apache-2.0
// Each thread runs over all steps of one unit of a sequence. Neighbours in a warp are neighbours in memory. The
// operands of the next steps are loaded before the current operands are used: with 32,768 threads, this keeps the
// memory busy.
#include "layers/kernels/gated_scan.h"
#include "layers/kernels/launch.h"

// A compilation unit may contain sources of several kernels, so these helpers have their own namespace.
namespace rnnlab::kernels {
namespace {
namespace gated_scan {

constexpr int kThreadsOfScan = 64;
constexpr int kStepsAhead = 8;

__device__ inline float exponential(float x) { return __expf(x); }
__device__ inline double exponential(double x) { return exp(x); }

__device__ inline float quotient(float a, float b) { return __fdividef(a, b); }
__device__ inline double quotient(double a, double b) { return a / b; }

template <class Real>
__device__ Real sigmoid_of(Real x) {
  return quotient(Real(1), Real(1) + exponential(-x));
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

// Returns f / (f + i) and i / (f + i) of the two sigmoids. The largest exponential is 1: none overflows, and gates that
// both round to 0 still have a quotient.
template <class Real>
__device__ Factors<Real> factors_of(const Sums<Real, 3>& sums) {
  const Real i = -sums.values[0], f = -sums.values[1];
  const Real largest = fmax(fmax(i, f), Real(0));
  const Real one = exponential(-largest);
  const Real of_i = one + exponential(i - largest), of_f = one + exponential(f - largest);
  const Real scale = quotient(Real(1), of_i + of_f);
  return {of_i * scale, of_f * scale};
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
  const Real below = sigmoid_of(x);
  const bool is_line = !is_positive || x >= Real(0);
  const Real line = is_positive ? x + Real(0.5) : x;
  return {is_line ? line : below, is_line ? Real(1) : below * (Real(1) - below)};
}

// Returns positions of a thread's unit in the tensors, by the number of the step in the order of the scan, from 0.
template <int kGates>
class Place {
 public:
  __device__ Place(const GatedScan& scan, int64_t channel) : alive_(scan.alive), hidden_size_(scan.hidden_size) {
    const int64_t row = channel / scan.hidden_size, unit = channel % scan.hidden_size;
    const int64_t first_step = scan.is_reversed ? scan.num_steps - 1 : 0, way = scan.is_reversed ? -1 : 1;
    first_state_ = first_step * scan.batch_size * scan.hidden_size + channel;
    state_stride_ = way * scan.batch_size * scan.hidden_size;
    first_sum_ = (first_step * scan.batch_size + row) * kGates * scan.hidden_size + unit;
    sum_stride_ = kGates * state_stride_;
    first_alive_ = first_step * scan.batch_size + row;
    alive_stride_ = way * scan.batch_size;
  }

  __device__ int64_t state(int64_t i) const { return first_state_ + i * state_stride_; }
  __device__ int64_t sum(int64_t i, int gate) const { return first_sum_ + i * sum_stride_ + gate * hidden_size_; }
  __device__ bool is_alive(int64_t i) const { return alive_ == nullptr || alive_[first_alive_ + i * alive_stride_]; }

 private:
  const bool* alive_;
  int64_t hidden_size_, first_state_, state_stride_, first_sum_, sum_stride_, first_alive_, alive_stride_;
};

// Loads without a conversion, which would wait for the memory.
template <class T, int kGates>
__device__ Sums<T, kGates> sums_at(const GatedScan& scan, const Place<kGates>& place, int64_t i) {
  Sums<T, kGates> sums;
#pragma unroll
  for (int gate = 0; gate < kGates; ++gate) sums.values[gate] = static_cast<const T*>(scan.sums)[place.sum(i, gate)];
  return sums;
}

template <class T, int kGates>
__device__ Sums<Accumulation<T>, kGates> converted(const Sums<T, kGates>& loaded) {
  Sums<Accumulation<T>, kGates> sums;
#pragma unroll
  for (int gate = 0; gate < kGates; ++gate) sums.values[gate] = static_cast<Accumulation<T>>(loaded.values[gate]);
  return sums;
}

template <class T, int kGates>
__global__ void __launch_bounds__(kThreadsOfScan) forward_kernel(const __grid_constant__ GatedScanForward work) {
  using Real = Accumulation<T>;
  const GatedScan& scan = work.scan;
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * kThreadsOfScan + threadIdx.x;
  if (channel >= scan.batch_size * scan.hidden_size) return;
  const Place<kGates> place(scan, channel);
  Real state = load<T>(scan.initial, channel);
  Sums<T, kGates> next[kStepsAhead] = {};
#pragma unroll
  for (int j = 0; j < kStepsAhead; ++j)
    if (j < scan.num_steps) next[j] = sums_at<T, kGates>(scan, place, j);
  for (int64_t first = 0; first < scan.num_steps; first += kStepsAhead) {
    Sums<Real, kGates> sums[kStepsAhead];
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j) sums[j] = converted(next[j]);
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j)
      if (first + kStepsAhead + j < scan.num_steps) next[j] = sums_at<T, kGates>(scan, place, first + kStepsAhead + j);
    Real keep[kStepsAhead], term[kStepsAhead];  // computed apart from the states, because they do not depend on them
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j) {
      const Factors<Real> factors = factors_of(sums[j]);
      const Real candidate = candidate_of(sums[j].values[kGates - 1], scan.has_positive_candidate).value;
      const bool is_alive = first + j < scan.num_steps && place.is_alive(first + j);
      keep[j] = is_alive ? factors.keep : Real(1);
      term[j] = is_alive ? factors.take * candidate : Real(0);
    }
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j) {
      state = keep[j] * state + term[j];
      if (first + j < scan.num_steps) store<T>(work.states, place.state(first + j), state);
    }
  }
}

// Holds the operands of one step of the backward pass, as they are in memory.
template <class T, int kGates>
struct StepOperands {
  Sums<T, kGates> sums;
  T previous, gradient;
};

template <class T, int kGates>
__device__ StepOperands<T, kGates> operands_at(const GatedScanBackward& work, const Place<kGates>& place,
                                               int64_t channel, int64_t i) {
  const T* previous = i == 0 ? static_cast<const T*>(work.scan.initial) + channel
                             : static_cast<const T*>(work.states) + place.state(i - 1);
  return {sums_at<T, kGates>(work.scan, place, i), *previous,
          static_cast<const T*>(work.state_gradients)[place.state(i)]};
}

template <class T, int kGates>
__global__ void __launch_bounds__(kThreadsOfScan) backward_kernel(const __grid_constant__ GatedScanBackward work) {
  using Real = Accumulation<T>;
  const GatedScan& scan = work.scan;
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * kThreadsOfScan + threadIdx.x;
  if (channel >= scan.batch_size * scan.hidden_size) return;
  const Place<kGates> place(scan, channel);
  const int64_t last = scan.num_steps - 1;  // steps are in reverse order: number j is last - j
  Real carry = 0;                           // the gradient of the state that a later step read
  StepOperands<T, kGates> next[kStepsAhead] = {};
#pragma unroll
  for (int j = 0; j < kStepsAhead; ++j)
    if (j <= last) next[j] = operands_at<T, kGates>(work, place, channel, last - j);
  for (int64_t first = 0; first <= last; first += kStepsAhead) {
    StepOperands<T, kGates> operands[kStepsAhead];
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j) operands[j] = next[j];
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j)
      if (first + kStepsAhead + j <= last)
        next[j] = operands_at<T, kGates>(work, place, channel, last - (first + kStepsAhead + j));
    // The gradients of the sums for a state's gradient of 1 do not depend on the carry either.
    Sums<Real, kGates> slopes[kStepsAhead];
    Real keep[kStepsAhead];
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j) {
      const Sums<Real, kGates> sums = converted(operands[j].sums);
      const Factors<Real> factors = factors_of(sums);
      const CandidateOf<Real> candidate = candidate_of(sums.values[kGates - 1], scan.has_positive_candidate);
      const bool is_alive = first + j <= last && place.is_alive(last - (first + j));
      const Real of_logit = (static_cast<Real>(operands[j].previous) - candidate.value) * factors.keep * factors.take;
      spread(is_alive ? of_logit : Real(0), sums, slopes[j]);
      slopes[j].values[kGates - 1] = is_alive ? factors.take * candidate.slope : Real(0);
      keep[j] = is_alive ? factors.keep : Real(1);
    }
#pragma unroll
    for (int j = 0; j < kStepsAhead; ++j) {
      if (first + j > last) break;
      const int64_t i = last - (first + j);
      const Real gradient = static_cast<Real>(operands[j].gradient) + carry;
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate)
        store<T>(work.sum_gradients, place.sum(i, gate), gradient * slopes[j].values[gate]);
      carry = gradient * keep[j];
    }
  }
  store<T>(work.initial_gradient, channel, carry);
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
  require_started("the kernel of layer: scan");
}

template <class Work>
void launch_typed(const Work& work, cudaStream_t stream) {
  with_cuda_type(work.scan.type, [&](auto element) { launch<decltype(element)>(work, stream); });
}

}  // namespace gated_scan
}  // namespace

void run(const GatedScanForward& work, cudaStream_t stream) { gated_scan::launch_typed(work, stream); }
void run(const GatedScanBackward& work, cudaStream_t stream) { gated_scan::launch_typed(work, stream); }

}  // namespace rnnlab::kernels
