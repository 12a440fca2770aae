// SPDX-License-Identifier: Apache-2.0
// Finds characters that look like YAML's own and are not: a no-break space, a full-width colon, a curly quote. YAML
// takes each of them for a part of a text, so an error would name another line, or a key that looks right.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/config/document.h"

namespace rnnlab::config {
namespace {

enum class Looks {
  kSpace,      // like a space, and wrong at the edge of a key or value
  kNothing,    // invisible, and wrong anywhere
  kJoiner,     // invisible, and wrong at the edge of a key or value: some scripts need it within a word
  kColon,      // wrong after a key
  kBracketed,  // wrong within [] and {}
  kOpening,    // wrong at the beginning of a key or value
  kDash,       // wrong at the beginning of a key or value, before a space or a digit
};

struct Lookalike {
  std::string_view bytes;
  Looks looks;
  const char* name;
  const char* meant;
};

constexpr std::array kLookalikes = {
    Lookalike{"\u00A0", Looks::kSpace, "a no-break space (U+00A0)", "a space"},
    Lookalike{"\u1680", Looks::kSpace, "a wide space (U+1680)", "a space"},
    Lookalike{"\u2000", Looks::kSpace, "a wide space (U+2000)", "a space"},
    Lookalike{"\u2001", Looks::kSpace, "a wide space (U+2001)", "a space"},
    Lookalike{"\u2002", Looks::kSpace, "a wide space (U+2002)", "a space"},
    Lookalike{"\u2003", Looks::kSpace, "a wide space (U+2003)", "a space"},
    Lookalike{"\u2004", Looks::kSpace, "a narrow space (U+2004)", "a space"},
    Lookalike{"\u2005", Looks::kSpace, "a narrow space (U+2005)", "a space"},
    Lookalike{"\u2006", Looks::kSpace, "a narrow space (U+2006)", "a space"},
    Lookalike{"\u2007", Looks::kSpace, "a no-break space (U+2007)", "a space"},
    Lookalike{"\u2008", Looks::kSpace, "a narrow space (U+2008)", "a space"},
    Lookalike{"\u2009", Looks::kSpace, "a narrow space (U+2009)", "a space"},
    Lookalike{"\u200A", Looks::kSpace, "a narrow space (U+200A)", "a space"},
    Lookalike{"\u202F", Looks::kSpace, "a no-break space (U+202F)", "a space"},
    Lookalike{"\u205F", Looks::kSpace, "a narrow space (U+205F)", "a space"},
    Lookalike{"\u3000", Looks::kSpace, "a full-width space (U+3000)", "a space"},
    Lookalike{"\xC2\x85", Looks::kNothing, "a line end of old systems (U+0085)", "an ordinary line end"},
    Lookalike{"\u2028", Looks::kNothing, "a line separator (U+2028)", "an ordinary line end"},
    Lookalike{"\u2029", Looks::kNothing, "a paragraph separator (U+2029)", "an ordinary line end"},
    Lookalike{"\u00AD", Looks::kNothing, "an invisible hyphen (U+00AD)", ""},
    Lookalike{"\u200B", Looks::kNothing, "an invisible space (U+200B)", ""},
    Lookalike{"\u2060", Looks::kNothing, "an invisible joiner (U+2060)", ""},
    Lookalike{"\uFEFF", Looks::kNothing, "an invisible byte order mark (U+FEFF)", ""},
    Lookalike{"\u200C", Looks::kJoiner, "an invisible joiner (U+200C)", ""},
    Lookalike{"\u200D", Looks::kJoiner, "an invisible joiner (U+200D)", ""},
    Lookalike{"\u200E", Looks::kJoiner, "an invisible mark of direction (U+200E)", ""},
    Lookalike{"\u200F", Looks::kJoiner, "an invisible mark of direction (U+200F)", ""},
    Lookalike{"\uFF1A", Looks::kColon, "a full-width colon (U+FF1A)", "':' and a space"},
    Lookalike{"\uFE55", Looks::kColon, "a small colon (U+FE55)", "':' and a space"},
    Lookalike{"\u2236", Looks::kColon, "a ratio sign (U+2236)", "':' and a space"},
    Lookalike{"\uFF0C", Looks::kBracketed, "a full-width comma (U+FF0C)", "','"},
    Lookalike{"\u3001", Looks::kBracketed, "an ideographic comma (U+3001)", "','"},
    Lookalike{"\uFF3D", Looks::kBracketed, "a full-width bracket (U+FF3D)", "']'"},
    Lookalike{"\uFF5D", Looks::kBracketed, "a full-width bracket (U+FF5D)", "'}'"},
    Lookalike{"\uFF3B", Looks::kOpening, "a full-width bracket (U+FF3B)", "'['"},
    Lookalike{"\uFF5B", Looks::kOpening, "a full-width bracket (U+FF5B)", "'{'"},
    Lookalike{"\u201C", Looks::kOpening, "a curly quote (U+201C)", "'\"'"},
    Lookalike{"\u201D", Looks::kOpening, "a curly quote (U+201D)", "'\"'"},
    Lookalike{"\u201E", Looks::kOpening, "a curly quote (U+201E)", "'\"'"},
    Lookalike{"\u2018", Looks::kOpening, "a curly quote (U+2018)", "a straight quote"},
    Lookalike{"\u2019", Looks::kOpening, "a curly quote (U+2019)", "a straight quote"},
    Lookalike{"\uFF02", Looks::kOpening, "a full-width quote (U+FF02)", "'\"'"},
    Lookalike{"\uFF03", Looks::kOpening, "a full-width number sign (U+FF03)", "'#'"},
    Lookalike{"\u2010", Looks::kDash, "a typographic hyphen (U+2010)", "'-'"},
    Lookalike{"\u2011", Looks::kDash, "a typographic hyphen (U+2011)", "'-'"},
    Lookalike{"\u2013", Looks::kDash, "a dash (U+2013)", "'-'"},
    Lookalike{"\u2014", Looks::kDash, "a dash (U+2014)", "'-'"},
    Lookalike{"\u2212", Looks::kDash, "a minus sign (U+2212)", "'-'"},
    Lookalike{"\u2022", Looks::kDash, "a bullet (U+2022)", "'-'"},
};

const Lookalike* lookalike_at(std::string_view rest) {
  if (static_cast<unsigned char>(rest.front()) < 0x80) return nullptr;
  const auto* const found =
      std::ranges::find_if(kLookalikes, [&](const Lookalike& one) { return rest.starts_with(one.bytes); });
  return found == kLookalikes.end() ? nullptr : found;
}

// Follows the form of YAML as far as it takes to tell plain text from quotes, comments and blocks of text.
class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  struct Found {
    size_t offset;
    const Lookalike* what;
  };

  std::optional<Found> first() {
    while (at_ < text_.size()) {
      if (skips_quotes_comment_or_block()) continue;
      const Lookalike* const one = lookalike_at(text_.substr(at_));
      if (one != nullptr && is_wrong(*one)) return Found{at_, one};
      if (one != nullptr)
        at_ += one->bytes.size();
      else
        step();
    }
    return std::nullopt;
  }

 private:
  bool begins_token() const { return at_ == token_; }

  // Passes one character, and notes where a key or value may begin after it.
  void step() {
    const char c = text_[at_++];
    const bool is_blank = c == ' ' || c == '\t' || c == '\r';
    if (c == '[' || c == '{') open_.push_back(c);
    if ((c == ']' || c == '}') && !open_.empty()) open_.pop_back();
    if (c == '\n') line_ = at_;
    const bool ends_key = c == ':' && (at_ == text_.size() || is_space(text_[at_]) || lookalike_at(text_.substr(at_)));
    const bool began_token = token_ == at_ - 1;
    const bool is_item = c == '-' && began_token && at_ < text_.size() && (is_space(text_[at_]) || is_wide_space());
    if (c == '\n' || ends_key || is_item || (is_flow() && c == ',') || c == '[' || c == '{' ||
        (is_blank && began_token))
      token_ = at_;
  }

  // Returns whether the next character looks like a space.
  bool is_wide_space() const {
    const Lookalike* const one = lookalike_at(text_.substr(at_));
    return one != nullptr && one->looks == Looks::kSpace;
  }

  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  bool is_flow() const { return !open_.empty(); }

  bool skips_quotes_comment_or_block() {
    const char c = text_[at_];
    if (c == '#' && (at_ == 0 || is_space(text_[at_ - 1]))) return skip_to(text_.find('\n', at_));
    if (!begins_token()) return false;
    if (c == '"' || c == '\'') return skip_quoted(c);
    if ((c == '|' || c == '>') && !is_flow()) return skip_block();
    return false;
  }

  bool skip_to(size_t end) {
    at_ = std::min(end, text_.size());
    return true;
  }

  // In single quotes, '' stands for a quote, which is the end of one quoted text and the beginning of the next.
  bool skip_quoted(char quote) {
    for (size_t i = at_ + 1; i < text_.size(); ++i) {
      if (quote == '"' && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == quote) {
        token_ = i + 1;
        return skip_to(i + 1);
      }
    }
    return skip_to(text_.size());
  }

  size_t indent_at(size_t line) const {
    const size_t first = text_.find_first_not_of(' ', line);
    return first == std::string_view::npos ? text_.size() - line : first - line;
  }

  // Skips the lines that are indented more than the line of the '|'.
  bool skip_block() {
    const size_t indent = indent_at(line_);
    for (size_t end = text_.find('\n', at_); end != std::string_view::npos; end = text_.find('\n', end + 1)) {
      const size_t next = end + 1, first = next + indent_at(next);
      const bool is_empty = first < text_.size() && text_[first] == '\n';
      if (first >= text_.size() || is_empty || indent_at(next) > indent) continue;
      line_ = token_ = next;
      return skip_to(next);
    }
    return skip_to(text_.size());
  }

  bool is_wrong(const Lookalike& one) const {
    switch (one.looks) {
      case Looks::kNothing:
        return true;
      case Looks::kSpace:
      case Looks::kJoiner:
        return begins_token() || ends_token(one);
      case Looks::kColon:
        return is_behind_key();
      case Looks::kBracketed:
        return is_flow();
      case Looks::kOpening:
        return begins_token();
      case Looks::kDash:
        return begins_token() && is_before_space_or_digit(one);
    }
    return false;
  }

  bool ends_token(const Lookalike& one) const {
    const std::string_view rest = text_.substr(at_ + one.bytes.size());
    if (rest.empty() || is_space(rest.front()) || lookalike_at(rest) != nullptr) return true;
    return rest.front() == ':' || rest.front() == '#' ||
           (is_flow() && (rest.front() == ',' || rest.front() == ']' || rest.front() == '}'));
  }

  // Keys of settings have letters, digits, '_' and '.'; other texts may well have such a colon.
  bool is_behind_key() const {
    const bool is_key = token_ == line_start() || (is_flow() && open_.back() == '{');
    const std::string_view before = text_.substr(token_, at_ - token_);
    constexpr std::string_view kOfKeys = "abcdefghijklmnopqrstuvwxyz0123456789_.";
    return is_key && !before.empty() && before.find_first_not_of(kOfKeys) == std::string_view::npos;
  }

  size_t line_start() const { return line_ + indent_at(line_); }

  bool is_before_space_or_digit(const Lookalike& one) const {
    const std::string_view rest = text_.substr(at_ + one.bytes.size());
    constexpr std::string_view kAfterDash = " \t.0123456789";
    return !rest.empty() && (kAfterDash.find(rest.front()) != std::string_view::npos || lookalike_at(rest) != nullptr);
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t token_ = 0;  // where the key or value that is being passed begins
  size_t line_ = 0;   // where its line begins
  std::string open_;  // the brackets around it
};

}  // namespace

std::optional<LookalikeAt> first_lookalike(std::string_view text) {
  const auto found = Scan(text).first();
  if (!found) return std::nullopt;
  const std::string meant = *found->what->meant == '\0' ? "remove it" : fmt::format("write {}", found->what->meant);
  return LookalikeAt{found->offset, fmt::format("{} is here; {}, or put quotes around the text if it belongs to it",
                                                found->what->name, meant)};
}

}  // namespace rnnlab::config
