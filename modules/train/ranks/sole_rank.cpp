// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "train/ranks/ranks.h"

namespace rnnlab {
namespace {

class SoleRank : public Ranks {
 public:
  SoleRank() : Ranks(/*rank=*/0, /*size=*/1) {}

  std::optional<int64_t> one_each(const std::optional<int64_t>& wanted) const override { return wanted; }
  std::optional<double> of_several(double) const override { return std::nullopt; }
  bool is_known_on_all(bool condition) const override { return condition; }
  NumbersOfRanks numbers_of_step(double own, const std::function<NumbersOfRanks()>&) const override {
    return std::vector{own};
  }
  std::string shared_name(c10::Device device) const override { return device.str(); }
  void require_sole(const std::string&) const override {}

  void all_reduce(at::Tensor&) override {}
  void all_gather_into(const at::Tensor& values, const at::Tensor& all) override {
    if (!all.is_alias_of(values)) all[0].copy_(values);
  }
  at::Tensor memory_for_all(const at::Tensor& values) const override { return values.unsqueeze(0); }
  at::Tensor gather_to_compare(const std::function<at::Tensor()>&) override { return at::empty({0}); }
  std::vector<std::string> all_gather_texts(const std::string& text) override { return {text}; }
  std::vector<std::string> descriptions(const std::function<std::string()>&) override { return {}; }

  using Ranks::wait_for;
  void wait_for(c10::Device device) override {
    if (device.is_cpu()) return;
    const c10::impl::VirtualGuardImpl backend(device.type());
    backend.synchronizeStream(backend.getStream(device));
  }

  std::string backend() const override { return "none"; }
  void connect_gpus(const std::function<std::optional<GpuConnection>()>&) override {}
  at::Tensor clock_of_waiting(const at::TensorOptions&) const override { return {}; }
  void finish() override {}
  void post_failure(ExitCode, const std::string&) noexcept override {}
  bool claim_report(const std::string&) noexcept override { return true; }
};

}  // namespace

Ranks& sole_rank() {
  static SoleRank sole;
  return sole;
}

}  // namespace rnnlab
