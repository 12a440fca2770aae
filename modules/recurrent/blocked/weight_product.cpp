#include "recurrent/blocked/weight_product.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "recurrent/blocked/kept_memory.h"
#include "recurrent/blocked/panel.h"

namespace rnnlab {
namespace {

// Rows of the transpose that share a panel's pass.
constexpr int64_t kRowsOfTranspose = 128;

// Rows that a thread transposes at once.
constexpr int64_t kRowsToTranspose = 64;

// Even, as pairs of rows want it, and no power of two, at which neighbours would share few places in the cache.
int64_t stride_for(int64_t num_rows) { return (num_rows + 31) / 32 * 32 + 16; }

RowBlock block_of(const at::Tensor& tensor, int64_t row, int64_t column, int64_t num_rows) {
  const auto* data = static_cast<const std::byte*>(tensor.const_data_ptr());
  const int64_t stride = tensor.size(1);
  return {data + (row * stride + column) * static_cast<int64_t>(tensor.element_size()), stride, num_rows};
}

}  // namespace

WeightProduct::WeightProduct(int64_t num_left, int64_t num_right, int64_t most_rows, at::ScalarType type)
    : transposed_(empty_kept({num_right, stride_for(most_rows)}, type)),
      sum_(empty_kept({num_right, num_left}, at::kFloat)) {}

void WeightProduct::add(const at::Tensor& left, const at::Tensor& right) {
  transpose_rows(right);
  multiply_rows(left);
  is_empty_ = false;
}

at::Tensor WeightProduct::result() const {
  const int64_t num_left = sum_.size(1), num_right = sum_.size(0);
  const at::Tensor result = empty_kept({num_left, num_right}, at::kFloat);
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

void WeightProduct::multiply_rows(const at::Tensor& left) {
  const at::ScalarType type = left.scalar_type();
  const int64_t num_rows = left.size(0), width = left.size(1);
  const Accumulate accumulate = is_empty_ ? Accumulate::kOverwrite : Accumulate::kAdd;
  at::parallel_for(0, (width + kPanelWidth - 1) / kPanelWidth, 1, [&](int64_t first, int64_t last) {
    const ProductSeries series(type);
    const at::Tensor packed = empty_kept({panel_bytes(type, num_rows)}, at::kByte);
    for (int64_t column = first * kPanelWidth; column < std::min(width, last * kPanelWidth); column += kPanelWidth) {
      const int64_t num_columns = std::min(kPanelWidth, width - column);
      pack_panel(block_of(left, 0, column, num_rows), num_columns, type, packed.data_ptr());
      const Panel panel = {packed.data_ptr(), type, packed_depth(type, num_rows), num_columns};
      for (int64_t i = 0; i < transposed_.size(0); i += kRowsOfTranspose)
        multiply(block_of(transposed_, i, 0, std::min(kRowsOfTranspose, transposed_.size(0) - i)), panel,
                 {sum_.mutable_data_ptr<float>() + i * width + column, width}, accumulate);
    }
  });
}

}  // namespace rnnlab
