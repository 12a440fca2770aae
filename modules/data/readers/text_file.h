// SPDX-License-Identifier: Apache-2.0
// Text as token numbers; a token is a byte or a Unicode code point. The vocabulary is the set of tokens that occur, in
// order of value. Text is not normalised: the model sees the whole content, including byte order marks and CRLF.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rnnlab {

enum class TextUnit { kByte, kCodePoint };

struct Text {
  std::vector<int64_t> tokens;          // indices into the vocabulary
  std::vector<std::string> vocabulary;  // the bytes of each token; not always UTF-8 if the unit is a byte
};

// Reads a file of at most 2 GiB. Throws UserError kData if the file is empty, is invalid UTF-8 (for code points; with
// the byte offset), or has only one distinct character.
Text read_text(const std::filesystem::path& path, TextUnit unit);

// Returns the tokens of another file in the vocabulary of a model's training text. Throws UserError kData as read_text,
// and for the first character that is not in the vocabulary, with its byte offset.
std::vector<int64_t> read_text_as(const std::filesystem::path& path, TextUnit unit,
                                  const std::vector<std::string>& vocabulary);

}  // namespace rnnlab
