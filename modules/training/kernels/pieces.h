// How kernels on many tensors (work_list.h) cut each of them: into pieces, one a block.
#pragma once

#include <cstdint>

namespace rnnlab::kernels {

inline constexpr uint32_t kThreadsOfPiece = 256;
inline constexpr uint32_t kPiece = 8 * kThreadsOfPiece;  // elements of a block

inline uint32_t num_pieces(int64_t size) { return static_cast<uint32_t>((size + kPiece - 1) / kPiece); }

}  // namespace rnnlab::kernels
