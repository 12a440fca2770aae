// SPDX-License-Identifier: Apache-2.0
// The ranks of a run without other processes: each has what this one has, unless a test overrides it.
#pragma once

#include <ATen/ops/stack.h>

#include "train/ranks/ranks.h"

namespace rnnlab {

class FakeRanks : public Ranks {
 public:
  using Ranks::Ranks;
  std::string backend() const override { return "none"; }
  void all_reduce(at::Tensor& values) override { values.mul_(size()); }
  void all_gather_into(const at::Tensor& values, const at::Tensor& all) override {
    all.copy_(at::stack(std::vector<at::Tensor>(static_cast<size_t>(size()), values)));
  }
  std::vector<std::string> all_gather_texts(const std::string& text) override {
    return std::vector<std::string>(static_cast<size_t>(size()), text);
  }
  void post_failure(ExitCode, const std::string&) noexcept override {}
  bool claim_report(const std::string&) noexcept override { return true; }
};

}  // namespace rnnlab
