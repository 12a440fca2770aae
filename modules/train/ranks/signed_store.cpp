// SPDX-License-Identifier: Apache-2.0
#include "train/ranks/signed_store.h"

#include <optional>
#include <vector>

#include "base/sha256.h"

namespace rnnlab {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kBlockBytes = 64;  // of SHA-256
constexpr size_t kSignatureBytes = 64;

std::string raw_digest(std::string_view hex) {
  const std::vector<std::byte> bytes = from_hex(hex).value();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string key_block(std::string_view secret) {
  std::string block(secret);
  if (block.size() > kBlockBytes) block = raw_digest(Sha256().update(secret).hex());
  block.resize(kBlockBytes, '\0');
  return block;
}

std::string exclusive_or(std::string text, char mask) {
  for (char& byte : text) byte = static_cast<char>(byte ^ mask);
  return text;
}

std::string_view as_text(const uint8_t* bytes, size_t count) { return {reinterpret_cast<const char*>(bytes), count}; }

class SignedStore : public c10d::Store {
 public:
  SignedStore(c10::intrusive_ptr<c10d::Store> store, std::string secret)
      : store_(std::move(store)), secret_(std::move(secret)) {}

  c10::intrusive_ptr<c10d::Store> clone() override { return sign_values(store_->clone(), secret_); }

  using Store::set;
  void set(const std::string& key, const Bytes& value) override { store_->set(key, with_signature(key, value)); }

  // A stranger's value is replaced as if the key did not exist.
  using Store::compareSet;
  Bytes compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) override {
    const Bytes wanted = with_signature(key, desired);
    const Bytes now = store_->compareSet(key, expected.empty() ? Bytes() : with_signature(key, expected), wanted);
    if (auto value = signed_value(key, now)) return *value;
    if (!expected.empty()) return expected;
    store_->set(key, wanted);
    return desired;
  }

  Bytes get(const std::string& key) override {
    auto value = signed_value(key, store_->get(key));
    TORCH_CHECK(value, "another program has written into the store of this run");
    return *value;
  }

  // A counter has no signature, and the results of these functions depend on what everybody writes.
  int64_t add(const std::string& key, int64_t value) override { return store_->add(key, value); }
  bool deleteKey(const std::string& key) override { return store_->deleteKey(key); }
  int64_t getNumKeys() override { return store_->getNumKeys(); }
  bool check(const std::vector<std::string>& keys) override { return store_->check(keys); }
  void wait(const std::vector<std::string>& keys) override { store_->wait(keys); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    store_->wait(keys, timeout);
  }

  const std::chrono::milliseconds& getTimeout() const noexcept override { return store_->getTimeout(); }
  void setTimeout(const std::chrono::milliseconds& timeout) override { store_->setTimeout(timeout); }

 private:
  // The size of the key comes first, so that no other key and value have the same text.
  std::string signature_of(const std::string& key, std::string_view value) const {
    std::string text = std::to_string(key.size()) + ":" + key;
    return hmac_sha256(secret_, text.append(value));
  }

  Bytes with_signature(const std::string& key, Bytes value) const {
    const std::string signature = signature_of(key, as_text(value.data(), value.size()));
    value.insert(value.end(), signature.begin(), signature.end());
    return value;
  }

  std::optional<Bytes> signed_value(const std::string& key, const Bytes& bytes) const {
    if (bytes.size() < kSignatureBytes) return std::nullopt;
    const size_t size = bytes.size() - kSignatureBytes;
    if (as_text(bytes.data() + size, kSignatureBytes) != signature_of(key, as_text(bytes.data(), size)))
      return std::nullopt;
    return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  }

  c10::intrusive_ptr<c10d::Store> store_;
  std::string secret_;
};

}  // namespace

std::string hmac_sha256(std::string_view secret, std::string_view text) {
  constexpr char kInner = 0x36, kOuter = 0x5c;
  const std::string key = key_block(secret);
  const std::string inner = Sha256().update(exclusive_or(key, kInner)).update(text).hex();
  return Sha256().update(exclusive_or(key, kOuter)).update(raw_digest(inner)).hex();
}

c10::intrusive_ptr<c10d::Store> sign_values(const c10::intrusive_ptr<c10d::Store>& store, const std::string& secret) {
  return c10::make_intrusive<SignedStore>(store, secret);
}

}  // namespace rnnlab
