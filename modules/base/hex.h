// Bytes as hexadecimal digits, two a byte, and back.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

std::string to_hex(std::span<const std::byte> bytes);  // lower case

// Nothing where `digits` is not of an even number of hexadecimal digits, of either case.
std::optional<std::vector<std::byte>> from_hex(std::string_view digits);

}  // namespace rnnlab
