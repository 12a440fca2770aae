// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <array>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/random.h"
#include "base/sha256.h"
#include "data/mapped_inputs.h"
#include "data/readers/rows.h"

namespace rnnlab {

int64_t Samples::size() const {
  if (mapped) return mapped->size();
  return inputs.defined() ? inputs.size(0) : 0;
}

int64_t Samples::sequence_length() const { return mapped ? mapped->num_steps() : inputs.size(1); }

int64_t Samples::num_features() const {
  if (mapped) return mapped->num_features();
  return inputs.dim() == 3 ? inputs.size(2) : 0;
}

int64_t Samples::length(int64_t sample) const {
  return lengths.defined() ? all_lengths()[static_cast<size_t>(sample)] : sequence_length();
}

std::span<const int64_t> Samples::all_lengths() const {
  if (!lengths.defined()) return {};
  return {lengths.const_data_ptr<int64_t>(), static_cast<size_t>(lengths.numel())};
}

int64_t Samples::bytes() const {
  int64_t total = 0;
  for (const at::Tensor& tensor : {inputs, targets, lengths}) {
    if (tensor.defined()) total += static_cast<int64_t>(tensor.nbytes());
  }
  return total;
}

bool has_target_per_step(const at::Tensor& targets) {
  return targets.dim() == (targets.scalar_type() == at::kLong ? 2 : 3);
}

std::vector<int64_t> category_sizes(const std::vector<CategoryColumn>& categories) {
  std::vector<int64_t> sizes;
  for (const CategoryColumn& category : categories) sizes.push_back(std::ssize(category.values) + 1);
  return sizes;
}

int64_t Samples::num_steps() const {
  return lengths.defined() ? lengths.sum().item<int64_t>() : size() * sequence_length();
}

void visit_inputs(const Samples& samples, const std::function<void(int64_t, std::span<const float>)>& visit) {
  if (samples.mapped) return samples.mapped->visit(samples.all_lengths(), visit);
  const int64_t num_values = samples.size() == 0 ? 0 : samples.sequence_length() * samples.num_features();
  for (int64_t n = 0; n < samples.size(); ++n)
    visit(n, {samples.inputs.const_data_ptr<float>() + n * num_values, static_cast<size_t>(num_values)});
}

at::Tensor inputs_of(const Samples& samples, int64_t first, int64_t count) {
  if (!samples.mapped) return samples.inputs.narrow(0, first, count);
  const int64_t num_steps = samples.sequence_length();
  at::Tensor inputs = at::empty({count, num_steps, samples.num_features()}, at::kFloat);
  for (int64_t i = 0; i < count; ++i) {
    at::Tensor sample = inputs[i];
    samples.mapped->gather(std::array{first + i}, num_steps, samples.all_lengths(), sample.mutable_data_ptr<float>());
  }
  return inputs;
}

at::Tensor target_rows(const Samples& samples) {
  if (!has_target_per_step(samples.targets)) return samples.targets;
  return rows_within(samples.targets, samples.lengths, TimeAxis::kSecond);
}

at::Tensor are_known(const at::Tensor& targets) {
  return targets.is_floating_point() ? targets.isnan().logical_not() : targets.ge(0);
}

namespace {

// The smallest class is found without a mask, which would take much memory for the tokens of a long text.
bool has_missing(const at::Tensor& targets) {
  if (targets.numel() == 0) return false;
  return targets.is_floating_point() ? targets.isnan().any().item<bool>() : targets.min().item<int64_t>() < 0;
}

}  // namespace

namespace {

at::Tensor unscaled(const at::Tensor& values, const FittedData& data) {
  if (data.target_scales.empty()) return values.to(at::kDouble);
  std::vector<double> factors, offsets;
  for (const ColumnScale& target : data.target_scales) {
    factors.push_back(target.scale);
    offsets.push_back(target.offset);
  }
  return values.to(at::kDouble) * at::tensor(factors, at::kDouble) + at::tensor(offsets, at::kDouble);
}

}  // namespace

at::Tensor in_units_of_targets(const at::Tensor& values, const FittedData& data, const Samples& samples) {
  at::Tensor result = unscaled(values, data);
  if (samples.target_units.defined()) result = result * samples.target_units;
  return samples.target_bases.defined() ? result + samples.target_bases : result;
}

at::Tensor known_classes(const Samples& samples) {
  const at::Tensor classes = target_rows(samples);
  return has_missing(classes) ? classes.masked_select(are_known(classes)) : classes;
}

at::Tensor target_counts(const Samples& samples) {
  const at::Tensor& targets = samples.targets;
  if (!has_missing(targets)) return {};
  at::Tensor are_there = are_known(targets);
  if (samples.lengths.defined() && has_target_per_step(targets)) {
    const at::Tensor within = are_within(samples.lengths, targets.size(1));
    are_there.logical_and_(targets.dim() == 3 ? within.unsqueeze(2) : within);
  }
  return targets.dim() == 1 ? are_there.to(at::kLong) : are_there.flatten(1).sum(1);
}

int64_t Batch::num_targets() const {
  if (target_counts.defined()) return target_counts.sum().item<int64_t>();
  if (!lengths.defined() || !has_target_per_step(targets)) return targets.numel();
  const int64_t of_each_step = targets.dim() == 3 ? targets.size(2) : 1;
  return lengths.sum().item<int64_t>() * of_each_step;
}

at::Tensor are_within(const at::Tensor& lengths, int64_t num_steps) {
  return at::arange(num_steps, at::kLong).unsqueeze(0).lt(lengths.unsqueeze(1));
}

at::Tensor rows_within(const at::Tensor& steps, const at::Tensor& lengths, TimeAxis axis) {
  if (!lengths.defined()) return steps.flatten(0, 1);
  const at::Tensor within = are_within(lengths, steps.size(axis == TimeAxis::kFirst ? 0 : 1));
  const at::Tensor rows = (axis == TimeAxis::kFirst ? within.t() : within).flatten().nonzero().squeeze(1);
  return steps.flatten(0, 1).index_select(0, rows.to(steps.device(), /*non_blocking=*/true));
}

namespace {

// Returns a number from 0 to bound - 1. Draws below 2^64 mod bound are rejected, because they favour small numbers.
uint64_t draw_below(SplitMix64& random, uint64_t bound) {
  const uint64_t threshold = (0 - bound) % bound;
  uint64_t draw = random.next();
  while (draw < threshold) draw = random.next();
  return draw % bound;
}

// Seeds and epochs are small numbers near each other; one round of mixing makes their streams independent.
uint64_t stream_of(uint64_t seed, int64_t epoch) {
  return SplitMix64(SplitMix64(seed).next() ^ static_cast<uint64_t>(epoch)).next();
}

}  // namespace

at::Tensor permutation(int64_t n, uint64_t seed, int64_t epoch) {
  RNNLAB_INVARIANT(n >= 0, "a permutation of fewer than zero samples");
  // By one thread: LibTorch would use several, and where other processes have the CPUs they wait for each other.
  at::Tensor order = at::empty({n}, at::kLong);
  int64_t* const items = order.mutable_data_ptr<int64_t>();
  std::iota(items, items + n, 0);
  SplitMix64 random(stream_of(seed, epoch));
  for (int64_t last = n - 1; last > 0; --last) {
    std::swap(items[last], items[draw_below(random, static_cast<uint64_t>(last) + 1)]);
  }
  return order;
}

namespace {

at::Tensor rows_of(const at::Tensor& tensor, const at::Tensor& rows) {
  return tensor.defined() ? tensor.index_select(0, rows) : tensor;
}

at::Tensor first_of(const at::Tensor& tensor, int64_t count) {
  return tensor.defined() ? tensor.narrow(0, 0, count).contiguous() : tensor;
}

}  // namespace

Samples take(const Samples& samples, const std::vector<int64_t>& rows) {
  const at::Tensor index =
      at::from_blob(const_cast<int64_t*>(rows.data()), {static_cast<int64_t>(rows.size())}, at::kLong);
  return {rows_of(samples.inputs, index),       rows_of(samples.targets, index),
          rows_of(samples.lengths, index),      samples.mapped ? samples.mapped->selected(rows) : nullptr,
          rows_of(samples.target_bases, index), rows_of(samples.target_units, index)};
}

Samples take_first(const Samples& samples, std::optional<int64_t> count, const std::string& key,
                   const std::string& origin) {
  if (!count || *count == samples.size()) return samples;
  if (*count > samples.size()) {
    throw_error(ExitCode::kData, "{}: data.{} is {}, but the data holds {}", origin, key, *count,
                counted(samples.size(), "sample"));
  }
  return {
      first_of(samples.inputs, *count),       first_of(samples.targets, *count),
      first_of(samples.lengths, *count),      samples.mapped ? samples.mapped->selected(first_rows(*count)) : nullptr,
      first_of(samples.target_bases, *count), first_of(samples.target_units, *count)};
}

namespace {

void add_header(Sha256& digest, const std::string& name, at::ScalarType type, at::IntArrayRef shape) {
  std::string header = fmt::format("{} {}", name, c10::toString(type));
  for (const int64_t size : shape) header += fmt::format(" {}", size);
  digest.update(header + "\n");
}

void add(Sha256& digest, const std::string& name, const at::Tensor& tensor) {
  if (!tensor.defined()) {
    digest.update(fmt::format("{} none\n", name));
    return;
  }
  RNNLAB_INVARIANT(tensor.is_contiguous() && tensor.is_cpu(), "samples lie contiguous on the CPU");
  add_header(digest, name, tensor.scalar_type(), tensor.sizes());
  digest.update(std::span(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()));
}

// Adds the same bytes for mapped inputs as for inputs in memory.
void add_inputs(Sha256& digest, const std::string& name, const Samples& samples) {
  if (!samples.mapped) return add(digest, name, samples.inputs);
  add_header(digest, name, at::kFloat, {samples.size(), samples.sequence_length(), samples.num_features()});
  visit_inputs(samples, [&](int64_t, std::span<const float> values) { digest.update(std::as_bytes(values)); });
}

void add_part(Sha256& digest, const std::string& part, const Samples& samples) {
  add_inputs(digest, part + ".inputs", samples);
  add(digest, part + ".targets", samples.targets);
  add(digest, part + ".lengths", samples.lengths);
}

}  // namespace

std::string fingerprint(const Samples& train, const Samples& valid) {
  Sha256 digest;
  add_part(digest, "train", train);
  add_part(digest, "valid", valid);
  return digest.hex();
}

}  // namespace rnnlab
