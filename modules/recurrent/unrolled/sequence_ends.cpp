#include "recurrent/unrolled/sequence_ends.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/where.h>

namespace rnnlab {
namespace {

at::Tensor widened(const at::Tensor& index, const at::Tensor& sequence) {
  return index.expand({index.size(0), index.size(1), sequence.size(2)});
}

}  // namespace

SequenceEnds::SequenceEnds(const at::Tensor& lengths, int64_t num_steps, at::Device device) {
  if (!lengths.defined()) return;
  const at::Tensor steps = at::arange(num_steps).view({num_steps, 1, 1});
  const at::Tensor ends = lengths.view({1, -1, 1});
  const at::Tensor alive = steps.lt(ends);
  alive_ = alive.to(device);
  reversal_ = at::where(alive, ends - 1 - steps, steps).to(device);
  last_ = (ends - 1).to(device);
}

at::Tensor SequenceEnds::cleared(const at::Tensor& sequence) const {
  return all_whole() ? sequence : at::where(alive_, sequence, 0);
}

at::Tensor SequenceEnds::reversed(const at::Tensor& sequence) const {
  return all_whole() ? sequence.flip(0) : sequence.gather(0, widened(reversal_, sequence));
}

at::Tensor SequenceEnds::last(const at::Tensor& sequence) const {
  return all_whole() ? sequence[-1] : sequence.gather(0, widened(last_, sequence))[0];
}

}  // namespace rnnlab
