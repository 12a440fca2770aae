#include <ATen/ops/empty.h>

#include <algorithm>

#include "data/batch_sources.h"
#include "data/gather.h"

namespace rnnlab {
namespace {

constexpr int64_t kUploadBytes = 64 << 20;

// (N, T, ...) on the CPU -> (T, N, ...) on the device, with never more than one chunk held twice.
at::Tensor upload_time_major(const at::Tensor& source, c10::Device device) {
  std::vector<int64_t> shape = source.sizes().vec();
  std::swap(shape[0], shape[1]);
  at::Tensor resident = at::empty(shape, source.options().device(device));
  const int64_t num_samples = source.size(0);
  const int64_t chunk = std::max<int64_t>(1, kUploadBytes / std::max<int64_t>(1, sample_bytes(source)));
  for (int64_t first = 0; first < num_samples; first += chunk) {
    const int64_t count = std::min(chunk, num_samples - first);
    resident.narrow(1, first, count).copy_(source.narrow(0, first, count).to(device).transpose(0, 1));
  }
  return resident;
}

class ResidentSource : public SelectingSource {
 public:
  ResidentSource(const Samples& samples, c10::Device device)
      : device_(device),
        inputs_(upload_time_major(samples.inputs, device)),
        target_dimension_(samples.has_target_per_step() ? 1 : 0),
        targets_(target_dimension_ == 1 ? upload_time_major(samples.targets, device) : samples.targets.to(device)),
        lengths_(samples.lengths) {}

  void start(const EpochPlan& plan) override {
    plan_ = plan;
    order_ = plan.order_on_device.defined() ? plan.order_on_device : uploaded(plan.order);
  }

  at::Tensor uploaded(const at::Tensor& order) const override {
    return device_.is_cuda() ? order.pin_memory().to(device_, /*non_blocking=*/true) : order;
  }

  Batch fetch(int64_t batch) override {
    Batch result = gather(selection(batch, 1));
    if (has_lengths())
      result.lengths = lengths_.index_select(0, plan_.order.narrow(0, batch * plan_.batch_size, result.size));
    return result;
  }

  bool has_lengths() const override { return lengths_.defined(); }

  at::Tensor selection(int64_t first_batch, int64_t count) const override {
    const int64_t first = first_batch * plan_.batch_size;
    const bool is_to_the_end = first_batch + count >= plan_.num_batches;
    return order_.narrow(0, first, is_to_the_end ? order_.numel() - first : count * plan_.batch_size);
  }

  Batch gather(const at::Tensor& selection) const override {
    return {.inputs = inputs_.index_select(1, selection),
            .targets = targets_.index_select(target_dimension_, selection),
            .lengths = {},
            .size = selection.size(0)};
  }

 private:
  c10::Device device_;
  at::Tensor inputs_;  // (T, N, ...)
  int64_t target_dimension_;
  at::Tensor targets_;
  at::Tensor lengths_;
  EpochPlan plan_;
  at::Tensor order_;
};

}  // namespace

std::unique_ptr<SelectingSource> make_resident_source(const Samples& samples, c10::Device device) {
  return std::make_unique<ResidentSource>(samples, device);
}

}  // namespace rnnlab
