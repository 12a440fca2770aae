// Multiplies bfloat16 matrices by the tile units (AMX) of newer Xeons, summed in float32. Support is checked at run
// time. The kernels configure the tiles themselves and do not rely on the configuration that a library remembers:
// oneDNN's primitives configure and release the tiles of a thread too, and LibTorch's block kernels then run on tiles
// that are not configured, which is an illegal instruction.
#pragma once

#include <cstdint>

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

}  // namespace rnnlab::kernels
