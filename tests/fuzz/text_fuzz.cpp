// SPDX-License-Identifier: Apache-2.0
// Fuzzes a text of unknown origin, in bytes and in characters: its tokens give the text again, and a second text in its
// vocabulary is read or refused.
#include <algorithm>

#include "data/readers/byte_stream.h"
#include "data/readers/text_file.h"
#include "fuzz/memory_file.h"

namespace rnnlab::testing {
namespace {

std::string spelled(const Text& text) {
  std::string bytes;
  for (const int64_t token : text.tokens) bytes += text.vocabulary.at(static_cast<size_t>(token));
  return bytes;
}

void require_spells(const Text& text, const std::string& path) {
  constexpr int64_t kLimit = 1 << 24;  // it may be gzip
  require(spelled(text) == read_whole(path, kLimit));
}

void read(const std::string& path, TextUnit unit) {
  const Text text = read_text(path, unit);
  require_spells(text, path);
  require(std::ranges::is_sorted(text.vocabulary));
  require(std::ranges::adjacent_find(text.vocabulary) == text.vocabulary.end());
  require(read_text_as(path, unit, text.vocabulary) == text.tokens);
}

void read_as_other(const std::string& path, TextUnit unit) {
  const std::vector<std::string> vocabulary = {"\n", " ", "a", "b", "\x7f"};
  require_spells({read_text_as(path, unit, vocabulary), vocabulary}, path);
}

}  // namespace
}  // namespace rnnlab::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rnnlab;
  const testing::OneSecond limit;
  static testing::MemoryFile file;
  const std::string& path = file.holding(testing::text_of(data, size));
  for (const TextUnit unit : {TextUnit::kByte, TextUnit::kCodePoint}) {
    testing::expect_read_or_refused(ExitCode::kData, [&] { testing::read(path, unit); });
    testing::expect_read_or_refused(ExitCode::kData, [&] { testing::read_as_other(path, unit); });
  }
  return 0;
}
