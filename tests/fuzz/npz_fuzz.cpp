// SPDX-License-Identifier: Apache-2.0
// Fuzzes an .npz archive of unknown origin: its names, and each of its arrays. The input is then put into an archive as
// the array itself, with its checksum: it must be read, or refused, as the plain file is.
#include <algorithm>
#include <optional>

#include "data/readers/array.h"
#include "data/readers/npz.h"
#include "fuzz/fuzz_support.h"
#include "fuzz/zip_of.h"

namespace rnnlab::testing {
namespace {

constexpr std::string_view kArchive = "fuzz.npz", kArray = "fuzz.npy";

std::optional<Array> read_or_refused(const std::string& path) {
  std::optional<Array> array;
  expect_read_or_refused(ExitCode::kData, [&] { array = read_npy(path); });
  return array;
}

// Deflate has at most 1032 bytes for each byte, and 16-bit floats are read as 32-bit floats.
void require_promises(const Array& array, size_t file_bytes) {
  constexpr size_t kMostGrowth = size_t{2} * 1032;
  require(!array.shape.empty() && std::ranges::all_of(array.shape, [](int64_t size) { return size >= 1; }));
  require(checked_num_bytes(array.shape, array.type) == static_cast<int64_t>(array.bytes.size()));
  require(array.bytes.size() <= kMostGrowth * file_bytes);
}

void read_archive(std::string_view bytes) {
  write_file(kArchive, bytes);
  std::vector<std::string> names;
  expect_read_or_refused(ExitCode::kData, [&] { names = rnnlab::NpzArchive(kArchive).names(); });
  constexpr size_t kMostArrays = 8;
  names.resize(std::min(names.size(), kMostArrays));
  names.emplace_back();  // the only array
  for (const std::string& name : names)
    if (const auto array = read_or_refused(fmt::format("{}:{}", kArchive, name)))
      require_promises(*array, bytes.size());
}

void read_array_in_archive(std::string_view bytes) {
  write_file(kArray, bytes);
  const bool is_gzip = bytes.starts_with("\x1f\x8b");
  if (is_gzip) return;
  const std::optional<Array> plain = read_or_refused(std::string(kArray));
  for (const Packing packing : {Packing::kStored, Packing::kDeflated}) {
    write_file(kArchive, zip_of("x.npy", bytes, packing));
    const std::optional<Array> packed = read_or_refused(fmt::format("{}:x", kArchive));
    require(packed.has_value() == plain.has_value());
    if (plain) require(packed->type == plain->type && packed->shape == plain->shape && packed->bytes == plain->bytes);
  }
}

}  // namespace
}  // namespace rnnlab::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rnnlab;
  static const bool is_ready = (testing::work_in_memory("npz"), true);
  const testing::OneSecond limit;
  const std::string bytes = testing::text_of(data, size);
  testing::require(is_ready);
  testing::read_archive(bytes);
  testing::read_array_in_archive(bytes);
  return 0;
}
