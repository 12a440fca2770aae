// What the processes of one run add up in each step, so that every one of them then makes the same update: gradients,
// the sums that a step's row tells, and whether one of them was asked to stop. Each computes its part of the batch
// (BatchShare). The gradient of all is that of the mean loss over all targets, however these are divided.
#pragma once

#include <span>
#include <vector>

#include "data/batches.h"
#include "distributed/ranks.h"
#include "training/named_tensor.h"
#include "training/step_record.h"

namespace rnnlab {

class GradientExchange {
 public:
  // `ranks` must outlive this. `targets_per_sample`: what a sample adds to Evaluation::count.
  GradientExchange(Ranks& ranks, std::vector<NamedTensor> parameters, int64_t targets_per_sample);

  // The part of the targets of all ranks' `batches` that this rank's `batch` has: its mean loss counts so much.
  static double share_of(const Batch& batch, std::span<const Batch> batches);

  // Of the rank that asks (an exit code, or any other number but 0), for the next step. It stays until it is set again.
  void ask_to_stop(double reason) { own_request_ = reason; }

  // Of each rank in the last step; 0 where it asks for nothing.
  std::vector<double> stop_requests() const;

  // The parameters' gradients, which may be undefined where this rank had no sample, become the sums over all ranks.
  // `own` has the sums of this rank's part, each loss times its share; what comes back has those of all.
  Evaluation add_up(const Evaluation& own, std::span<const Batch> batches);

 private:
  at::Tensor slice(size_t parameter) const;

  Ranks& ranks_;
  std::vector<NamedTensor> parameters_;
  int64_t targets_per_sample_;
  std::vector<int64_t> offsets_;  // in the message, of each parameter, then of the sums
  at::Tensor message_;            // all gradients, three sums, and a request of each rank
  double own_request_ = 0;
};

}  // namespace rnnlab
