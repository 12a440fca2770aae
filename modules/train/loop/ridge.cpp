// SPDX-License-Identifier: Apache-2.0
#include "train/loop/ridge.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cholesky_solve.h>
#include <ATen/ops/linalg_cholesky.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/numbers.h"

namespace rnnlab {
namespace {

constexpr double kPenalty = 1;

// Only series of numbers have naive forecasts that are numbers.
bool are_windows(const Dataset& dataset) {
  const Samples& train = dataset.train;
  return !dataset.naive_forecasts.empty() && !train.mapped && train.targets.is_floating_point() &&
         train.targets.dim() == 2 && train.inputs.dim() == 3 && dataset.shape.num_numbers() > 0;
}

int64_t num_columns(const Dataset& dataset) { return dataset.train.inputs.size(1) * dataset.shape.num_numbers(); }

// Calls visit(first, count) for some rows at a time, because float64 copies of all may not fit into memory.
template <class Visit>
void for_each_part(int64_t num_rows, Visit visit) {
  constexpr int64_t kRowsAtOnce = 4'096;
  for (int64_t first = 0; first < num_rows; first += kRowsAtOnce) visit(first, std::min(kRowsAtOnce, num_rows - first));
}

// Returns (M) int64, the windows of the training part that the weights are fitted to.
at::Tensor fitted_windows(const Dataset& dataset) {
  constexpr int64_t kMostWork = 4'000'000'000;
  const int64_t columns = num_columns(dataset), most = std::max<int64_t>(kMostWork / (columns * columns), 1);
  at::Tensor known = are_known(dataset.train.targets).all(1).nonzero().squeeze(1);
  const int64_t count = std::min(known.size(0), most);
  if (count == known.size(0)) return known;
  return known.index_select(0, (at::arange(count, at::kLong) * known.size(0)).floor_divide(count));
}

at::Tensor numbers_of(const at::Tensor& inputs, const Dataset& dataset) {
  return inputs.narrow(2, 0, dataset.shape.num_numbers()).to(at::kDouble).flatten(1);
}

// The regression of some windows. Inputs are scaled by their own mean and deviation.
class Ridge {
 public:
  Ridge(const Dataset& dataset, const at::Tensor& windows) : dataset_(dataset) {
    fit_scales(windows);
    const int64_t columns = num_columns(dataset), outputs = dataset.train.targets.size(1);
    const at::Tensor products = at::zeros({columns, columns}, at::kDouble);
    const at::Tensor moments = at::zeros({columns, outputs}, at::kDouble);
    for_each_part(windows.size(0), [&](int64_t first, int64_t count) {
      const at::Tensor rows = windows.narrow(0, first, count),
                       inputs = scaled(dataset.train.inputs.index_select(0, rows));
      products.addmm_(inputs.t(), inputs);
      moments.addmm_(inputs.t(), targets(rows) - offsets_);
    });
    products.diagonal().add_(kPenalty);
    weights_ = at::cholesky_solve(moments, at::linalg_cholesky(products));
  }

  at::Tensor forecast(const at::Tensor& inputs) const { return scaled(inputs).matmul(weights_) + offsets_; }

 private:
  at::Tensor targets(const at::Tensor& rows) const {
    return dataset_.train.targets.index_select(0, rows).to(at::kDouble);
  }

  at::Tensor scaled(const at::Tensor& inputs) const { return (numbers_of(inputs, dataset_) - means_) / deviations_; }

  void fit_scales(const at::Tensor& windows) {
    const auto count = static_cast<double>(windows.size(0));
    const auto mean_of = [&](auto values_of) {
      at::Tensor sum;
      for_each_part(windows.size(0), [&](int64_t first, int64_t rows) {
        const at::Tensor part = values_of(windows.narrow(0, first, rows)).sum(0);
        sum = sum.defined() ? sum + part : part;
      });
      return sum / count;
    };
    const auto inputs = [&](const at::Tensor& rows) {
      return numbers_of(dataset_.train.inputs.index_select(0, rows), dataset_);
    };
    means_ = mean_of(inputs);
    deviations_ = mean_of([&](const at::Tensor& rows) { return (inputs(rows) - means_).square(); }).sqrt();
    deviations_ = deviations_.masked_fill(deviations_.lt(1e-12), 1);
    offsets_ = mean_of([&](const at::Tensor& rows) { return targets(rows); });
  }

  const Dataset& dataset_;
  at::Tensor means_, deviations_;  // (columns)
  at::Tensor offsets_;             // (K)
  at::Tensor weights_;             // (columns, K)
};

}  // namespace

std::optional<at::Tensor> ridge_forecast(const Dataset& dataset) {
  constexpr int64_t kLeastWindows = 10;
  if (!are_windows(dataset) || num_columns(dataset) > kMostRidgeColumns) return std::nullopt;
  const at::NoGradGuard no_grad;
  const at::Tensor windows = fitted_windows(dataset);
  if (windows.size(0) < kLeastWindows) return std::nullopt;
  const Ridge ridge(dataset, windows);
  std::vector<at::Tensor> forecasts;
  for_each_part(dataset.valid.size(), [&](int64_t first, int64_t count) {
    forecasts.push_back(ridge.forecast(dataset.valid.inputs.narrow(0, first, count)).to(at::kFloat));
  });
  return at::cat(forecasts);
}

std::optional<std::string> note_on_ridge(const Dataset& dataset) {
  if (dataset.valid.size() == 0 || !are_windows(dataset) || num_columns(dataset) <= kMostRidgeColumns)
    return std::nullopt;
  return fmt::format("no baseline of a ridge regression: a window has {} numbers, and more than {} take long",
                     format_count(num_columns(dataset)), format_count(kMostRidgeColumns));
}

}  // namespace rnnlab
