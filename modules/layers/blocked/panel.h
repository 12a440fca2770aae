// SPDX-License-Identifier: Apache-2.0
// Multiplies matrices by panels: the right matrix is packed in panels of 64 columns, so that a panel stays in the cache
// while the rows of a block are read. The kernels take float32 or bfloat16 operands, sum in float32 and use one thread.
// The kernels are oneDNN's, through LibTorch (at::native::cpublas::brgemm); but on a processor with tile units (AMX)
// the kernels for bfloat16 are our own (kernels/tile_products.h). Threads share the work in PackedMatrix, multiply_all
// and WeightProduct; the caller of the other functions divides rows and panels among threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "layers/kernels/simd_steps.h"

namespace rnnlab {

inline constexpr int64_t kPanelWidth = 64;

// Returns whether such kernels run in this process for this type: on a processor with AVX-512, or AVX2 for float32, and
// with oneDNN switched on.
bool has_panel_products(at::ScalarType type);

// Returns whether the kernels for this type use tile units.
bool multiplies_by_tiles(at::ScalarType type);

// Refers to a packed (K, N) matrix, with N up to kPanelWidth: row after row; in bfloat16 both rows of a pair are
// interleaved, and rows of zeros are added until K is a multiple of the depth of a tile.
struct Panel {
  const void* data = nullptr;
  at::ScalarType type = at::kFloat;
  int64_t depth = 0;
  int64_t num_columns = 0;
};

// Refers to rows of a row-major matrix of the panel's type; `stride` is in elements.
struct RowBlock {
  const void* data = nullptr;
  int64_t stride = 0;
  int64_t num_rows = 0;
};

struct SumBlock {
  float* data = nullptr;
  int64_t stride = 0;
};

enum class Accumulate { kOverwrite, kAdd };  // whether the product replaces the sum or is added to it

// Encloses a thread's products of one type: the constructor configures the tile units and the destructor releases them.
// During its lifetime only `multiply` may use tile units on this thread.
class ProductSeries {
 public:
  explicit ProductSeries(at::ScalarType type);
  ~ProductSeries();
  ProductSeries(const ProductSeries&) = delete;
  ProductSeries& operator=(const ProductSeries&) = delete;

 private:
  bool has_tiles_;
};

// Multiplies (rows, K) by (K, N) to (rows, N), within a series of this thread.
void multiply(const RowBlock& rows, const Panel& panel, const SumBlock& sum, Accumulate accumulate);

// panel_bytes returns the bytes of a panel; pack_panel packs one from a row-major matrix.
int64_t panel_bytes(at::ScalarType type, int64_t depth);
int64_t packed_depth(at::ScalarType type, int64_t depth);  // rounded up to pairs of rows in bfloat16
void pack_panel(const RowBlock& source, int64_t num_columns, at::ScalarType type, void* target);

// Transposes a row-major (rows, columns) matrix; the rows of the result are `target_stride` elements apart. In bfloat16
// this stride must be even, and zeros make the number of source rows even.
void transpose(const RowBlock& source, int64_t num_columns, at::ScalarType type, void* target, int64_t target_stride);

// Holds a whole matrix in panels, packed by all threads. The columns of the matrix form groups of equal size, and each
// group begins a new panel: all groups have the same number of panels, one group after another.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  static PackedMatrix of(const at::Tensor& matrix);                                     // (K, N), dense, one group
  static PackedMatrix of_transposed(const at::Tensor& matrix, int64_t num_groups = 1);  // from (N, K), dense

  int64_t num_panels() const { return num_groups_ * panels_of_group(); }
  Panel panel(int64_t index) const;

 private:
  PackedMatrix(at::ScalarType type, int64_t depth, int64_t num_groups, int64_t group_size);
  int64_t panels_of_group() const { return (group_size_ + kPanelWidth - 1) / kPanelWidth; }
  void* data_of(int64_t index) const;
  int64_t columns_of(int64_t index) const;
  int64_t first_column_of(int64_t index) const;

  at::Tensor storage_;
  at::ScalarType type_ = at::kFloat;
  int64_t depth_ = 0;
  int64_t num_groups_ = 0;
  int64_t group_size_ = 0;
};

// Returns the number of rows of a block, for a product with `num_panels` panels, so that all threads have work.
int64_t rows_for_all_threads(int64_t num_rows, int64_t num_panels);

// Multiplies (R, K) by (K, N), one group, to a dense (R, N) in the type of the rows, with all threads.
void multiply_all(const at::Tensor& rows, const PackedMatrix& matrix, const at::Tensor& product);

// Computes the gradient of a weight, which is one product over all steps and sequences, summed over several calls: the
// sum over rows of left^T right, for (R, M) and (R, N) of a type with panel products, with all threads.
// `right` should be the narrower of the two, because it is transposed.
class WeightProduct {
 public:
  WeightProduct(int64_t num_left, int64_t num_right, int64_t most_rows, at::ScalarType type);

  // Adds the product of up to `most_rows` rows; both matrices must be dense.
  void add(const at::Tensor& left, const at::Tensor& right);

  // Returns (M, N), dense, in the type of the operands.
  at::Tensor result() const;

 private:
  void transpose_rows(const at::Tensor& right);
  void multiply_rows(const at::Tensor& left);
  void multiply_part(const Panel& panel, int64_t column, const kernels::Range& rows);

  at::Tensor transposed_;  // (N, rows)
  at::Tensor sum_;         // (N, M)
  bool is_empty_ = true;
};

}  // namespace rnnlab
