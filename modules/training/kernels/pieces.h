// Kernels on many tensors (work_list.h) cut each tensor into pieces; a block works on one piece.
#pragma once

#include <cstdint>

namespace rnnlab::kernels {

inline constexpr uint32_t kThreadsOfPiece = 256;
inline constexpr uint32_t kPiece = 8 * kThreadsOfPiece;  // number of elements

inline uint32_t num_pieces(int64_t size) { return static_cast<uint32_t>((size + kPiece - 1) / kPiece); }

}  // namespace rnnlab::kernels
