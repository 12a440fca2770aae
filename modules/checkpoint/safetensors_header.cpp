#include "checkpoint/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "checkpoint/failure.h"
#include "config/enum_names.h"

namespace rnnlab {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMetadataKey = "__metadata__";

DType dtype_from(const std::string& name, const std::string& place) {
  if (const auto dtype = config::from_name<DType>(name)) return *dtype;
  const std::vector<std::string> known = config::names_of<DType>();
  if (std::ranges::count(foreign_dtype_names(), name) > 0)
    refuse_checkpoint("{} is {}, which rnnlab cannot compute with; convert it to {}", place, name, one_of(known));
  refuse_checkpoint("{} is {}, expected {}", place, in_quotes(name), one_of(known));
}

// Takes the parser's events one by one; each is expected or refused. There is no tree in between, which would take
// many times the memory of the text.
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
        begin_metadata_value(name);  // there is no other object
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
    refuse_checkpoint("{}: its header is not valid JSON at byte {} of the file; the file is damaged", file_,
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
        return one_of(config::names_of<DType>());
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
    refuse_checkpoint("{}{} {}, expected {}", place(), is_list() ? " holds" : " is", got, wanted());
  }
  bool is_list() const { return expected_ == Expected::kSize || expected_ == Expected::kOffset; }

  void begin_tensor(const std::string& name) {
    tensor_ = name;
    if (name == kMetadataKey) {
      if (has_metadata_) refuse_checkpoint("{}: {} occurs twice", file_, kMetadataKey);
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
      refuse_checkpoint("{}: tensor {} has an unknown key {}, expected {}", file_, tensor, in_quotes(key),
                        each_of(names));
    }
    if (!keys_.insert(key).second) refuse_checkpoint("{}: tensor {}: {} occurs twice", file_, tensor, key);
    key_ = key;
    expected_ = known->second;
  }

  void end_tensor() const {
    for (const auto& [name, value] : kTensorKeys)
      if (!keys_.contains(name))
        refuse_checkpoint("{}: tensor {}: {} is missing", file_, in_quotes(tensor_, kMostShownBytes), name);
  }

  void begin_metadata_value(const std::string& key) {
    if (header_.metadata.contains(key))
      refuse_checkpoint("{}: {}: {} occurs twice", file_, kMetadataKey, in_quotes(key));
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
  std::set<std::string> keys_;  // of this tensor, so far
  int num_offsets_ = 0;
  bool has_metadata_ = false;
};

void check_text(std::string_view text, const std::string& file) {
  if (!text.starts_with('{'))
    refuse_checkpoint("{}: its header begins with {}, expected '{{'; it is no safetensors file", file,
                      in_quotes(text.substr(0, 1)));
  if (const auto invalid = first_invalid_utf8(text))
    refuse_checkpoint("{}: its header is not UTF-8 at byte {} of the file; the file is damaged", file,
                      kLengthBytes + *invalid);
  // The parser would take a zero for the end.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
    refuse_checkpoint("{}: its header has a zero at byte {} of the file; the file is damaged", file,
                      kLengthBytes + zero);
}

void check_names_differ(const std::vector<SafetensorsEntry>& entries, const std::string& file) {
  std::vector<std::string_view> names;
  for (const SafetensorsEntry& entry : entries) names.push_back(entry.spec.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) refuse_checkpoint("{}: tensor {} occurs twice", file, in_quotes(*twice, 200));
}

Json json_of(const SafetensorsEntry& entry) {
  Json json = Json::object();
  json["dtype"] = config::name_of(entry.spec.dtype);
  json["shape"] = entry.spec.shape;
  json["data_offsets"] = {entry.begin, entry.end};
  return json;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& file) {
  check_text(text, file);
  SafetensorsHeader header;
  HeaderEvents events(header, file);
  Json::sax_parse(text, &events);
  check_names_differ(header.entries, file);
  return header;
}

std::string safetensors_header_text(const SafetensorsHeader& header) {
  std::vector<std::string> members;
  if (!header.metadata.empty()) members.push_back(fmt::format("\"{}\":{}", kMetadataKey, Json(header.metadata).dump()));
  for (const SafetensorsEntry& entry : header.entries)
    members.push_back(fmt::format("{}:{}", Json(entry.spec.name).dump(), json_of(entry).dump()));
  std::string text = fmt::format("{{{}}}", join(members, ","));
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  return text;
}

}  // namespace rnnlab
