#include "recurrent/blocked/weight_product.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "recurrent/blocked/panel.h"

namespace rnnlab {
namespace {

// Rows that are packed and multiplied at once: their transpose stays in the third cache.
constexpr int64_t kRowsAtOnceOfProduct = 2048;

// Columns of the transpose at once, and rows of the transpose that share a panel's pass.
constexpr int64_t kRowsOfTranspose = 128;

int64_t element_size(const at::Tensor& tensor) { return static_cast<int64_t>(tensor.element_size()); }

// What is transposed is the narrower one, `right`: right^T left, of which the result is the transpose.
class ProductOverRows {
 public:
  ProductOverRows(const at::Tensor& left, const at::Tensor& right)
      : left_(left),
        right_(right),
        depth_(std::min(kRowsAtOnceOfProduct, left.size(0) + left.size(0) % 2)),
        transposed_(at::empty({right.size(1), depth_}, right.options())),
        product_(at::empty({right.size(1), left.size(1)}, at::kFloat)) {}

  at::Tensor run() {
    for (int64_t row = 0; row < left_.size(0); row += depth_) {
      const int64_t num_rows = std::min(depth_, left_.size(0) - row);
      transpose_rows(row, num_rows);
      multiply_rows(row, num_rows);
    }
    return product_.t();
  }

 private:
  RowBlock block_of(const at::Tensor& tensor, int64_t row, int64_t column, int64_t num_rows) const {
    const auto* data = static_cast<const std::byte*>(tensor.const_data_ptr());
    return {data + (row * tensor.size(1) + column) * element_size(tensor), tensor.size(1), num_rows};
  }

  void transpose_rows(int64_t row, int64_t num_rows) {
    constexpr int64_t kRows = 64;
    at::parallel_for(0, (num_rows + kRows - 1) / kRows, 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i)
        transpose(block_of(right_, row + i * kRows, 0, std::min(kRows, num_rows - i * kRows)), right_.size(1),
                  right_.scalar_type(),
                  static_cast<std::byte*>(transposed_.data_ptr()) + i * kRows * element_size(right_), depth_);
    });
  }

  void multiply_rows(int64_t row, int64_t num_rows) {
    const at::ScalarType type = left_.scalar_type();
    const int64_t num_panels = (left_.size(1) + kPanelWidth - 1) / kPanelWidth;
    at::parallel_for(0, num_panels, 1, [&](int64_t first, int64_t last) {
      const at::Tensor packed = at::empty({panel_bytes(type, num_rows)}, at::kByte);
      for (int64_t i = first; i < last; ++i) {
        const int64_t column = i * kPanelWidth, num_columns = std::min(kPanelWidth, left_.size(1) - column);
        pack_panel(block_of(left_, row, column, num_rows), num_columns, type, packed.data_ptr());
        multiply_panel({packed.data_ptr(), type, num_rows + (type == at::kFloat ? 0 : num_rows % 2), num_columns},
                       column, row == 0 ? Onto::kNothing : Onto::kSum);
      }
      end_products(type);
    });
  }

  void multiply_panel(const Panel& panel, int64_t column, Onto onto) {
    for (int64_t i = 0; i < transposed_.size(0); i += kRowsOfTranspose) {
      RowBlock rows = block_of(transposed_, i, 0, std::min(kRowsOfTranspose, transposed_.size(0) - i));
      multiply(rows, panel, {product_.mutable_data_ptr<float>() + i * product_.size(1) + column, product_.size(1)},
               onto);
    }
  }

  const at::Tensor& left_;
  const at::Tensor& right_;
  int64_t depth_;          // even, for pairs of rows
  at::Tensor transposed_;  // of the rows at hand
  at::Tensor product_;     // transposed
};

}  // namespace

at::Tensor multiply_over_rows(const at::Tensor& left, const at::Tensor& right) {
  return ProductOverRows(left, right).run();
}

}  // namespace rnnlab
