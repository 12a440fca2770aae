// SPDX-License-Identifier: Apache-2.0
// Fuzzes a file of unknown origin, plain or gzip: unchanged, and as the content of two members. Unpacking never returns
// more than the limit, for the whole file or piece by piece.
#include <algorithm>
#include <span>

#include "data/readers/byte_stream.h"
#include "fuzz/gzip_of.h"
#include "fuzz/memory_file.h"

namespace rnnlab::testing {
namespace {

constexpr int64_t kLimit = 1 << 17;

// In pieces that no buffer is a multiple of.
std::string in_pieces(const std::string& path) {
  constexpr size_t kPieceBytes = 1021;
  const std::unique_ptr<ByteStream> stream = open_stream(path);
  std::string text;
  while (true) {
    std::string piece(kPieceBytes, '\0');
    const size_t got = stream->read(std::as_writable_bytes(std::span(piece)));
    text.append(piece, 0, got);
    require(static_cast<int64_t>(text.size()) <= stream->most_bytes());
    if (got < kPieceBytes) return text;
  }
}

void read(MemoryFile& file, std::string_view bytes) {
  const std::string& path = file.holding(bytes);
  const std::string text = read_whole(path, kLimit);
  require(static_cast<int64_t>(text.size()) <= kLimit && text == in_pieces(path));
}

void read_packed(MemoryFile& file, std::string_view bytes) {
  const size_t half = bytes.size() / 2;
  const std::string packed = gzip_of(bytes.substr(0, half)) + gzip_of(bytes.substr(half));
  require(read_whole(file.holding(packed), kLimit) == bytes);
}

}  // namespace
}  // namespace rnnlab::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rnnlab;
  const testing::OneSecond limit;
  static testing::MemoryFile file;
  const std::string bytes = testing::text_of(data, size);
  testing::expect_read_or_refused(ExitCode::kData, [&] { testing::read(file, bytes); });
  testing::read_packed(file, bytes);
  return 0;
}
