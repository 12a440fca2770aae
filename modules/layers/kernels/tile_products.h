// SPDX-License-Identifier: Apache-2.0
// Multiplies bfloat16 matrices by the tile units (AMX) of newer Xeons, summed in float32. Support is checked at run
// time. The kernels configure the tiles themselves and do not rely on the configuration that a library remembers:
// oneDNN's primitives configure and release the tiles of a thread too, and LibTorch's block kernels then run on tiles
// that are not configured, which is an illegal instruction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace rnnlab::kernels {

// A packed right matrix has this number of columns, and both rows of each pair are interleaved. Zeros make its depth a
// multiple of kTileDepth.
inline constexpr int64_t kTileColumns = 64;
inline constexpr int64_t kTileDepth = 32;

// Computes (rows, depth) x (depth, columns), and writes or adds it to (rows, columns); strides are in elements.
struct TileProduct {
  const uint16_t* left = nullptr;
  int64_t left_stride = 0;
  int64_t num_rows = 0;
  int64_t depth = 0;
  const uint16_t* right = nullptr;  // packed
  int64_t num_columns = 0;          // up to kTileColumns
  float* sum = nullptr;
  int64_t sum_stride = 0;
  bool adds = false;  // adds the product to the present sum
};

// Returns whether the processor and the system let this process use tiles. The first call requests permission from
// Linux.
bool has_tiles();

// Between these two calls, only multiply_tiles may use tiles in this thread.
void configure_tiles();
void release_tiles();

void multiply_tiles(const TileProduct& product);

// The implementation, for the tiles of the processor or, in tests, of a program that emulates them. `Tiles` has static
// functions: configure(TileConfiguration), zero<tile>(), load<tile>(data, stride in bytes), store<tile>(data, stride),
// and multiply<sum, left, right>() of tiles.

// Tiles 0 to 3 hold sums, the other tiles hold operands: for 32 rows at once two tiles of the left and two of the right
// matrix, for 16 rows one and three.
inline constexpr int64_t kRowsOfTile = 16;
inline constexpr int64_t kColumnsOfTile = 16;  // in float32, or in words of two bfloat16 rows
inline constexpr int64_t kBytesOfRow = 64;
inline constexpr int64_t kStrideOfRight = kTileColumns * 4;
inline constexpr int64_t kPairsOfTile = kTileDepth / 2;

struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t bytes_of_row[16] = {};
  uint8_t rows[16] = {};
};

// The tiles of the right matrix always have 16 rows; the tiles of the left matrix and of sums have `num_rows` rows.
template <class Tiles>
void configure(int64_t num_rows) {
  TileConfiguration configuration;
  std::fill_n(configuration.bytes_of_row, 8, static_cast<uint16_t>(kBytesOfRow));
  std::fill_n(configuration.rows, 8, static_cast<uint8_t>(kRowsOfTile));
  if (num_rows < kRowsOfTile) std::fill_n(configuration.rows, 5, static_cast<uint8_t>(num_rows));
  Tiles::configure(configuration);
}

// The left operand as the tiles read it. A rest of the depth that does not fill a tile is read from a copy with zeros.
struct LeftOperand {
  const uint16_t* data;
  int64_t stride;  // in bytes
  int64_t num_tiles;
  const uint16_t* rest = nullptr;  // rows of kTileDepth elements

  LeftOperand from_row(int64_t row) const {
    return {data + row * stride / 2, stride, num_tiles, rest == nullptr ? nullptr : rest + row * kTileDepth};
  }
};

struct TileSum {
  float* data;
  int64_t stride;  // in bytes
  bool adds;
};

inline float* at_tile(const TileSum& sum, int64_t row, int64_t column) {
  return sum.data + row * kRowsOfTile * sum.stride / 4 + column * kColumnsOfTile;
}

// Multiplies 32 rows and 32 columns.
template <class Tiles>
void multiply_32_by_32(const LeftOperand& left, const uint16_t* right, const TileSum& sum) {
  if (sum.adds) {
    Tiles::template load<0>(at_tile(sum, 0, 0), sum.stride);
    Tiles::template load<1>(at_tile(sum, 0, 1), sum.stride);
    Tiles::template load<2>(at_tile(sum, 1, 0), sum.stride);
    Tiles::template load<3>(at_tile(sum, 1, 1), sum.stride);
  } else {
    Tiles::template zero<0>();
    Tiles::template zero<1>();
    Tiles::template zero<2>();
    Tiles::template zero<3>();
  }
  const auto multiply = [&](const uint16_t* rows, int64_t stride, const uint16_t* pairs) {
    Tiles::template load<6>(pairs, kStrideOfRight);
    Tiles::template load<4>(rows, stride);
    Tiles::template multiply<0, 4, 6>();
    Tiles::template load<5>(rows + kRowsOfTile * stride / 2, stride);
    Tiles::template multiply<2, 5, 6>();
    Tiles::template load<7>(pairs + 2 * kColumnsOfTile, kStrideOfRight);
    Tiles::template multiply<1, 4, 7>();
    Tiles::template multiply<3, 5, 7>();
  };
  for (int64_t i = 0; i < left.num_tiles; ++i)
    multiply(left.data + i * kTileDepth, left.stride, right + i * kPairsOfTile * 2 * kTileColumns);
  if (left.rest != nullptr) multiply(left.rest, kBytesOfRow, right + left.num_tiles * kPairsOfTile * 2 * kTileColumns);
  Tiles::template store<0>(at_tile(sum, 0, 0), sum.stride);
  Tiles::template store<1>(at_tile(sum, 0, 1), sum.stride);
  Tiles::template store<2>(at_tile(sum, 1, 0), sum.stride);
  Tiles::template store<3>(at_tile(sum, 1, 1), sum.stride);
}

// Multiplies up to 16 rows, as the tiles are configured, and 64 columns.
template <class Tiles>
void multiply_16_by_64(const LeftOperand& left, const uint16_t* right, const TileSum& sum) {
  if (sum.adds) {
    Tiles::template load<0>(at_tile(sum, 0, 0), sum.stride);
    Tiles::template load<1>(at_tile(sum, 0, 1), sum.stride);
    Tiles::template load<2>(at_tile(sum, 0, 2), sum.stride);
    Tiles::template load<3>(at_tile(sum, 0, 3), sum.stride);
  } else {
    Tiles::template zero<0>();
    Tiles::template zero<1>();
    Tiles::template zero<2>();
    Tiles::template zero<3>();
  }
  const auto multiply = [&](const uint16_t* rows, int64_t stride, const uint16_t* pairs) {
    Tiles::template load<4>(rows, stride);
    Tiles::template load<5>(pairs, kStrideOfRight);
    Tiles::template multiply<0, 4, 5>();
    Tiles::template load<6>(pairs + 2 * kColumnsOfTile, kStrideOfRight);
    Tiles::template multiply<1, 4, 6>();
    Tiles::template load<7>(pairs + 4 * kColumnsOfTile, kStrideOfRight);
    Tiles::template multiply<2, 4, 7>();
    Tiles::template load<5>(pairs + 6 * kColumnsOfTile, kStrideOfRight);
    Tiles::template multiply<3, 4, 5>();
  };
  for (int64_t i = 0; i < left.num_tiles; ++i)
    multiply(left.data + i * kTileDepth, left.stride, right + i * kPairsOfTile * 2 * kTileColumns);
  if (left.rest != nullptr) multiply(left.rest, kBytesOfRow, right + left.num_tiles * kPairsOfTile * 2 * kTileColumns);
  Tiles::template store<0>(at_tile(sum, 0, 0), sum.stride);
  Tiles::template store<1>(at_tile(sum, 0, 1), sum.stride);
  Tiles::template store<2>(at_tile(sum, 0, 2), sum.stride);
  Tiles::template store<3>(at_tile(sum, 0, 3), sum.stride);
}

// Multiplies all 64 columns. Half a panel stays in the L1 cache while all rows are multiplied by it.
template <class Tiles>
void multiply_wide(const TileProduct& product, const LeftOperand& left, const TileSum& sum) {
  const int64_t num_doubled = product.num_rows / (2 * kRowsOfTile) * (2 * kRowsOfTile);
  for (int64_t column = 0; column < kTileColumns; column += 2 * kColumnsOfTile)
    for (int64_t row = 0; row < num_doubled; row += 2 * kRowsOfTile)
      multiply_32_by_32<Tiles>(left.from_row(row), product.right + 2 * column,
                               {sum.data + row * sum.stride / 4 + column, sum.stride, sum.adds});
  int64_t row = num_doubled;
  const auto multiply_rest = [&] {
    multiply_16_by_64<Tiles>(left.from_row(row), product.right,
                             {sum.data + row * sum.stride / 4, sum.stride, sum.adds});
  };
  if (product.num_rows - row >= kRowsOfTile) {
    multiply_rest();
    row += kRowsOfTile;
  }
  if (product.num_rows == row) return;
  configure<Tiles>(product.num_rows - row);
  multiply_rest();
  configure<Tiles>(kRowsOfTile);
}

// Multiplies fewer columns, into sums that are as wide as a panel and are copied.
template <class Tiles>
void multiply_narrow(const TileProduct& product, const LeftOperand& left) {
  alignas(64) float wide[2 * kRowsOfTile * kTileColumns];
  const auto width = static_cast<size_t>(product.num_columns) * sizeof(float);
  for (int64_t row = 0; row < product.num_rows; row += 2 * kRowsOfTile) {
    TileProduct part = product;
    part.num_rows = std::min(2 * kRowsOfTile, product.num_rows - row);
    float* sum = product.sum + row * product.sum_stride;
    if (product.adds)
      for (int64_t i = 0; i < part.num_rows; ++i)
        std::memcpy(wide + i * kTileColumns, sum + i * product.sum_stride, width);
    multiply_wide<Tiles>(part, left.from_row(row), {wide, kTileColumns * 4, product.adds});
    for (int64_t i = 0; i < part.num_rows; ++i)
      std::memcpy(sum + i * product.sum_stride, wide + i * kTileColumns, width);
  }
}

template <class Tiles>
void multiply_rows(const TileProduct& product, const LeftOperand& left) {
  if (product.num_columns < kTileColumns) return multiply_narrow<Tiles>(product, left);
  multiply_wide<Tiles>(product, left, {product.sum, product.sum_stride * 4, product.adds});
}

// Copies the rest of the depth that does not fill a tile, for some rows at a time.
template <class Tiles>
void multiply_with_rest(const TileProduct& product, int64_t rest) {
  constexpr int64_t kRowsTogether = 128;
  alignas(64) uint16_t copy[kRowsTogether * kTileDepth] = {};
  for (int64_t first = 0; first < product.num_rows; first += kRowsTogether) {
    TileProduct part = product;
    part.num_rows = std::min(kRowsTogether, product.num_rows - first);
    part.left += first * product.left_stride;
    part.sum += first * product.sum_stride;
    for (int64_t row = 0; row < part.num_rows; ++row)
      std::memcpy(copy + row * kTileDepth, part.left + row * part.left_stride + product.depth - rest,
                  static_cast<size_t>(rest) * sizeof(uint16_t));
    multiply_rows<Tiles>(part, {part.left, part.left_stride * 2, part.depth / kTileDepth, copy});
  }
}

// The tiles must have been configured by configure(16).
template <class Tiles>
void multiply_by(const TileProduct& product) {
  const int64_t rest = product.depth % kTileDepth;
  if (rest != 0) return multiply_with_rest<Tiles>(product, rest);
  multiply_rows<Tiles>(product, {product.left, product.left_stride * 2, product.depth / kTileDepth});
}

}  // namespace rnnlab::kernels
