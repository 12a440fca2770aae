// SPDX-License-Identifier: Apache-2.0
#include "layers/program/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return begins_name(c) || is_digit(c); }

// The longer signs come first.
constexpr std::array<std::string_view, 17> kSigns = {"**", "==", "!=", "<=", ">=", "+", "-", "*", "/",
                                                     "=",  "<",  ">",  "(",  ")",  ",", ".", "^"};

class Tokenizer {
 public:
  Tokenizer(std::string_view text, std::vector<EquationMistake>& mistakes) : text_(text), mistakes_(mistakes) {}

  std::vector<Token> run() {
    while (!rest().empty()) take();
    add(TokenKind::kLineEnd, 0);
    add(TokenKind::kEnd, 0);
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  void take() {
    const char c = rest().front();
    if (c == '\n') return take_line_end();
    if (c == ' ' || c == '\t' || c == '\r') return skip(1);
    if (c == '#') return skip(std::min(rest().find('\n'), rest().size()));
    if (begins_name(c)) return add(TokenKind::kName, length_while(continues_name));
    if (is_digit(c) || (c == '.' && rest().size() > 1 && is_digit(rest()[1]) && !follows_name())) return take_number();
    for (const std::string_view sign : kSigns)
      if (rest().starts_with(sign)) return take_sign(sign);
    take_unknown();
  }

  // A line that begins a new equation ends the one before it even if a parenthesis is missing there, so that only one
  // mistake is reported.
  void take_line_end() {
    const std::string_view next = rest().substr(1);
    if (begins_equation(next)) depth_ = 0;
    if (depth_ == 0) add(TokenKind::kLineEnd, 0);
    at_ += 1;
    line_ += 1;
    line_begin_ = at_;
  }

  static bool begins_equation(std::string_view line) {
    const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    size_t end = begin;
    while (end < line.size() && continues_name(line[end])) end += 1;
    if (end == begin || !begins_name(line[begin])) return false;
    const std::string_view after = trim(line.substr(end, line.find('\n', end) - end));
    return after.starts_with('=') && !after.starts_with("==");
  }

  void take_number() {
    size_t length = length_while([](char c) { return is_digit(c) || c == '.'; });
    // An exponent may have a sign.
    if (length < rest().size() && (rest()[length] == 'e' || rest()[length] == 'E')) {
      size_t end = length + 1;
      if (end < rest().size() && (rest()[end] == '+' || rest()[end] == '-')) end += 1;
      const size_t digits = end;
      while (end < rest().size() && is_digit(rest()[end])) end += 1;
      if (end > digits) length = end;
    }
    const auto number = parse_double(rest().substr(0, length));
    if (!number) complain(fmt::format("{} is not a number", in_quotes(rest().substr(0, length))));
    add(TokenKind::kNumber, length);
    tokens_.back().number = number.value_or(0);
  }

  void take_sign(std::string_view sign) {
    if (sign == "(") depth_ += 1;
    if (sign == ")") depth_ = std::max(0, depth_ - 1);
    add(TokenKind::kSign, sign.size());
  }

  void take_unknown() {
    const size_t length = std::max<size_t>(1, utf8_sequence_length(rest()));
    complain(fmt::format("unexpected character {}", in_quotes(rest().substr(0, length))));
    skip(length);
  }

  bool follows_name() const { return at_ > 0 && continues_name(text_[at_ - 1]); }

  template <class Holds>
  size_t length_while(Holds holds) const {
    size_t length = 0;
    while (length < rest().size() && holds(rest()[length])) length += 1;
    return length;
  }

  void add(TokenKind kind, size_t length) {
    tokens_.push_back({kind, std::string(rest().substr(0, length)), 0, line_, column()});
    skip(length);
  }

  void skip(size_t length) { at_ += length; }
  int64_t column() const { return static_cast<int64_t>(at_ - line_begin_) + 1; }
  void complain(std::string message) { mistakes_.push_back({line_, column(), std::move(message)}); }

  std::string_view text_;
  std::vector<EquationMistake>& mistakes_;
  std::vector<Token> tokens_;
  size_t at_ = 0, line_begin_ = 0;
  int64_t line_ = 1;
  int depth_ = 0;  // of parentheses
};

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && begins_name(text.front()) && std::ranges::all_of(text, continues_name);
}

std::vector<Token> tokens_of(std::string_view equations, std::vector<EquationMistake>& mistakes) {
  return Tokenizer(equations, mistakes).run();
}

}  // namespace rnnlab
