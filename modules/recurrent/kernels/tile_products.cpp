#include "recurrent/kernels/tile_products.h"

#ifdef RNNLAB_EMULATED_TILES
#include "emulated_tiles.h"
#else
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstring>

namespace rnnlab::kernels {
namespace {

// Tiles 0 to 3 hold sums, the others operands: two of the left and two of the right matrix for 32 rows at once, and one
// and three for 16.
constexpr int64_t kRows = 16;
constexpr int64_t kColumns = 16;  // of float32; in words of two bfloat16 rows likewise
constexpr int64_t kBytesOfRow = 64;
constexpr int64_t kStrideOfRight = kTileColumns * 4;
constexpr int64_t kPairs = kTileDepth / 2;

struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t bytes_of_row[16] = {};
  uint8_t rows[16] = {};
};

// The tiles of the right matrix always have 16 rows, those of the left one and of sums as many as there are.
void configure(int64_t num_rows) {
  TileConfiguration configuration;
  std::fill_n(configuration.bytes_of_row, 8, static_cast<uint16_t>(kBytesOfRow));
  std::fill_n(configuration.rows, 8, static_cast<uint8_t>(kRows));
  if (num_rows < kRows) std::fill_n(configuration.rows, 5, static_cast<uint8_t>(num_rows));
  _tile_loadconfig(&configuration);
}

// Operands as the tiles read them. The depth that fills no tile is read from a copy with zeros.
struct Left {
  const uint16_t* data;
  int64_t stride;  // in bytes
  int64_t num_tiles;
  const uint16_t* rest = nullptr;  // rows of kTileDepth elements

  Left from_row(int64_t row) const {
    return {data + row * stride / 2, stride, num_tiles, rest == nullptr ? nullptr : rest + row * kTileDepth};
  }
};

struct Sum {
  float* data;
  int64_t stride;  // in bytes
  bool adds;
};

float* at_tile(const Sum& sum, int64_t row, int64_t column) {
  return sum.data + row * kRows * sum.stride / 4 + column * kColumns;
}

// 32 rows and 32 columns.
void multiply_32_by_32(const Left& left, const uint16_t* right, const Sum& sum) {
  if (sum.adds) {
    _tile_loadd(0, at_tile(sum, 0, 0), sum.stride);
    _tile_loadd(1, at_tile(sum, 0, 1), sum.stride);
    _tile_loadd(2, at_tile(sum, 1, 0), sum.stride);
    _tile_loadd(3, at_tile(sum, 1, 1), sum.stride);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const auto multiply = [&](const uint16_t* rows, int64_t stride, const uint16_t* pairs) {
    _tile_loadd(6, pairs, kStrideOfRight);
    _tile_loadd(4, rows, stride);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(5, rows + kRows * stride / 2, stride);
    _tile_dpbf16ps(2, 5, 6);
    _tile_loadd(7, pairs + 2 * kColumns, kStrideOfRight);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(3, 5, 7);
  };
  for (int64_t i = 0; i < left.num_tiles; ++i)
    multiply(left.data + i * kTileDepth, left.stride, right + i * kPairs * 2 * kTileColumns);
  if (left.rest != nullptr) multiply(left.rest, kBytesOfRow, right + left.num_tiles * kPairs * 2 * kTileColumns);
  _tile_stored(0, at_tile(sum, 0, 0), sum.stride);
  _tile_stored(1, at_tile(sum, 0, 1), sum.stride);
  _tile_stored(2, at_tile(sum, 1, 0), sum.stride);
  _tile_stored(3, at_tile(sum, 1, 1), sum.stride);
}

// Up to 16 rows, as the tiles are configured, and 64 columns.
void multiply_16_by_64(const Left& left, const uint16_t* right, const Sum& sum) {
  if (sum.adds) {
    _tile_loadd(0, at_tile(sum, 0, 0), sum.stride);
    _tile_loadd(1, at_tile(sum, 0, 1), sum.stride);
    _tile_loadd(2, at_tile(sum, 0, 2), sum.stride);
    _tile_loadd(3, at_tile(sum, 0, 3), sum.stride);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const auto multiply = [&](const uint16_t* rows, int64_t stride, const uint16_t* pairs) {
    _tile_loadd(4, rows, stride);
    _tile_loadd(5, pairs, kStrideOfRight);
    _tile_dpbf16ps(0, 4, 5);
    _tile_loadd(6, pairs + 2 * kColumns, kStrideOfRight);
    _tile_dpbf16ps(1, 4, 6);
    _tile_loadd(7, pairs + 4 * kColumns, kStrideOfRight);
    _tile_dpbf16ps(2, 4, 7);
    _tile_loadd(5, pairs + 6 * kColumns, kStrideOfRight);
    _tile_dpbf16ps(3, 4, 5);
  };
  for (int64_t i = 0; i < left.num_tiles; ++i)
    multiply(left.data + i * kTileDepth, left.stride, right + i * kPairs * 2 * kTileColumns);
  if (left.rest != nullptr) multiply(left.rest, kBytesOfRow, right + left.num_tiles * kPairs * 2 * kTileColumns);
  _tile_stored(0, at_tile(sum, 0, 0), sum.stride);
  _tile_stored(1, at_tile(sum, 0, 1), sum.stride);
  _tile_stored(2, at_tile(sum, 0, 2), sum.stride);
  _tile_stored(3, at_tile(sum, 0, 3), sum.stride);
}

// All 64 columns. Half a panel stays in the first cache while the rows pass it.
void multiply_wide(const TileProduct& product, const Left& left, const Sum& sum) {
  const int64_t num_doubled = product.num_rows / (2 * kRows) * (2 * kRows);
  for (int64_t column = 0; column < kTileColumns; column += 2 * kColumns)
    for (int64_t row = 0; row < num_doubled; row += 2 * kRows)
      multiply_32_by_32(left.from_row(row), product.right + 2 * column,
                        {sum.data + row * sum.stride / 4 + column, sum.stride, sum.adds});
  int64_t row = num_doubled;
  const auto multiply_rest = [&] {
    multiply_16_by_64(left.from_row(row), product.right, {sum.data + row * sum.stride / 4, sum.stride, sum.adds});
  };
  if (product.num_rows - row >= kRows) {
    multiply_rest();
    row += kRows;
  }
  if (product.num_rows == row) return;
  configure(product.num_rows - row);
  multiply_rest();
  configure(kRows);
}

// Fewer columns: by way of sums as wide as a panel.
void multiply_narrow(const TileProduct& product, const Left& left) {
  alignas(64) float wide[2 * kRows * kTileColumns];
  const auto width = static_cast<size_t>(product.num_columns) * sizeof(float);
  for (int64_t row = 0; row < product.num_rows; row += 2 * kRows) {
    TileProduct part = product;
    part.num_rows = std::min(2 * kRows, product.num_rows - row);
    float* sum = product.sum + row * product.sum_stride;
    if (product.adds)
      for (int64_t i = 0; i < part.num_rows; ++i)
        std::memcpy(wide + i * kTileColumns, sum + i * product.sum_stride, width);
    multiply_wide(part, left.from_row(row), {wide, kTileColumns * 4, product.adds});
    for (int64_t i = 0; i < part.num_rows; ++i)
      std::memcpy(sum + i * product.sum_stride, wide + i * kTileColumns, width);
  }
}

void multiply_rows(const TileProduct& product, const Left& left) {
  if (product.num_columns < kTileColumns) return multiply_narrow(product, left);
  multiply_wide(product, left, {product.sum, product.sum_stride * 4, product.adds});
}

// The depth that fills no tile is copied for some rows at a time.
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
    multiply_rows(part, {part.left, part.left_stride * 2, part.depth / kTileDepth, copy});
  }
}

#ifndef RNNLAB_EMULATED_TILES
bool processor_has_tiles() {
  constexpr unsigned kBfloat16 = 1U << 22, kTile = 1U << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  return (d & kBfloat16) != 0 && (d & kTile) != 0;
}

// Linux gives a process the room for tiles on request only: ARCH_REQ_XCOMP_PERM for XFEATURE_XTILEDATA.
bool system_allows_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

}  // namespace

bool has_tiles() {
  static const bool kHasTiles = processor_has_tiles() && system_allows_tiles();
  return kHasTiles;
}

void configure_tiles() { configure(kRows); }
void release_tiles() { _tile_release(); }

void multiply_tiles(const TileProduct& product) {
  const int64_t rest = product.depth % kTileDepth;
  if (rest != 0) return multiply_with_rest(product, rest);
  multiply_rows(product, {product.left, product.left_stride * 2, product.depth / kTileDepth});
}

}  // namespace rnnlab::kernels
