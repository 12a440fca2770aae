#include "data/readers/npy_header.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

constexpr std::string_view kRemedy = "write the file again with numpy.save";
constexpr size_t kMostDimensions = 64;

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const ByteStream& stream, int64_t offset)
      : text_(text), stream_(stream), offset_(offset) {}

  NpyHeader parse() {
    expect('{');
    while (next() != '}') {
      parse_entry();
      if (next() != '}') expect(',');
    }
    ++at_;
    skip_space();
    if (at_ < text_.size()) fail(at_, fmt::format("got {}, expected the end of the header", shown()));
    for (const char* key : {"descr", "fortran_order", "shape"})
      if (!keys_.contains(key)) fail(0, fmt::format("the header lacks the key '{}'", key));
    return header_;
  }

 private:
  [[noreturn]] void fail(size_t at, const std::string& message, std::string_view remedy = kRemedy) const {
    fail_at(stream_, offset_ + static_cast<int64_t>(at), fmt::format("{}: {}", message, remedy));
  }

  std::string shown() const { return at_ < text_.size() ? in_quotes(text_.substr(at_, 1)) : "the end of the header"; }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  // The next character that is no space, or 0 at the end.
  char next() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  void expect(char wanted) {
    if (next() != wanted) fail(at_, fmt::format("got {}, expected '{}'", shown(), wanted));
    ++at_;
  }

  void parse_entry() {
    const size_t key_at = (skip_space(), at_);
    const std::string key = parse_string("a key in quotes");
    if (!keys_.insert(key).second) fail(key_at, fmt::format("the key {} stands twice", in_quotes(key)));
    expect(':');
    if (key == "descr") return parse_descr();
    if (key == "fortran_order") return parse_order();
    if (key == "shape") return parse_shape();
    fail(key_at, fmt::format("got the key {}, expected 'descr', 'fortran_order' or 'shape'", in_quotes(key)));
  }

  std::string parse_string(std::string_view wanted) {
    const char quote = next();
    if (quote != '\'' && quote != '"') fail(at_, fmt::format("got {}, expected {}", shown(), wanted));
    const size_t begin = at_ + 1;
    const size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) fail(at_, "a quote is opened here and never closed");
    at_ = end + 1;
    return std::string(text_.substr(begin, end - begin));
  }

  void parse_descr() {
    if (next() == '[') refuse("a structured array", "save each field as an array of its own");
    const size_t descr_at = at_;
    const std::string descr = parse_string("an element type in quotes");
    const bool ordered = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
    if (!ordered || descr.size() < 2)
      fail(descr_at,
           fmt::format("got the element type {}, expected a byte order and a type as in '<f4'", in_quotes(descr)));
    header_.byte_order = descr[0];
    header_.element_code = descr.substr(1);
    at_ = descr_at;
    refuse_kinds();
    at_ = descr_at + descr.size() + 2;
  }

  void refuse_kinds() const {
    switch (header_.element_code[0]) {
      case 'O':
        refuse("an array of Python objects", "save numbers, e.g. array.astype('float32')");
      case 'U':
      case 'S':
      case 'a':
        refuse("an array of text", "save class numbers instead, or use a CSV file");
      case 'V':
        refuse("an array of raw bytes or structures", "save each field as an array of its own");
      case 'M':
      case 'm':
        refuse("an array of dates or times", "save numbers, e.g. array.astype('float64')");
      case 'c':
        refuse("an array of complex numbers", "save the real and imaginary parts as two columns");
      default:
        return;
    }
  }

  [[noreturn]] void refuse(std::string_view what, std::string_view remedy) const {
    fail(at_, fmt::format("got {}, expected bool, integers or floats", what), remedy);
  }

  void parse_order() {
    skip_space();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      header_.fortran_order = value;
      return;
    }
    fail(at_, fmt::format("got {}, expected True or False", shown()));
  }

  void parse_shape() {
    expect('(');
    while (next() != ')') {
      if (header_.shape.size() == kMostDimensions)
        fail(at_, fmt::format("got more than {} dimensions, the most that NumPy takes", kMostDimensions));
      header_.shape.push_back(parse_size());
      if (next() != ')') expect(',');
    }
    ++at_;
  }

  int64_t parse_size() {
    skip_space();
    const size_t begin = at_;
    while (at_ < text_.size() && (text_[at_] == '-' || (text_[at_] >= '0' && text_[at_] <= '9'))) ++at_;
    const std::string_view digits = text_.substr(begin, at_ - begin);
    if (digits.empty()) fail(at_, fmt::format("got {}, expected a size", shown()));
    const std::optional<int64_t> size = parse_int64(digits);
    constexpr size_t kMostShown = 40;
    if (!size || *size < 0)
      fail(begin, fmt::format("got the size {}, expected 0 to 2^63 - 1", digits.substr(0, kMostShown)));
    return *size;
  }

  std::string_view text_;
  const ByteStream& stream_;
  int64_t offset_;
  size_t at_ = 0;
  std::set<std::string> keys_;
  NpyHeader header_;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const ByteStream& stream, int64_t offset) {
  return HeaderParser(text, stream, offset).parse();
}

}  // namespace rnnlab
