// Products of bfloat16 matrices by the tile units (AMX) of newer Xeons, summed in float32. Whether the processor has
// them is asked at run time. The kernels configure the tiles themselves and depend on no library's memory of what it
// configured: oneDNN's primitives configure and release the tiles of a thread too, and LibTorch's block kernels then
// run on tiles that are not configured, which is an illegal instruction.
#pragma once

#include <cstdint>

namespace rnnlab::kernels {

// Columns of a packed right matrix, of which both rows of each pair are interleaved. Zeros make its depth a multiple of
// kTileDepth.
inline constexpr int64_t kTileColumns = 64;
inline constexpr int64_t kTileDepth = 32;

// (rows, depth) x (depth, columns) to or onto (rows, columns); strides in elements.
struct TileProduct {
  const uint16_t* left = nullptr;
  int64_t left_stride = 0;
  int64_t num_rows = 0;
  int64_t depth = 0;
  const uint16_t* right = nullptr;  // packed
  int64_t num_columns = 0;          // up to kTileColumns
  float* sum = nullptr;
  int64_t sum_stride = 0;
  bool adds = false;  // to what is in the sum
};

// Whether processor and system let this process use tiles. Linux is asked for them at the first call.
bool has_tiles();

// Between both calls, in one thread, only multiply_tiles uses tiles.
void configure_tiles();
void release_tiles();

void multiply_tiles(const TileProduct& product);

}  // namespace rnnlab::kernels
