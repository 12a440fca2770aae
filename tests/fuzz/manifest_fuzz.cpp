// SPDX-License-Identifier: Apache-2.0
// Fuzzes a manifest of unknown origin: unchanged, and with a valid seal, because a fuzzer does not find a SHA-256.
#include "base/sha256.h"
#include "fuzz/fuzz_support.h"
#include "results/checkpoint/checkpoint.h"

namespace rnnlab::testing {
namespace {

void read(const std::string& text) {
  const Manifest manifest = parse_manifest(text, "m");
  require(parse_manifest(manifest_text(manifest), "again") == manifest);
}

std::string sealed(const std::string& text) {
  return text + fmt::format("  \"seal\": \"{}\"\n}}\n", Sha256().update(text).hex());
}

}  // namespace
}  // namespace rnnlab::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rnnlab;
  const testing::OneSecond limit;
  const std::string text = testing::text_of(data, size);
  testing::expect_read_or_refused(ExitCode::kCheckpoint, [&] { testing::read(text); });
  testing::expect_read_or_refused(ExitCode::kCheckpoint, [&] { testing::read(testing::sealed(text)); });
  return 0;
}
