#include "base/hex.h"

#include <charconv>

namespace rnnlab {

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  digits.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    digits += kDigits[std::to_integer<size_t>(byte >> 4)];
    digits += kDigits[std::to_integer<size_t>(byte & std::byte{0xF})];
  }
  return digits;
}

std::optional<std::vector<std::byte>> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(digits.size() / 2);
  for (size_t i = 0; i < digits.size(); i += 2) {
    unsigned char byte = 0;
    const char* end = digits.data() + i + 2;
    const auto [stopped_at, error] = std::from_chars(digits.data() + i, end, byte, 16);
    if (error != std::errc() || stopped_at != end) return std::nullopt;
    bytes.push_back(std::byte{byte});
  }
  return bytes;
}

}  // namespace rnnlab
