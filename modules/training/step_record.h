// The numbers of every step, kept where they were computed and brought to the host a block at a time, so that neither a
// loss curve nor a check for NaN makes the host wait at every step. One row a step: loss, metric sum, then one gradient
// norm a parameter.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace rnnlab {

struct StepRow {
  double loss;
  double metric_sum;
  int64_t count;
  std::vector<double> gradient_norms;
};

class StepRecord {
 public:
  // At most `capacity` rows before they must be taken.
  StepRecord(int64_t num_gradient_norms, at::Device device, int64_t capacity = 4096);

  // All () float32 on the device. Returns the new row, which lives there until take().
  at::Tensor append(const at::Tensor& loss, const at::Tensor& metric_sum, const std::vector<at::Tensor>& gradient_norms,
                    int64_t count);

  bool full() const { return size() == capacity_; }
  int64_t size() const { return static_cast<int64_t>(counts_.size()); }

  // Waits for the device and empties the record.
  std::vector<StepRow> take();

  // Waits for the device. There must be a row.
  double latest_loss() const;

 private:
  int64_t capacity_;
  at::Tensor rows_;  // (capacity, 2 + num_gradient_norms)
  std::vector<int64_t> counts_;
};

}  // namespace rnnlab
