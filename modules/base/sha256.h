// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4) of bytes, and conversion of bytes to hexadecimal text and back.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

// These two functions convert bytes to hexadecimal digits, two digits a byte, and back.

std::string to_hex(std::span<const std::byte> bytes);  // lower case

// Returns nullopt if `digits` is not an even number of hexadecimal digits. Upper and lower case are accepted.
std::optional<std::vector<std::byte>> from_hex(std::string_view digits);

// Computes SHA-256 of bytes in pieces, through OpenSSL. It identifies data and files; do not use it for passwords.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text) { return update(std::as_bytes(std::span(text))); }

  // Returns the digest of all bytes so far as 64 lower-case digits. More updates may follow.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rnnlab
