// SPDX-License-Identifier: Apache-2.0
#include "results/checkpoint/safetensors.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include "base/numbers.h"
#include "base/system/files.h"
#include "base/text.h"

namespace rnnlab {

int64_t bytes_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBf16:
    case DType::kI16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  fail_invariant("a listed dtype", __FILE__, __LINE__, "bytes_of does not know it");
}

std::vector<std::string_view> unsupported_dtype_names() {
  return {"F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F6_E2M3",
          "F6_E3M2", "F4",      "U16",     "U32",         "U64",         "C64"};
}

std::optional<int64_t> num_bytes(const TensorSpec& spec) {
  // A size of zero does not hide an overflow, because libraries multiply the remaining sizes for strides.
  std::optional<int64_t> bytes = bytes_of(spec.dtype);
  for (const int64_t size : spec.shape)
    if (bytes) bytes = checked_multiply(*bytes, std::max<int64_t>(size, 1));
  const bool is_empty = std::ranges::find(spec.shape, 0) != spec.shape.end();
  return bytes && is_empty ? 0 : bytes;
}

std::string shape_text(const TensorSpec& spec) { return fmt::format("[{}]", fmt::join(spec.shape, ", ")); }

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLengthBytes = 8;  // of the header's length, which precedes the header

struct SafetensorsEntry {
  TensorSpec spec;
  uint64_t begin = 0;  // in the buffer after the header
  uint64_t end = 0;
};

// The header of a safetensors file: the JSON object with the type, shape and byte offsets of each tensor.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of the file
  std::map<std::string, std::string> metadata;
};

constexpr const char* kMetadataKey = "__metadata__";

DType dtype_from(const std::string& name, const std::string& place) {
  if (const auto dtype = config::from_name<DType>(name)) return *dtype;
  const std::vector<std::string> known = config::names_of<DType>();
  if (std::ranges::count(unsupported_dtype_names(), name) > 0)
    throw_checkpoint_error("{} is {}, which rnnlab cannot compute with; convert it to {}", place, name,
                           join_with_or(known));
  throw_checkpoint_error("{} is {}, expected {}", place, in_quotes(name), join_with_or(known));
}

// Handles the parser's events one by one; an event that is not expected is an error. No tree is built, because a tree
// would need many times the memory of the text.
class HeaderEvents {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  HeaderEvents(SafetensorsHeader& header, const std::string& file) : header_(header), file_(file) {}

  bool null() { refuse("null"); }
  bool boolean(bool value) { refuse(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) { refuse(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) { refuse(text); }
  bool binary(binary_t&) { refuse("binary"); }

  bool number_unsigned(number_unsigned_t value) {
    if (expected_ == Expected::kSize) {
      if (value > std::numeric_limits<int64_t>::max()) refuse(std::to_string(value));
      entry().spec.shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (expected_ != Expected::kOffset) refuse(std::to_string(value));
    if (num_offsets_ == 2) refuse("a third, " + std::to_string(value));
    (num_offsets_++ == 0 ? entry().begin : entry().end) = value;
    return true;
  }

  bool string(string_t& value) {
    if (expected_ == Expected::kMetadataValue) {
      header_.metadata[key_] = value;
      expected_ = Expected::kMetadataName;
    } else if (expected_ == Expected::kDtype) {
      entry().spec.dtype = dtype_from(value, place());
      expected_ = Expected::kTensorKey;
    } else {
      refuse(in_quotes(value));
    }
    return true;
  }

  bool key(string_t& name) {
    switch (expected_) {
      case Expected::kName:
        begin_tensor(name);
        break;
      case Expected::kTensorKey:
        begin_tensor_value(name);
        break;
      default:
        begin_metadata_value(name);  // objects of other kinds do not occur
    }
    return true;
  }

  bool start_object(size_t) {
    switch (expected_) {
      case Expected::kHeader:
        expected_ = Expected::kName;
        break;
      case Expected::kTensor:
        expected_ = Expected::kTensorKey;
        break;
      case Expected::kMetadata:
        expected_ = Expected::kMetadataName;
        break;
      default:
        refuse("an object");
    }
    return true;
  }

  bool end_object() {
    if (expected_ == Expected::kTensorKey) end_tensor();
    expected_ = Expected::kName;  // after the outermost object the parser itself expects the end
    return true;
  }

  bool start_array(size_t) {
    if (expected_ == Expected::kShape)
      expected_ = Expected::kSize;
    else if (expected_ == Expected::kOffsets)
      expected_ = Expected::kOffset;
    else
      refuse("a list");
    return true;
  }

  bool end_array() {
    if (expected_ == Expected::kOffset && num_offsets_ != 2) refuse("less");
    expected_ = Expected::kTensorKey;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
    throw_checkpoint_error("{}: its header is not valid JSON at byte {} of the file; the file is damaged", file_,
                           kLengthBytes + position - 1);
  }

 private:
  enum class Expected {
    kHeader,
    kName,
    kTensor,
    kTensorKey,
    kDtype,
    kShape,
    kSize,
    kOffsets,
    kOffset,
    kMetadata,
    kMetadataName,
    kMetadataValue
  };

  SafetensorsEntry& entry() { return header_.entries.back(); }

  std::string place() const {
    const std::string tensor = in_quotes(tensor_, kMostShownBytes);
    switch (expected_) {
      case Expected::kHeader:
        return fmt::format("{}: the header", file_);
      case Expected::kTensor:
        return fmt::format("{}: tensor {}", file_, tensor);
      case Expected::kMetadata:
        return fmt::format("{}: {}", file_, kMetadataKey);
      case Expected::kMetadataValue:
        return fmt::format("{}: {}: {}", file_, kMetadataKey, in_quotes(key_));
      default:
        return fmt::format("{}: tensor {}: {}", file_, tensor, key_);
    }
  }

  std::string wanted() const {
    switch (expected_) {
      case Expected::kHeader:
        return "an object";
      case Expected::kTensor:
        return "an object with dtype, shape and data_offsets";
      case Expected::kDtype:
        return join_with_or(config::names_of<DType>());
      case Expected::kShape:
        return "a list of sizes";
      case Expected::kSize:
        return "whole numbers below 2^63";
      case Expected::kMetadata:
        return "an object of strings";
      case Expected::kMetadataValue:
        return "a string";
      default:
        return "the two whole numbers [begin, end]";
    }
  }

  [[noreturn]] void refuse(const std::string& got) const {
    throw_checkpoint_error("{}{} {}, expected {}", place(), is_list() ? " holds" : " is", got, wanted());
  }
  bool is_list() const { return expected_ == Expected::kSize || expected_ == Expected::kOffset; }

  void begin_tensor(const std::string& name) {
    tensor_ = name;
    if (name == kMetadataKey) {
      if (has_metadata_) throw_checkpoint_error("{}: {} occurs twice", file_, kMetadataKey);
      has_metadata_ = true;
      expected_ = Expected::kMetadata;
      return;
    }
    header_.entries.emplace_back().spec.name = name;
    keys_.clear();
    num_offsets_ = 0;
    expected_ = Expected::kTensor;
  }

  void begin_tensor_value(const std::string& key) {
    const std::string tensor = in_quotes(tensor_, kMostShownBytes);
    const auto known = std::ranges::find(kTensorKeys, key, &std::pair<std::string, Expected>::first);
    if (known == kTensorKeys.end()) {
      std::vector<std::string> names;
      for (const auto& [name, value] : kTensorKeys) names.push_back(name);
      throw_checkpoint_error("{}: tensor {} has an unknown key {}, expected {}", file_, tensor, in_quotes(key),
                             join_with_and(names));
    }
    if (!keys_.insert(key).second) throw_checkpoint_error("{}: tensor {}: {} occurs twice", file_, tensor, key);
    key_ = key;
    expected_ = known->second;
  }

  void end_tensor() const {
    for (const auto& [name, value] : kTensorKeys)
      if (!keys_.contains(name))
        throw_checkpoint_error("{}: tensor {}: {} is missing", file_, in_quotes(tensor_, kMostShownBytes), name);
  }

  void begin_metadata_value(const std::string& key) {
    if (header_.metadata.contains(key))
      throw_checkpoint_error("{}: {}: {} occurs twice", file_, kMetadataKey, in_quotes(key));
    key_ = key;
    expected_ = Expected::kMetadataValue;
  }

  static constexpr size_t kMostShownBytes = 200;
  inline static const std::vector<std::pair<std::string, Expected>> kTensorKeys = {
      {"dtype", Expected::kDtype}, {"shape", Expected::kShape}, {"data_offsets", Expected::kOffsets}};

  SafetensorsHeader& header_;
  const std::string& file_;
  Expected expected_ = Expected::kHeader;
  std::string tensor_;
  std::string key_;             // of a tensor or of the metadata
  std::set<std::string> keys_;  // of the current tensor, so far
  int num_offsets_ = 0;
  bool has_metadata_ = false;
};

void check_text(std::string_view text, const std::string& file) {
  if (!text.starts_with('{'))
    throw_checkpoint_error("{}: its header begins with {}, expected '{{'; it is not a safetensors file", file,
                           in_quotes(text.substr(0, 1)));
  if (const auto invalid = first_invalid_utf8(text))
    throw_checkpoint_error("{}: its header is not UTF-8 at byte {} of the file; the file is damaged", file,
                           kLengthBytes + *invalid);
  // The parser would treat a zero as the end of the text.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
    throw_checkpoint_error("{}: its header has a zero at byte {} of the file; the file is damaged", file,
                           kLengthBytes + zero);
}

void check_names_differ(const std::vector<SafetensorsEntry>& entries, const std::string& file) {
  std::vector<std::string_view> names;
  for (const SafetensorsEntry& entry : entries) names.push_back(entry.spec.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) throw_checkpoint_error("{}: tensor {} occurs twice", file, in_quotes(*twice, 200));
}

Json json_of(const SafetensorsEntry& entry) {
  Json json = Json::object();
  json["dtype"] = config::name_of(entry.spec.dtype);
  json["shape"] = entry.spec.shape;
  json["data_offsets"] = {entry.begin, entry.end};
  return json;
}

// Reading is strict and needs memory in proportion to the text. `file` is the name of the file in messages. Throws
// UserError kCheckpoint for every text except one JSON object of tensors: invalid UTF-8, an unknown or duplicate key, a
// missing or mistyped value, an unknown dtype, a size that is not a whole number. The caller checks whether the tensors
// fill the buffer.
SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& file) {
  check_text(text, file);
  SafetensorsHeader header;
  HeaderEvents events(header, file);
  Json::sax_parse(text, &events);
  check_names_differ(header.entries, file);
  return header;
}

// Returns the header, padded with spaces to a multiple of 8 bytes.
std::string safetensors_header_text(const SafetensorsHeader& header) {
  std::vector<std::string> members;
  if (!header.metadata.empty()) members.push_back(fmt::format("\"{}\":{}", kMetadataKey, Json(header.metadata).dump()));
  for (const SafetensorsEntry& entry : header.entries)
    members.push_back(fmt::format("{}:{}", Json(entry.spec.name).dump(), json_of(entry).dump()));
  std::string text = fmt::format("{{{}}}", join(members, ","));
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  return text;
}

static_assert(std::endian::native == std::endian::little,
              "the bytes of tensors are written in the order of memory, which must be little-endian");

constexpr uint64_t kMostHeaderBytes = 100'000'000;

std::string quoted(const TensorSpec& spec) { return in_quotes(spec.name, 200); }

uint64_t header_length(std::string_view start) {
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(start[i]);
  return length;
}

std::string length_bytes(uint64_t length) {
  std::string bytes;
  for (size_t i = 0; i < kLengthBytes; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xFF);
  return bytes;
}

void check_length_limit(std::string_view start, const std::string& name) {
  if (start.size() < kLengthBytes)
    throw_checkpoint_error("{}: {} bytes, expected at least {}; it is not a safetensors file, or was cut off", name,
                           start.size(), kLengthBytes);
  const uint64_t length = header_length(start);
  if (start.starts_with("PK\3\4"))
    throw_checkpoint_error(
        "{}: a ZIP archive, such as torch.save writes, expected a safetensors file: write the state_dict with "
        "safetensors.torch.save_file",
        name);
  if (length > kMostHeaderBytes)
    throw_checkpoint_error(
        "{}: its declared header size is {} bytes, expected at most {}; it is not a safetensors file", name, length,
        kMostHeaderBytes);
}

void check_length(std::string_view bytes, const std::string& name) {
  check_length_limit(bytes.substr(0, kLengthBytes), name);
  if (const size_t following = bytes.size() - kLengthBytes; header_length(bytes) > following)
    throw_checkpoint_error("{}: its declared header size is {} bytes, but {} follow; the file was cut off", name,
                           header_length(bytes), following);
}

void check_size(const SafetensorsEntry& entry, const std::string& name) {
  const auto wanted = num_bytes(entry.spec);
  if (!wanted)
    throw_checkpoint_error("{}: tensor {}: the bytes of shape {} are more than 2^63", name, quoted(entry.spec),
                           in_quotes(shape_text(entry.spec), 200));
  if (entry.end - entry.begin != static_cast<uint64_t>(*wanted))
    throw_checkpoint_error("{}: tensor {}: data_offsets [{}, {}] hold {} bytes, expected {} for {} {}", name,
                           quoted(entry.spec), entry.begin, entry.end, entry.end - entry.begin, *wanted,
                           config::name_of(entry.spec.dtype), shape_text(entry.spec));
}

// Sorts the entries in the order of the buffer. They must fill the buffer without gaps.
void check_offsets(std::vector<SafetensorsEntry>& entries, uint64_t buffer_bytes, const std::string& name) {
  std::ranges::stable_sort(entries, {}, [](const SafetensorsEntry& e) { return std::pair(e.begin, e.end); });
  uint64_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != end)
      throw_checkpoint_error("{}: tensor {}: data_offsets begin at {}, expected {}; tensors may not {}", name,
                             quoted(entry.spec), entry.begin, end, entry.begin < end ? "overlap" : "leave a hole");
    if (entry.end < entry.begin)
      throw_checkpoint_error("{}: tensor {}: data_offsets [{}, {}] end before they begin", name, quoted(entry.spec),
                             entry.begin, entry.end);
    check_size(entry, name);
    end = entry.end;
  }
  if (end != buffer_bytes)
    throw_checkpoint_error("{}: {} bytes follow the header, expected {} for its tensors; the file {}", name,
                           buffer_bytes, end, buffer_bytes < end ? "was cut off" : "has extra data after its end");
}

// Every other byte would be undefined behaviour in a program that computes with bool.
void check_bools(const TensorView& tensor, const std::string& name) {
  if (tensor.spec.dtype != DType::kBool) return;
  const auto bad = std::ranges::find_if(tensor.bytes, [](std::byte b) { return b > std::byte{1}; });
  if (bad != tensor.bytes.end())
    throw_checkpoint_error("{}: tensor {}: BOOL number {} is {}, expected 0 or 1", name, quoted(tensor.spec),
                           bad - tensor.bytes.begin(), std::to_integer<int>(*bad));
}

bool comes_before(const TensorView& a, const TensorView& b) {
  const int64_t a_bytes = bytes_of(a.spec.dtype);
  const int64_t b_bytes = bytes_of(b.spec.dtype);
  return a_bytes != b_bytes ? a_bytes > b_bytes : a.spec.name < b.spec.name;
}

std::string described(const TensorSpec& spec) {
  return fmt::format("{} {}", config::name_of(spec.dtype), shape_text(spec));
}

// Returns "" if the two agree.
std::string difference(const TensorSpec& got, const TensorSpec& wanted) {
  if (got.dtype != wanted.dtype)
    return fmt::format("tensor {} has dtype {}, expected {}", quoted(wanted), config::name_of(got.dtype),
                       config::name_of(wanted.dtype));
  if (got.shape != wanted.shape)
    return fmt::format("tensor {} has shape {}, expected {}", quoted(wanted), shape_text(got), shape_text(wanted));
  return "";
}

// Returns a hint for a model in Python that has the same layer as a member: "lstm.weight_ih_l0" for
// "recurrent.weight_ih_l0".
std::string member_hint(const TensorFile& file, const TensorSpec& missing) {
  const std::string last = "." + missing.name.substr(missing.name.rfind('.') + 1);
  for (const TensorView& tensor : file.tensors)
    if (tensor.spec.name != missing.name && tensor.spec.name.ends_with(last) && last.find("_l0") != std::string::npos)
      return fmt::format(" (there is {}: write the layer's own state_dict)", quoted(tensor.spec));
  return "";
}

std::vector<std::string> differences(const TensorFile& file, const std::vector<TensorSpec>& expected) {
  std::vector<std::string> found;
  std::map<std::string_view, const TensorSpec*> left;
  for (const TensorView& tensor : file.tensors) left[tensor.spec.name] = &tensor.spec;
  for (const TensorSpec& wanted : expected) {
    const auto got = left.find(wanted.name);
    if (got == left.end()) {
      found.push_back(fmt::format("tensor {} is missing, expected {}{}", quoted(wanted), described(wanted),
                                  member_hint(file, wanted)));
      continue;
    }
    add_once(found, difference(*got->second, wanted));
    left.erase(got);
  }
  for (const auto& [name, spec] : left)
    found.push_back(fmt::format("tensor {}, {}, is not part of the model", quoted(*spec), described(*spec)));
  return found;
}

bool has_only_other_types(const TensorFile& file, const std::vector<TensorSpec>& expected) {
  return file.tensors.size() == expected.size() && std::ranges::all_of(expected, [&](const TensorSpec& wanted) {
           const TensorView* view = file.find(wanted.name);
           return view != nullptr && view->spec.shape == wanted.shape;
         });
}

}  // namespace

const TensorView* TensorFile::find(std::string_view tensor) const {
  const auto found = std::ranges::find(tensors, tensor, [](const TensorView& view) { return view.spec.name; });
  return found == tensors.end() ? nullptr : &*found;
}

TensorFile parse_safetensors(std::string bytes, const std::string& name) {
  check_length(bytes, name);
  TensorFile file;
  file.name = name;
  file.bytes = std::make_shared<const std::string>(std::move(bytes));
  const std::string_view behind_length = std::string_view(*file.bytes).substr(kLengthBytes);
  const uint64_t length = header_length(*file.bytes);
  SafetensorsHeader header = parse_safetensors_header(behind_length.substr(0, length), name);
  const auto buffer = std::as_bytes(std::span(behind_length.substr(length)));
  check_offsets(header.entries, buffer.size(), name);
  for (SafetensorsEntry& entry : header.entries) {
    file.tensors.push_back({std::move(entry.spec), buffer.subspan(entry.begin, entry.end - entry.begin)});
    check_bools(file.tensors.back(), name);
  }
  file.metadata = std::move(header.metadata);
  return file;
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  return with_checkpoint_errors([&] {
    // A file of a different kind is refused before it is read completely.
    check_length_limit(read_beginning(path, kLengthBytes), path.string());
    constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
    return parse_safetensors(read_file(path, kNoLimit), path.string());
  });
}

SafetensorsImage::SafetensorsImage(std::vector<TensorView> tensors, const TensorMetadata& metadata)
    : tensors_(std::move(tensors)) {
  std::ranges::sort(tensors_, comes_before);
  SafetensorsHeader header{.entries = {}, .metadata = metadata};
  uint64_t end = 0;
  for (const TensorView& tensor : tensors_) {
    const auto size = static_cast<int64_t>(tensor.bytes.size());
    RNNLAB_INVARIANT(num_bytes(tensor.spec) == size, "the bytes of " + quoted(tensor.spec) + " must match its shape");
    header.entries.push_back({tensor.spec, end, end + tensor.bytes.size()});
    end += tensor.bytes.size();
  }
  start_ = safetensors_header_text(header);
  // A name that the reader would refuse must not be written.
  parse_safetensors_header(start_, "a checkpoint to be written");
  start_.insert(0, length_bytes(start_.size()));
}

std::vector<std::string_view> SafetensorsImage::pieces() const {
  std::vector<std::string_view> pieces = {start_};
  for (const TensorView& tensor : tensors_)
    pieces.emplace_back(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return pieces;
}

void write_safetensors(const std::filesystem::path& path, const SafetensorsImage& image) {
  write_output_file(path, image.pieces());
}

void require_tensors(const TensorFile& file, const std::vector<TensorSpec>& expected) {
  const std::vector<std::string> found = differences(file, expected);
  if (found.empty()) return;
  const std::string more =
      found.size() == 1 ? ""
                        : fmt::format(", and {} more", counted(static_cast<int64_t>(found.size()) - 1, "difference"));
  const char* const reason = has_only_other_types(file, expected)
                                 ? "its tensors fit the model, but not their type: save them as F32"
                                 : "it was made with a different model";
  throw_checkpoint_error("{}: {}{}; {}", file.name, found.front(), more, reason);
}

}  // namespace rnnlab
