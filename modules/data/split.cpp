#include "data/split.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/numbers.h"
#include "data/batches.h"

namespace rnnlab {
namespace {

std::vector<int64_t> ordered_rows(int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::vector<int64_t> shuffled_rows(int64_t count, int64_t seed) {
  const at::Tensor order = permutation(count, static_cast<uint64_t>(seed), 0);
  const auto* rows = order.const_data_ptr<int64_t>();
  return {rows, rows + count};
}

int64_t num_for_validation(int64_t num_rows, const SplitRequest& request) {
  if (request.num_valid) return *request.num_valid;
  const auto share = static_cast<int64_t>(std::llround(request.valid_fraction * static_cast<double>(num_rows)));
  return std::clamp<int64_t>(share, 1, num_rows - 1);
}

at::Tensor rows_of(const at::Tensor& tensor, const at::Tensor& rows) {
  return tensor.defined() ? tensor.index_select(0, rows) : tensor;
}

at::Tensor first_of(const at::Tensor& tensor, int64_t count) {
  return tensor.defined() ? tensor.narrow(0, 0, count).contiguous() : tensor;
}

}  // namespace

Split resolved_split(const DataSettings& settings) {
  if (settings.split != Split::kAutomatic) return settings.split;
  return settings.window > 0 ? Split::kOrdered : Split::kRandom;
}

RowSplit split_rows(int64_t num_rows, const SplitRequest& request, const std::string& origin) {
  RNNLAB_INVARIANT(request.how != Split::kAutomatic, "the loader of a source resolves 'auto'");
  if (num_rows < 2 && request.num_valid != 0) {
    throw_error(ExitCode::kData,
                "{}: a split into training and validation needs at least 2 samples, got {}; set data.num_valid: 0 for "
                "no validation",
                origin, num_rows);
  }
  const int64_t num_valid = num_for_validation(num_rows, request);
  if (num_valid >= num_rows) {
    throw_error(ExitCode::kData,
                "{}: validation wants {} of {} samples, so none are left for training: lower data.num_valid", origin,
                num_valid, num_rows);
  }
  const std::vector<int64_t> rows =
      request.how == Split::kRandom ? shuffled_rows(num_rows, request.seed) : ordered_rows(num_rows);
  const auto border = rows.begin() + (num_rows - num_valid);
  return {{rows.begin(), border}, {border, rows.end()}};
}

Samples take(const Samples& samples, const std::vector<int64_t>& rows) {
  const at::Tensor index =
      at::from_blob(const_cast<int64_t*>(rows.data()), {static_cast<int64_t>(rows.size())}, at::kLong);
  return {rows_of(samples.inputs, index), rows_of(samples.targets, index), rows_of(samples.lengths, index)};
}

Samples take_first(const Samples& samples, std::optional<int64_t> count, const std::string& key,
                   const std::string& origin) {
  if (!count || *count == samples.size()) return samples;
  if (*count > samples.size()) {
    throw_error(ExitCode::kData, "{}: data.{} is {}, but the data holds {}", origin, key, *count,
                counted(samples.size(), "sample"));
  }
  return {first_of(samples.inputs, *count), first_of(samples.targets, *count), first_of(samples.lengths, *count)};
}

}  // namespace rnnlab
