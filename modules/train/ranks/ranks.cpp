// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/ranks.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <thread>

#include "base/numbers.h"

namespace rnnlab {

at::Tensor Ranks::all_gather(const at::Tensor& values) {
  const at::Tensor all = memory_for_all(values);
  all_gather_into(values, all);
  return all;
}

at::Tensor Ranks::memory_for_all(const at::Tensor& values) const {
  std::vector<int64_t> shape = values.sizes().vec();
  shape.insert(shape.begin(), size());
  return at::empty(shape, values.options());
}

at::Tensor Ranks::gather_to_compare(const std::function<at::Tensor()>& value) { return all_gather(value()); }

bool Ranks::is_true_on_all(bool condition) {
  return all_gather(at::full({}, condition ? 1 : 0, at::kLong)).all().item<bool>();
}

void Ranks::wait_for(const std::function<bool()>& has_ended) {
  while (!has_ended()) std::this_thread::yield();
}

void Ranks::wait_for(c10::Device device) {
  if (device.is_cpu()) return;
  c10::Event end(device.type());
  end.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  wait_for([&] { return end.query(); });
}

std::vector<at::Tensor> Ranks::message_memory(const std::vector<int64_t>& counts, const at::TensorOptions& options) {
  std::vector<at::Tensor> all;
  for (const int64_t count : counts) all.push_back(at::zeros({count}, options));
  return all;
}

void Ranks::connect_gpus(const std::function<std::optional<GpuConnection>()>& connection) {
  RNNLAB_INVARIANT(!connection(), "this implementation of Ranks does not support GPUs");
}

at::Tensor Ranks::clock_of_waiting(const at::TensorOptions& options) const {
  return at::zeros({2}, options.dtype(at::kLong));
}

void Ranks::require_sole(const std::string& what) const {
  throw_error(ExitCode::kUsage, "{}, but {} train this run; start one process", what, counted(size_, "process"));
}

namespace {

constexpr const char* kNoSources = "this implementation of Ranks gives no sources";

}  // namespace

MessageSources Ranks::sources_of(const at::Tensor&) {
  RNNLAB_INVARIANT(false, kNoSources);
  return {};
}
void Ranks::announce(const at::Tensor&) { RNNLAB_INVARIANT(false, kNoSources); }
void Ranks::fetch(const at::Tensor&) { RNNLAB_INVARIANT(false, kNoSources); }
void Ranks::end_reads() { RNNLAB_INVARIANT(false, kNoSources); }

}  // namespace rnnlab
