// Matrix products by panels: the right matrix lies packed in panels of 64 columns, so that a block of rows streams
// through the cache past a panel that stays there. The kernels take float32 or bfloat16 operands, sum in float32 and
// use one thread. They are oneDNN's, as LibTorch gives them out (at::native::cpublas::brgemm), but on a processor with
// tile units (AMX) those for bfloat16 are our own (kernels/tile_products.h). Sharing out rows and panels is the
// caller's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace rnnlab {

inline constexpr int64_t kPanelWidth = 64;

// Whether such kernels run in this process for this type: on a processor with AVX-512, or AVX2 for float32, and with
// oneDNN on.
bool has_panel_products(at::ScalarType type);

// Whether they run on tile units.
bool multiplies_by_tiles(at::ScalarType type);

// (K, N), N up to kPanelWidth: row after row, or in bfloat16 both rows of a pair interleaved; there zeros make K a
// multiple of what a tile holds.
struct Panel {
  const void* data = nullptr;
  at::ScalarType type = at::kFloat;
  int64_t depth = 0;
  int64_t num_columns = 0;
};

// Rows of a row-major matrix of the panel's type; `stride` in elements.
struct RowBlock {
  const void* data = nullptr;
  int64_t stride = 0;
  int64_t num_rows = 0;
};

struct SumBlock {
  float* data = nullptr;
  int64_t stride = 0;
};

enum class Accumulate { kOverwrite, kAdd };  // whether the product replaces what is there or is added to it

// A thread's products of one type, in which nothing else but `multiply` uses tile units: the tiles are configured at
// its beginning and released at its end.
class ProductSeries {
 public:
  explicit ProductSeries(at::ScalarType type);
  ~ProductSeries();
  ProductSeries(const ProductSeries&) = delete;
  ProductSeries& operator=(const ProductSeries&) = delete;

 private:
  bool has_tiles_;
};

// (rows, K) x (K, N) to (rows, N), within a series of this thread.
void multiply(const RowBlock& rows, const Panel& panel, const SumBlock& sum, Accumulate accumulate);

// Bytes of a panel, and packing of one from a row-major matrix whose rows are `stride` elements apart.
int64_t panel_bytes(at::ScalarType type, int64_t depth);
int64_t packed_depth(at::ScalarType type, int64_t depth);  // with the row of zeros that makes pairs in bfloat16
void pack_panel(const RowBlock& source, int64_t num_columns, at::ScalarType type, void* target);

// The transpose of a row-major (rows, columns) matrix, rows `target_stride` elements apart; in bfloat16 that is even
// and zeros make the number of rows even.
void transpose(const RowBlock& source, int64_t num_columns, at::ScalarType type, void* target, int64_t target_stride);

// A whole matrix in panels, packed by all threads. Its columns are groups of equal size, each of which begins a panel:
// as many panels for each group, one group after another.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  static PackedMatrix of(const at::Tensor& matrix);                                     // (K, N), dense, one group
  static PackedMatrix of_transposed(const at::Tensor& matrix, int64_t num_groups = 1);  // (N, K), dense: its transpose

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

// Into how many rows a product with so many panels is cut, so that all threads have a part.
int64_t rows_for_all_threads(int64_t num_rows, int64_t num_panels);

// (R, K) x (K, N), one group, to a dense (R, N), in the type of the rows, by all threads.
void multiply_all(const at::Tensor& rows, const PackedMatrix& matrix, const at::Tensor& product);

}  // namespace rnnlab
