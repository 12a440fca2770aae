// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <charconv>

#include "base/error.h"

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

namespace {

void require(int openssl_result, const char* call) {
  RNNLAB_INVARIANT(openssl_result == 1, fmt::format("OpenSSL's {} failed", call));
}

}  // namespace

struct Sha256::State {
  State() : context(EVP_MD_CTX_new()) { RNNLAB_INVARIANT(context != nullptr, "OpenSSL's EVP_MD_CTX_new failed"); }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  EVP_MD_CTX* context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  require(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr), "EVP_DigestInit_ex");
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()), "EVP_DigestUpdate");
  return *this;
}

std::string Sha256::hex() const {
  const State copy;
  require(EVP_MD_CTX_copy_ex(copy.context, state_->context), "EVP_MD_CTX_copy_ex");
  std::array<unsigned char, 32> digest{};
  require(EVP_DigestFinal_ex(copy.context, digest.data(), nullptr), "EVP_DigestFinal_ex");
  return to_hex(std::as_bytes(std::span(digest)));
}

}  // namespace rnnlab
