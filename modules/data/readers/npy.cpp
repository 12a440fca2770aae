// SPDX-License-Identifier: Apache-2.0
#include "data/readers/array.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/readers/byte_stream.h"
#include "data/readers/npz.h"

namespace rnnlab {
namespace {

// The header of an npy file: a Python dictionary of three keys. It is parsed strictly, and never evaluated.
struct NpyHeader {
  char byte_order = '<';     // '<', '>', or '|' if elements are single bytes
  std::string element_code;  // "f4": NumPy's kind and number of bytes
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

constexpr std::string_view kRemedyOfHeader = "write the file again with numpy.save";
constexpr size_t kMostDimensions = 64;

// Parses `text`, which was read from `stream` at `offset`: messages name both. Throws UserError kData.
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
  [[noreturn]] void fail(size_t at, const std::string& message, std::string_view remedy = kRemedyOfHeader) const {
    fail_at(stream_, offset_ + static_cast<int64_t>(at), fmt::format("{}: {}", message, remedy));
  }

  std::string shown() const { return at_ < text_.size() ? in_quotes(text_.substr(at_, 1)) : "the end of the header"; }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  // Returns the next character that is not a space, or 0 at the end.
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
    if (!keys_.insert(key).second) fail(key_at, fmt::format("the key {} occurs twice", in_quotes(key)));
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
    if (next() == '[') refuse("a structured array", "save each field as a separate array");
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
        refuse("an array of raw bytes or structures", "save each field as a separate array");
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

constexpr std::array<unsigned char, 6> kMagic = {0x93, 'N', 'U', 'M', 'P', 'Y'};
constexpr int64_t kPreambleBytes = 8;        // magic, major and minor version
constexpr int64_t kLongestHeader = 1 << 16;  // NumPy itself accepts at most 10,000 characters
constexpr std::string_view kCutOff = "the file is cut off, write it again with numpy.save";

// Checks magic and version; returns the major version.
int read_preamble(ByteStream& stream) {
  std::array<std::byte, kPreambleBytes> bytes{};
  const auto got = static_cast<int64_t>(stream.read(bytes));
  if (got == 0)
    throw_error(ExitCode::kData, "{}: empty file, expected npy data: write it again with numpy.save", stream.path());
  const std::span<const std::byte> magic =
      std::span(bytes).first(std::min<size_t>(static_cast<size_t>(got), kMagic.size()));
  if (!std::equal(magic.begin(), magic.end(), std::as_bytes(std::span(kMagic)).begin()))
    fail_at(stream, 0,
            fmt::format("got {}, expected 93 4e 55 4d 50 59, the start of npy data: "
                        "check the path, or name the format that the file really has",
                        format_hex(magic)));
  if (got < kPreambleBytes) fail_at(stream, got, fmt::format("the file ends before its version: {}", kCutOff));
  const auto major = std::to_integer<int>(bytes[6]);
  const auto minor = std::to_integer<int>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0)
    fail_at(
        stream, 6,
        fmt::format("got npy version {}.{}, expected 1.0, 2.0 or 3.0: write it again with numpy.save", major, minor));
  return major;
}

// Reads the header's length: two bytes in version 1, four bytes in later versions, least significant byte first.
int64_t read_header_length(ByteStream& stream, int64_t num_bytes) {
  std::array<std::byte, 4> bytes{};
  const auto got = static_cast<int64_t>(stream.read(std::span(bytes).first(static_cast<size_t>(num_bytes))));
  if (got < num_bytes)
    fail_at(stream, kPreambleBytes + got, fmt::format("the file ends before its header: {}", kCutOff));
  int64_t length = 0;
  for (size_t i = bytes.size(); i-- > 0;) length = length << 8 | std::to_integer<int64_t>(bytes[i]);
  if (length > kLongestHeader)
    fail_at(stream, kPreambleBytes,
            fmt::format("got a header of {}, expected at most {}: write it again with numpy.save",
                        counted(length, "byte"), format_count(kLongestHeader)));
  return length;
}

std::string read_header(ByteStream& stream, int64_t offset, int64_t length) {
  std::string text(static_cast<size_t>(length), '\0');
  const size_t got = stream.read(std::as_writable_bytes(std::span(text)));
  if (got < text.size())
    fail_at(stream, offset + static_cast<int64_t>(got),
            fmt::format("the file ends inside its header of {}: {}", counted(length, "byte"), kCutOff));
  return text;
}

constexpr std::string_view kHalf = "f2";

// A 16-bit float has the type of its bits, before they are widened.
ElementType encoded_type(const ByteStream& stream, int64_t header_offset, const NpyHeader& header) {
  const std::string& code = header.element_code;
  const std::optional<ElementType> type = code == kHalf ? ElementType::kU16 : type_of_npy_code(code);
  if (type && (header.byte_order != '|' || element_size(*type) == 1)) return *type;
  fail_at(stream, header_offset,
          fmt::format("got the element type {}, expected b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4 or f8 with a byte "
                      "order: convert it with array.astype('float32')",
                      in_quotes(header.byte_order + code)));
}

void require_elements(const ByteStream& stream, int64_t header_offset, const NpyHeader& header) {
  if (header.shape.empty())
    fail_at(stream, header_offset,
            "got a single number without dimensions, expected an array: save it with shape (1,)");
  if (std::ranges::find(header.shape, 0) != header.shape.end())
    fail_at(stream, header_offset,
            fmt::format("got the shape {}: the array holds no data", format_shape(header.shape)));
}

// Converts IEEE 754 binary16 to binary32, exactly.
float widen(uint16_t half) {
  const int exponent = half >> 10 & 0x1F;
  const int mantissa = half & 0x3FF;
  const float sign = (half & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1F) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa | 0x400), exponent - 25);
}

Array widened(const Array& halves) {
  Array floats{ElementType::kF32, halves.shape, std::vector<std::byte>(halves.bytes.size() * 2)};
  std::ranges::transform(halves.values<uint16_t>(), floats.values<float>().begin(), widen);
  return floats;
}

// Converts column-major to row-major order. The result is written in order; `from` is the matching index in the source.
Array transposed(const Array& source) {
  Array result{source.type, source.shape, std::vector<std::byte>(source.bytes.size())};
  const auto width = static_cast<size_t>(element_size(source.type));
  std::vector<int64_t> shape = source.shape;
  std::erase(shape, 1);  // A dimension of size 1 does not move elements.
  const size_t rank = shape.size();
  std::vector<size_t> stride(rank, 1);
  for (size_t i = 1; i < rank; ++i) stride[i] = stride[i - 1] * static_cast<size_t>(shape[i - 1]);
  std::vector<int64_t> index(rank, 0);
  size_t from = 0;
  for (size_t to = 0; to < result.bytes.size(); to += width) {
    std::memcpy(&result.bytes[to], &source.bytes[from * width], width);
    for (size_t i = rank; i-- > 0;) {
      from += stride[i];
      if (++index[i] < shape[i]) break;
      from -= stride[i] * static_cast<size_t>(shape[i]);
      index[i] = 0;
    }
  }
  return result;
}

void require_bools(const ByteStream& stream, int64_t data_offset, std::span<const uint8_t> values) {
  const auto bad = std::ranges::find_if(values, [](uint8_t value) { return value > 1; });
  if (bad == values.end()) return;
  fail_at(stream, data_offset + (bad - values.begin()),
          fmt::format("got {:02x}, expected a bool of 00 or 01: write the file again with numpy.save", *bad));
}

NpyLayout read_layout(ByteStream& stream) {
  const int64_t length_bytes = read_preamble(stream) == 1 ? 2 : 4;
  const int64_t header_offset = kPreambleBytes + length_bytes;
  const int64_t header_length = read_header_length(stream, length_bytes);
  const std::string text = read_header(stream, header_offset, header_length);
  const NpyHeader header = HeaderParser(text, stream, header_offset).parse();
  const ElementType type = encoded_type(stream, header_offset, header);
  require_elements(stream, header_offset, header);
  constexpr char kForeignOrder = std::endian::native == std::endian::little ? '>' : '<';
  return {.type = type,
          .is_half = header.element_code == kHalf,
          .is_swapped = header.byte_order == kForeignOrder,
          .is_fortran = header.fortran_order,
          .is_packed = stream.is_packed(),
          .shape = header.shape,
          .data_offset = header_offset + header_length};
}

// An archive is known by its name, so that its content must be what the name says.
std::unique_ptr<ByteStream> open_npy(const std::filesystem::path& path) {
  const ArrayPath parts = split_array_path(path);
  const bool is_archive = parts.file.extension() == ".npz";
  return is_archive ? NpzArchive(parts.file).open(parts.array) : open_stream(path);
}

}  // namespace

NpyLayout read_npy_layout(const std::filesystem::path& path) { return read_layout(*open_npy(path)); }

Array read_npy(const std::filesystem::path& path) { return read_npy(*open_npy(path)); }

Array read_npy(ByteStream& stream) {
  const NpyLayout layout = read_layout(stream);
  Array array = read_array(stream, layout.data_offset, layout.type, layout.shape);
  if (layout.is_swapped) swap_bytes(array.bytes, element_size(layout.type));
  if (layout.type == ElementType::kBool) require_bools(stream, layout.data_offset, array.values<uint8_t>());
  if (layout.is_fortran) array = transposed(array);
  return layout.is_half ? widened(array) : array;
}

}  // namespace rnnlab
