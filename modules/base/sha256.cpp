#include "base/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "base/error.h"
#include "base/hex.h"

namespace rnnlab {
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
