// SPDX-License-Identifier: Apache-2.0
// Fuzzes a safetensors file of unknown origin. A valid file is written and read again: it must be the same.
#include <algorithm>

#include "fuzz/fuzz_support.h"
#include "results/checkpoint/safetensors.h"

namespace rnnlab::testing {
namespace {

void expect_same(const TensorFile& a, const TensorFile& b) {
  require(a.metadata == b.metadata && a.tensors.size() == b.tensors.size());
  for (const TensorView& tensor : a.tensors) {
    const TensorView* other = b.find(tensor.spec.name);
    require(other != nullptr && other->spec == tensor.spec && std::ranges::equal(other->bytes, tensor.bytes));
  }
}

void read(std::string bytes) {
  const TensorFile file = parse_safetensors(std::move(bytes), "x");
  const SafetensorsImage image(file.tensors, file.metadata);
  std::string again;
  for (const std::string_view piece : image.pieces()) again += piece;
  expect_same(file, parse_safetensors(std::move(again), "again"));
}

}  // namespace
}  // namespace rnnlab::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rnnlab;
  const testing::OneSecond limit;
  testing::expect_read_or_refused(ExitCode::kCheckpoint, [&] { testing::read(testing::text_of(data, size)); });
  return 0;
}
