// SHA-256 (FIPS 180-4) of bytes and of files, and hexadecimal text.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

// Bytes as hexadecimal digits, two a byte, and back.

std::string to_hex(std::span<const std::byte> bytes);  // lower case

// Nothing where `digits` is not of an even number of hexadecimal digits, of either case.
std::optional<std::vector<std::byte>> from_hex(std::string_view digits);

// SHA-256 of bytes that come in pieces, by OpenSSL. The fingerprint of data and files; not for passwords.

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text) { return update(std::as_bytes(std::span(text))); }

  // The digest of everything so far as 64 lower-case digits; more updates may follow.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rnnlab
