// SPDX-License-Identifier: Apache-2.0
// Constants of host and device: the classes of precision and the sizes of cells, the sizes of warps
// and of tiles, the shared memory of a block, and how many of its weights a warp keeps where. block/tiles.h,
// cluster/tiles.h and grid/tiles.h derive all other sizes of a kernel from these. Left out: arithmetic (numbers.h,
// program_cell.h).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace rnnlab::kernels::persistent {

// Classes of precision: what a layer's tensors hold, and what the numbers in its recurrent products are rounded to.
// Sums, activations, cell states and gradients of states are float32 in all classes, except sums on their way through
// L2 (grid/exchange.h).

// The bits of float16 and of bfloat16. CUDA's own types would need CUDA's headers when a kernel is compiled.
struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

// Value: a number in the layer's tensors. Operand: 16 bits, as tensor cores multiply them. A number in a product is the
// sum of kParts operands.
template <class ValueOf, class OperandOf, int kPartsOf>
struct Numbers {
  using Value = ValueOf;
  using Operand = OperandOf;
  static constexpr int kParts = kPartsOf;
  // States whether gradients are scaled before products: float16 has a smaller range than float32, bfloat16 has the
  // same.
  static constexpr bool kIsScaled = std::is_same_v<Operand, Half>;
};

using Float16 = Numbers<Half, Half, 1>;
using Bfloat16 = Numbers<Bfloat, Bfloat, 1>;
using Tf32 = Numbers<float, Half, 1>;     // float16 has TF32's mantissa
using Float32 = Numbers<float, Half, 2>;  // two float16 have 22 of float32's 24 bits

// Sizes of the cells, as program_cell.h explains them: of a cell that runs a program, and of sLSTM.
template <int kGatesOf>
struct ProgramSizes {
  static constexpr int kGates = kGatesOf;
  static constexpr int kStates = 1;
};

struct SlstmSizes {
  static constexpr int kGates = 4;  // i f z o
  static constexpr int kKept = 5;   // the gates, activated, and the derivative of log sigmoid of the forget gate
  static constexpr int kStates = 3;
  static constexpr int kVectors = 0;
};

// States whether a layer is exactly as large as its kernel, or may be smaller. In the first case all places in tensors
// are known when the kernel is compiled.
enum class Fit { kWhole, kPadded };

// Warps, tiles, and the shared memory of a block. A fragment is a warp's 16 rows by 16 columns of weights as operands:
// 16 bytes, which are 8 operands, of each lane.

constexpr int kLanes = 32;  // threads of a warp
constexpr int kUnitsPerWarp = 8;
constexpr int kSequencesPerTile = 8;  // columns of the right operand of mma.m16n8k16
constexpr int kTileRows = 16;         // rows of its left operand
constexpr int kSequencesOfSums = 4;   // sequences of a row of PersistentBackward::bias_sums
constexpr int kColumnsAtOnce = 32;    // hidden states that the four lanes of a row read with one load each
constexpr int kFragmentBytesPerWarp = 512;
constexpr int kOtherSharedBytes = 1024;  // at most what a block has besides buffers and weights: mbarriers and the like

// The shared memory that a block may have on GPUs of compute capability 9.0 and 10.x, of 8.0 and 8.7, and of 8.6, 8.9
// and 12.x.
constexpr int kMuchShared = 227 * 1024;
constexpr int kMediumShared = 163 * 1024;
constexpr int kLittleShared = 99 * 1024;

__host__ __device__ constexpr int smaller(int a, int b) { return a < b ? a : b; }
__host__ __device__ constexpr int larger(int a, int b) { return a < b ? b : a; }

// `part` of `total` fragments are chosen, spread evenly. How many of the chosen come before fragment `i`, and whether
// fragment `i` is one of them.
__host__ __device__ constexpr int spread_before(int i, int part, int total) {
  return total == 0 ? 0 : i * part / total;
}
__host__ __device__ constexpr bool is_in_spread(int i, int part, int total) {
  return spread_before(i + 1, part, total) > spread_before(i, part, total);
}

// Divides the kFragments fragments of a warp among three places: as many as kMostInRegisters in registers, then as many
// as there is room for in shared memory, and the rest in L2. kBufferBytes: what the exchange between blocks takes of
// kSharedBytes. If it is more than that, the kernel is left out (host/kernel_plan.cpp).
template <int kFragmentsOf, int kWarpsOf, int kBufferBytesOf, int kMostInRegisters, int kSharedBytes>
struct Slice {
  static constexpr int kWarps = kWarpsOf;
  static constexpr int kFragments = kFragmentsOf;
  static constexpr int kRoomBytes = larger(kSharedBytes - kOtherSharedBytes - kBufferBytesOf, 0);
  static constexpr int kRoom = kRoomBytes / (kWarps * kFragmentBytesPerWarp);
  static constexpr int kInRegisters = smaller(kFragments, kMostInRegisters);
  static constexpr int kInShared = smaller(kFragments - kInRegisters, kRoom);
  static constexpr int kInL2 = kFragments - kInRegisters - kInShared;
  static constexpr int kReadAhead = smaller(kInL2, 8);  // fragments that are being read from L2 at a time
  static constexpr int kSharedBytesOfAll = kBufferBytesOf + kInShared * kWarps * kFragmentBytesPerWarp;
};

}  // namespace rnnlab::kernels::persistent
