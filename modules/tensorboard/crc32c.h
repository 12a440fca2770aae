// CRC-32C, Castagnoli's polynomial, by the processor's own instruction (SSE 4.2, which every processor with AVX2 has).
#pragma once

#include <cstdint>
#include <string_view>

namespace rnnlab::tensorboard {

uint32_t crc32c(std::string_view bytes);

}  // namespace rnnlab::tensorboard
