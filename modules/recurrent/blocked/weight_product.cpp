#include "recurrent/blocked/weight_product.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "recurrent/blocked/cpu_buffer_pool.h"
#include "recurrent/blocked/panel.h"

namespace rnnlab {
namespace {

// Number of rows of the transpose that share one pass over a panel.
constexpr int64_t kRowsOfTranspose = 128;

// Least number of rows of the transpose for which packing a panel is worth its time.
constexpr int64_t kLeastRowsOfPart = 32;

// Number of rows that a thread transposes at once.
constexpr int64_t kRowsToTranspose = 64;

// The stride is even, as pairs of rows require, and not a power of two, because then neighbouring rows would share few
// sets of the cache.
int64_t stride_for(int64_t num_rows) { return (num_rows + 31) / 32 * 32 + 16; }

RowBlock block_of(const at::Tensor& tensor, int64_t row, int64_t column, int64_t num_rows) {
  const auto* data = static_cast<const std::byte*>(tensor.const_data_ptr());
  const int64_t stride = tensor.size(1);
  return {data + (row * stride + column) * static_cast<int64_t>(tensor.element_size()), stride, num_rows};
}

}  // namespace

WeightProduct::WeightProduct(int64_t num_left, int64_t num_right, int64_t most_rows, at::ScalarType type)
    : transposed_(empty_pooled({num_right, stride_for(most_rows)}, type)),
      sum_(empty_pooled({num_right, num_left}, at::kFloat)) {}

void WeightProduct::add(const at::Tensor& left, const at::Tensor& right) {
  transpose_rows(right);
  multiply_rows(left);
  is_empty_ = false;
}

at::Tensor WeightProduct::result() const {
  const int64_t num_left = sum_.size(1), num_right = sum_.size(0);
  const at::Tensor result = empty_pooled({num_left, num_right}, at::kFloat);
  at::parallel_for(0, (num_left + kRowsToTranspose - 1) / kRowsToTranspose, 1, [&](int64_t first, int64_t last) {
    const int64_t column = first * kRowsToTranspose;
    transpose(block_of(sum_, 0, column, num_right), std::min(num_left, last * kRowsToTranspose) - column, at::kFloat,
              result.mutable_data_ptr<float>() + column * num_right, num_right);
  });
  return result.to(transposed_.scalar_type());
}

void WeightProduct::transpose_rows(const at::Tensor& right) {
  const int64_t num_rows = right.size(0);
  const auto element_size = static_cast<int64_t>(right.element_size());
  at::parallel_for(0, (num_rows + kRowsToTranspose - 1) / kRowsToTranspose, 1, [&](int64_t first, int64_t last) {
    for (int64_t row = first * kRowsToTranspose; row < std::min(num_rows, last * kRowsToTranspose);
         row += kRowsToTranspose)
      transpose(block_of(right, row, 0, std::min(kRowsToTranspose, num_rows - row)), right.size(1), right.scalar_type(),
                static_cast<std::byte*>(transposed_.data_ptr()) + row * element_size, transposed_.size(1));
  });
}

// A task is a panel of the left matrix and some rows of the transpose. Each task packs its panel, even if tasks share a
// panel, because packing takes less time than waiting for another task.
void WeightProduct::multiply_rows(const at::Tensor& left) {
  const at::ScalarType type = left.scalar_type();
  const int64_t num_rows = left.size(0), width = left.size(1), num_right = transposed_.size(0);
  const int64_t num_panels = (width + kPanelWidth - 1) / kPanelWidth;
  const int64_t num_parts =
      std::clamp<int64_t>(at::get_num_threads() / num_panels, 1, num_right / kLeastRowsOfPart + 1);
  const int64_t rows_of_part = (num_right + num_parts - 1) / num_parts;
  at::parallel_for(0, num_panels * num_parts, 1, [&](int64_t first, int64_t last) {
    const ProductSeries series(type);
    const at::Tensor packed = empty_pooled({panel_bytes(type, num_rows)}, at::kByte);
    for (int64_t task = first; task < last; ++task) {
      const int64_t column = task / num_parts * kPanelWidth, begin = task % num_parts * rows_of_part;
      const Panel panel = {packed.data_ptr(), type, packed_depth(type, num_rows),
                           std::min(kPanelWidth, width - column)};
      if (task == first || task % num_parts == 0)
        pack_panel(block_of(left, 0, column, num_rows), panel.num_columns, type, packed.data_ptr());
      multiply_part(panel, column, {begin, std::min(begin + rows_of_part, num_right)});
    }
  });
}

void WeightProduct::multiply_part(const Panel& panel, int64_t column, const kernels::Range& rows) {
  const int64_t width = sum_.size(1);
  const Accumulate accumulate = is_empty_ ? Accumulate::kOverwrite : Accumulate::kAdd;
  for (int64_t i = rows.first; i < rows.last; i += kRowsOfTranspose)
    multiply(block_of(transposed_, i, 0, std::min(kRowsOfTranspose, rows.last - i)), panel,
             {sum_.mutable_data_ptr<float>() + i * width + column, width}, accumulate);
}

}  // namespace rnnlab
