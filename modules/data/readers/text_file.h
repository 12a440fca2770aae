// Text as token numbers, a token a byte or a Unicode code point. The vocabulary is the set of tokens that occur, in
// order of their value. No normalisation: what the file holds is what the model sees, byte order marks and CRLF
// included.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

enum class TextUnit { kByte, kCodePoint };

struct Text {
  std::vector<int64_t> tokens;          // indices into the vocabulary
  std::vector<std::string> vocabulary;  // the bytes of each token; in units of bytes not always UTF-8
};

// A file of at most 2 GiB. UserError kData: empty, invalid UTF-8 (in code points; by byte offset), a single character
// only.
Text read_text(const std::filesystem::path& path, TextUnit unit);

// The tokens of another file in the vocabulary of the text that a model was trained on.
// UserError kData: as above, and the first character that the vocabulary lacks, with its byte offset.
std::vector<int64_t> read_text_as(const std::filesystem::path& path, TextUnit unit,
                                  const std::vector<std::string>& vocabulary);

}  // namespace rnnlab
