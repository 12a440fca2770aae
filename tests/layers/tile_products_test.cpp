// SPDX-License-Identifier: Apache-2.0
// Tests the products of tile units. PanelProducts uses the processor's own tiles if there are any. Here a program
// emulates the tiles, so that every machine tests which rows and columns are read and written.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "layers/kernels/tile_products.h"

namespace rnnlab::kernels {
namespace {

// Eight tiles of 16 rows of 64 bytes. An instruction without a configuration, or for tiles that do not fit each other,
// fails as it does on the processor.
struct PlayedTiles {
  using Tile = std::array<std::array<std::byte, 64>, 16>;

  static void configure(const TileConfiguration& wanted) {
    configuration = wanted;
    tiles = {};
  }
  template <int tile>
  static void zero() {
    require(configuration.palette == 1);
    tiles[tile] = {};
  }
  template <int tile>
  static void load(const void* data, int64_t stride) {
    zero<tile>();
    for (int row = 0; row < configuration.rows[tile]; ++row)
      std::memcpy(tiles[tile][row].data(), static_cast<const std::byte*>(data) + row * stride,
                  configuration.bytes_of_row[tile]);
  }
  template <int tile>
  static void store(void* data, int64_t stride) {
    require(configuration.palette == 1);
    for (int row = 0; row < configuration.rows[tile]; ++row)
      std::memcpy(static_cast<std::byte*>(data) + row * stride, tiles[tile][row].data(),
                  configuration.bytes_of_row[tile]);
  }
  template <int sum, int left, int right>
  static void multiply() {
    require(configuration.rows[sum] == configuration.rows[left] &&
            configuration.bytes_of_row[left] == 4 * configuration.rows[right]);
    for (int row = 0; row < configuration.rows[sum]; ++row)
      for (int column = 0; column < 16; ++column)
        for (int pair = 0; pair < configuration.rows[right]; ++pair)
          for (int i = 0; i < 2; ++i)
            add(tiles[sum][row], column,
                bfloat16_at(tiles[left][row], 2 * pair + i) * bfloat16_at(tiles[right][pair], 2 * column + i));
  }

  static void require(bool is_legal) {
    if (!is_legal) throw std::logic_error("an illegal instruction");
  }
  static float bfloat16_at(const std::array<std::byte, 64>& row, int index) {
    uint16_t bits = 0;
    std::memcpy(&bits, row.data() + 2 * index, 2);
    return std::bit_cast<float>(uint32_t{bits} << 16);
  }
  static void add(std::array<std::byte, 64>& row, int index, float value) {
    float sum = 0;
    std::memcpy(&sum, row.data() + 4 * index, 4);
    sum += value;
    std::memcpy(row.data() + 4 * index, &sum, 4);
  }

  inline static TileConfiguration configuration = {.palette = 0};
  inline static std::array<Tile, 8> tiles = {};
};

// Beyond the columns that count there are numbers that spoil every sum that they reach.
at::Tensor packed(const at::Tensor& right) {
  const int64_t depth = (right.size(0) + kTileDepth - 1) / kTileDepth * kTileDepth;
  at::Tensor wide = at::full({depth, kTileColumns}, std::numeric_limits<float>::quiet_NaN()).to(at::kBFloat16);
  wide.narrow(1, 0, right.size(1)).zero_();
  wide.narrow(0, 0, right.size(0)).narrow(1, 0, right.size(1)).copy_(right);
  return wide.view({depth / 2, 2, kTileColumns}).permute({0, 2, 1}).contiguous();
}

struct Shape {
  int64_t num_rows, depth, num_columns;
};

void expect_product(const Shape& shape, bool adds) {
  SCOPED_TRACE(::testing::Message() << shape.num_rows << " x " << shape.depth << " x " << shape.num_columns);
  const at::Tensor left = at::randn({shape.num_rows, shape.depth + 3}).to(at::kBFloat16);
  const at::Tensor right = at::randn({shape.depth, shape.num_columns}).to(at::kBFloat16);
  const at::Tensor pairs = packed(right), sum = at::randn({shape.num_rows, shape.num_columns + 2});
  at::Tensor wanted = sum.clone();
  at::Tensor part = wanted.narrow(1, 0, shape.num_columns);
  if (!adds) part.zero_();
  part.add_(at::mm(left.narrow(1, 0, shape.depth).to(at::kFloat), right.to(at::kFloat)));
  configure<PlayedTiles>(kRowsOfTile);
  multiply_by<PlayedTiles>({static_cast<const uint16_t*>(left.const_data_ptr()), left.size(1), shape.num_rows,
                            shape.depth, static_cast<const uint16_t*>(pairs.const_data_ptr()), shape.num_columns,
                            sum.mutable_data_ptr<float>(), sum.size(1), adds});
  EXPECT_LE((sum - wanted).abs().max().item<double>(), 1e-4);
}

TEST(TileProducts, AreThoseOfMatricesOfAnyShape) {
  at::manual_seed(1);
  for (const int64_t num_rows : {1, 15, 16, 17, 32, 33, 48, 130})
    for (const int64_t depth : {1, 2, 31, 32, 33, 100})
      for (const int64_t num_columns : {1, 16, 63, 64})
        for (const bool adds : {false, true}) expect_product({num_rows, depth, num_columns}, adds);
}

TEST(TileProducts, AreRefusedByTilesThatNobodyConfigured) {
  PlayedTiles::configuration = {.palette = 0};
  const std::vector<uint16_t> operand(32 * 64);
  std::vector<float> sum(16 * 64);
  EXPECT_THROW(multiply_by<PlayedTiles>({operand.data(), 32, 16, 32, operand.data(), 64, sum.data(), 64, false}),
               std::logic_error);
}

}  // namespace
}  // namespace rnnlab::kernels
