// SPDX-License-Identifier: Apache-2.0
#include "layers/blocked/panel.h"

#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>
#include <ATen/ops/constant_pad_nd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <vector>

#include "layers/cpu_buffer_pool.h"
#include "layers/kernels/simd_steps.h"
#include "layers/kernels/tile_products.h"

namespace rnnlab {
namespace {

namespace cpublas = at::native::cpublas;

// This number of rows of a panel is multiplied at once, because these rows fit into the L2 cache together with the
// block's rows.
constexpr int64_t kDepthAtOnce = 512;

// Limits of the number of rows that share one pass over a panel; it is smaller if threads would otherwise have no work.
constexpr int64_t kLeastRowsAtOnce = 32, kMostRowsAtOnce = 128;

static_assert(kPanelWidth == kernels::kTileColumns);

int64_t size_of(at::ScalarType type) { return type == at::kFloat ? 4 : 2; }
int64_t rounded_up(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

// Returns the number of rows of a panel in memory.
int64_t padded_depth(at::ScalarType type, int64_t depth) {
  return type == at::kFloat ? depth : rounded_up(depth, kernels::kTileDepth);
}

const void* at_element(const void* data, at::ScalarType type, int64_t index) {
  return static_cast<const std::byte*>(data) + index * size_of(type);
}
void* at_element(void* data, at::ScalarType type, int64_t index) {
  return static_cast<std::byte*>(data) + index * size_of(type);
}

void multiply_part(const RowBlock& rows, const Panel& panel, int64_t first, int64_t depth, const SumBlock& sum,
                   Accumulate accumulate) {
  const void* a = at_element(rows.data, panel.type, first);
  const void* b = at_element(panel.data, panel.type, first * kPanelWidth);
  const bool adds = accumulate == Accumulate::kAdd;
  if (panel.type == at::kFloat)
    return cpublas::brgemm(rows.num_rows, panel.num_columns, depth, rows.stride, kPanelWidth, sum.stride, adds,
                           static_cast<const float*>(a), static_cast<const float*>(b), sum.data, /*is_vnni=*/false);
  if (multiplies_by_tiles(panel.type))
    return kernels::multiply_tiles({static_cast<const uint16_t*>(a), rows.stride, rows.num_rows, depth,
                                    static_cast<const uint16_t*>(b), panel.num_columns, sum.data, sum.stride, adds});
  cpublas::brgemm(rows.num_rows, panel.num_columns, depth, rows.stride, kPanelWidth, sum.stride, adds,
                  static_cast<const at::BFloat16*>(a), static_cast<const at::BFloat16*>(b), sum.data,
                  /*is_vnni=*/true);
}

// Only LibTorch knows whether the kernel runs here; it throws if not.
bool try_product(at::ScalarType type) {
  if (kernels::simd_steps() == nullptr) return false;
  alignas(64) std::array<float, kernels::kTileDepth* kPanelWidth> zeros = {};
  alignas(64) std::array<float, kPanelWidth> sum = {};
  try {
    const ProductSeries series(type);
    multiply({zeros.data(), 2, 1}, {zeros.data(), type, 2, kPanelWidth}, {sum.data(), kPanelWidth},
             Accumulate::kOverwrite);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// Writes both rows of each pair as one row of 32-bit words.
void interleave_rows(const RowBlock& source, int64_t num_columns, void* target, int64_t target_stride) {
  const std::vector<uint16_t> zeros(static_cast<size_t>(num_columns));
  const auto* rows = static_cast<const uint16_t*>(source.data);
  for (int64_t i = 0; i < source.num_rows; i += 2) {
    const uint16_t* odd = i + 1 < source.num_rows ? rows + (i + 1) * source.stride : zeros.data();
    kernels::simd_steps()->interleave(rows + i * source.stride, odd, num_columns,
                                      static_cast<int32_t*>(target) + i / 2 * target_stride);
  }
}

// Clears the rows that fill a panel up to its padded depth.
void clear_padding(at::ScalarType type, int64_t depth, void* panel) {
  const int64_t first = packed_depth(type, depth) * kPanelWidth, last = padded_depth(type, depth) * kPanelWidth;
  std::memset(at_element(panel, type, first), 0, static_cast<size_t>((last - first) * size_of(type)));
}

// Writes directly into the product if it is float32, else through a block of float32 sums.
void multiply_block(const RowBlock& rows, const Panel& panel, void* product, int64_t stride, std::vector<float>& sums) {
  if (panel.type == at::kFloat)
    return multiply(rows, panel, {static_cast<float*>(product), stride}, Accumulate::kOverwrite);
  sums.resize(static_cast<size_t>(rows.num_rows * kPanelWidth));
  multiply(rows, panel, {sums.data(), kPanelWidth}, Accumulate::kOverwrite);
  for (int64_t i = 0; i < rows.num_rows; ++i)
    kernels::simd_steps()->narrow(sums.data() + i * kPanelWidth, panel.num_columns,
                                  at_element(product, panel.type, i * stride));
}

}  // namespace

bool has_panel_products(at::ScalarType type) {
  static const bool kHasFloat = try_product(at::kFloat);
  static const bool kHasBfloat16 = try_product(at::kBFloat16);
  return (type == at::kFloat && kHasFloat) || (type == at::kBFloat16 && kHasBfloat16);
}

bool multiplies_by_tiles(at::ScalarType type) { return type == at::kBFloat16 && kernels::has_tiles(); }

void multiply(const RowBlock& rows, const Panel& panel, const SumBlock& sum, Accumulate accumulate) {
  const int64_t num_parts = (panel.depth + kDepthAtOnce - 1) / kDepthAtOnce;
  const int64_t part = rounded_up((panel.depth + num_parts - 1) / num_parts, kernels::kTileDepth);
  for (int64_t first = 0; first < panel.depth; first += part)
    multiply_part(rows, panel, first, std::min(part, panel.depth - first), sum,
                  first > 0 ? Accumulate::kAdd : accumulate);
}

ProductSeries::ProductSeries(at::ScalarType type) : has_tiles_(multiplies_by_tiles(type)) {
  if (has_tiles_) kernels::configure_tiles();
}
ProductSeries::~ProductSeries() {
  if (has_tiles_) kernels::release_tiles();
}

int64_t panel_bytes(at::ScalarType type, int64_t depth) {
  return padded_depth(type, depth) * kPanelWidth * size_of(type);
}

int64_t packed_depth(at::ScalarType type, int64_t depth) { return type == at::kFloat ? depth : rounded_up(depth, 2); }

void pack_panel(const RowBlock& source, int64_t num_columns, at::ScalarType type, void* target) {
  if (type != at::kFloat) {
    clear_padding(type, source.num_rows, target);
    return interleave_rows(source, num_columns, target, kPanelWidth);
  }
  const auto* from = static_cast<const float*>(source.data);
  auto* to = static_cast<float*>(target);
  for (int64_t i = 0; i < source.num_rows; ++i)
    std::copy_n(from + i * source.stride, num_columns, to + i * kPanelWidth);
}

void transpose(const RowBlock& source, int64_t num_columns, at::ScalarType type, void* target, int64_t target_stride) {
  const auto& steps = *kernels::simd_steps();
  if (type == at::kFloat)
    return steps.transpose({source.data, source.stride, source.num_rows, num_columns}, target, target_stride);
  // In bfloat16 a 32-bit word holds a pair of rows, whose elements are neighbours after the transposition.
  constexpr int64_t kPairsAtOnce = 16;
  std::vector<int32_t> words(static_cast<size_t>(kPairsAtOnce * num_columns));
  for (int64_t first = 0; first < source.num_rows; first += 2 * kPairsAtOnce) {
    const int64_t num_rows = std::min(2 * kPairsAtOnce, source.num_rows - first);
    interleave_rows({at_element(source.data, type, first * source.stride), source.stride, num_rows}, num_columns,
                    words.data(), num_columns);
    steps.transpose({words.data(), num_columns, (num_rows + 1) / 2, num_columns}, at_element(target, type, first),
                    target_stride / 2);
  }
}

PackedMatrix::PackedMatrix(at::ScalarType type, int64_t depth, int64_t num_groups, int64_t group_size)
    : type_(type), depth_(depth), num_groups_(num_groups), group_size_(group_size) {
  storage_ = empty_pooled({num_panels() * panel_bytes(type, depth)}, at::kByte);
}

void* PackedMatrix::data_of(int64_t index) const {
  return static_cast<std::byte*>(storage_.data_ptr()) + index * panel_bytes(type_, depth_);
}

int64_t PackedMatrix::columns_of(int64_t index) const {
  return std::min(kPanelWidth, group_size_ - index % panels_of_group() * kPanelWidth);
}

int64_t PackedMatrix::first_column_of(int64_t index) const {
  return index / panels_of_group() * group_size_ + index % panels_of_group() * kPanelWidth;
}

Panel PackedMatrix::panel(int64_t index) const { return {data_of(index), type_, depth_, columns_of(index)}; }

PackedMatrix PackedMatrix::of(const at::Tensor& matrix) {
  const at::ScalarType type = matrix.scalar_type();
  PackedMatrix packed(type, matrix.size(0), /*num_groups=*/1, matrix.size(1));
  at::parallel_for(0, packed.num_panels(), 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      pack_panel({at_element(matrix.const_data_ptr(), type, i * kPanelWidth), matrix.size(1), matrix.size(0)},
                 packed.columns_of(i), type, packed.data_of(i));
  });
  return packed;
}

PackedMatrix PackedMatrix::of_transposed(const at::Tensor& matrix, int64_t num_groups) {
  const at::ScalarType type = matrix.scalar_type();
  PackedMatrix packed(type, matrix.size(1), num_groups, matrix.size(0) / num_groups);
  // Pairs of rows of the panel are pairs of columns here, which form 32-bit words if the number of columns is even.
  const bool is_odd = type != at::kFloat && packed.depth_ % 2 != 0;
  const at::Tensor source = is_odd ? at::constant_pad_nd(matrix, {0, 1}) : matrix;
  const int64_t num_words = source.size(1) * size_of(type) / 4;
  at::parallel_for(0, packed.num_panels(), 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      clear_padding(type, packed.depth_, packed.data_of(i));
      kernels::simd_steps()->transpose(
          {at_element(source.const_data_ptr(), at::kFloat, packed.first_column_of(i) * num_words), num_words,
           packed.columns_of(i), num_words},
          packed.data_of(i), kPanelWidth);
    }
  });
  return packed;
}

int64_t rows_for_all_threads(int64_t num_rows, int64_t num_panels) {
  const int64_t num_blocks = (at::get_num_threads() + num_panels - 1) / num_panels;
  return std::clamp(rounded_up((num_rows + num_blocks - 1) / num_blocks, kLeastRowsAtOnce), kLeastRowsAtOnce,
                    kMostRowsAtOnce);
}

void multiply_all(const at::Tensor& rows, const PackedMatrix& matrix, const at::Tensor& product) {
  const at::ScalarType type = rows.scalar_type();
  const int64_t num_rows = rows.size(0), stride = product.size(1), num_panels = matrix.num_panels();
  const int64_t rows_at_once = rows_for_all_threads(num_rows, num_panels);
  const int64_t num_blocks = (num_rows + rows_at_once - 1) / rows_at_once;
  at::parallel_for(0, num_blocks * num_panels, 1, [&](int64_t first, int64_t last) {
    const ProductSeries series(type);
    std::vector<float> sums;
    for (int64_t task = first; task < last; ++task) {
      const int64_t row = task / num_panels * rows_at_once, panel = task % num_panels;
      const RowBlock block = {at_element(rows.const_data_ptr(), type, row * rows.size(1)), rows.size(1),
                              std::min(rows_at_once, num_rows - row)};
      multiply_block(block, matrix.panel(panel),
                     at_element(product.data_ptr(), type, row * stride + panel * kPanelWidth), stride, sums);
    }
  });
}

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
