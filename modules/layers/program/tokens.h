// SPDX-License-Identifier: Apache-2.0
// The tokens of equations: names, numbers and signs, each with its place. A line end is a token unless parentheses are
// open. Comments begin with #.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rnnlab {

struct EquationMistake {
  int64_t line = 0;  // of the equations, from 1; 0: no place in the text of the equations
  int64_t column = 0;
  std::string message;            // "unknown name 'sigmod' (did you mean 'sigmoid'?)"
  const char* key = "equations";  // of CellSettings: "gates", "states", "vectors", "heads" or "equations"
};

enum class TokenKind { kName, kNumber, kSign, kLineEnd, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // of a sign: "<="
  double number = 0;
  int64_t line = 1;
  int64_t column = 1;
};

// Returns whether the text is a single name.
bool is_name(std::string_view text);

// Returns the tokens, the last of which is kEnd. Unknown characters are mistakes and are left out.
std::vector<Token> tokens_of(std::string_view equations, std::vector<EquationMistake>& mistakes);

}  // namespace rnnlab
