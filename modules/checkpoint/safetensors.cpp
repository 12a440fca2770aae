#include "checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/numbers.h"
#include "base/text.h"
#include "checkpoint/failure.h"
#include "checkpoint/safetensors_header.h"
#include "results/files.h"

namespace rnnlab {
namespace {

static_assert(std::endian::native == std::endian::little, "the bytes of tensors are written as they stand in memory");

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
    refuse_checkpoint("{}: {} bytes, expected at least {}; it is no safetensors file, or was cut off", name,
                      start.size(), kLengthBytes);
  const uint64_t length = header_length(start);
  if (start.starts_with("PK\3\4"))
    refuse_checkpoint(
        "{}: a ZIP archive, such as torch.save writes, expected a safetensors file: write the state_dict with "
        "safetensors.torch.save_file",
        name);
  if (length > kMostHeaderBytes)
    refuse_checkpoint("{}: its header is said to take {} bytes, expected at most {}; it is no safetensors file", name,
                      length, kMostHeaderBytes);
}

void check_length(std::string_view bytes, const std::string& name) {
  check_length_limit(bytes.substr(0, kLengthBytes), name);
  if (const size_t following = bytes.size() - kLengthBytes; header_length(bytes) > following)
    refuse_checkpoint("{}: its header is said to take {} bytes, but {} follow; the file was cut off", name,
                      header_length(bytes), following);
}

void check_size(const SafetensorsEntry& entry, const std::string& name) {
  const auto wanted = num_bytes(entry.spec);
  if (!wanted)
    refuse_checkpoint("{}: tensor {}: the bytes of shape {} are more than 2^63", name, quoted(entry.spec),
                      in_quotes(shape_text(entry.spec), 200));
  if (entry.end - entry.begin != static_cast<uint64_t>(*wanted))
    refuse_checkpoint("{}: tensor {}: data_offsets [{}, {}] hold {} bytes, expected {} for {} {}", name,
                      quoted(entry.spec), entry.begin, entry.end, entry.end - entry.begin, *wanted,
                      config::name_of(entry.spec.dtype), shape_text(entry.spec));
}

// In the order of the buffer, which they must fill.
void check_places(std::vector<SafetensorsEntry>& entries, uint64_t buffer_bytes, const std::string& name) {
  std::ranges::stable_sort(entries, {}, [](const SafetensorsEntry& e) { return std::pair(e.begin, e.end); });
  uint64_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != end)
      refuse_checkpoint("{}: tensor {}: data_offsets begin at {}, expected {}; tensors may not {}", name,
                        quoted(entry.spec), entry.begin, end, entry.begin < end ? "overlap" : "leave a hole");
    if (entry.end < entry.begin)
      refuse_checkpoint("{}: tensor {}: data_offsets [{}, {}] end before they begin", name, quoted(entry.spec),
                        entry.begin, entry.end);
    check_size(entry, name);
    end = entry.end;
  }
  if (end != buffer_bytes)
    refuse_checkpoint("{}: {} bytes follow the header, expected {} for its tensors; the file {}", name, buffer_bytes,
                      end, buffer_bytes < end ? "was cut off" : "has something after its end");
}

// Any other byte would be undefined behaviour in a program that computes with bool.
void check_bools(const TensorView& tensor, const std::string& name) {
  if (tensor.spec.dtype != DType::kBool) return;
  const auto bad = std::ranges::find_if(tensor.bytes, [](std::byte b) { return b > std::byte{1}; });
  if (bad != tensor.bytes.end())
    refuse_checkpoint("{}: tensor {}: BOOL number {} is {}, expected 0 or 1", name, quoted(tensor.spec),
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

// "" where they agree.
std::string difference(const TensorSpec& got, const TensorSpec& wanted) {
  if (got.dtype != wanted.dtype)
    return fmt::format("tensor {} has dtype {}, expected {}", quoted(wanted), config::name_of(got.dtype),
                       config::name_of(wanted.dtype));
  if (got.shape != wanted.shape)
    return fmt::format("tensor {} has shape {}, expected {}", quoted(wanted), shape_text(got), shape_text(wanted));
  return "";
}

// Of a model in Python that has the same layer as a member: "lstm.weight_ih_l0" for "recurrent.weight_ih_l0".
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
    found.push_back(fmt::format("tensor {} is there, {}, expected none of this name", quoted(*spec), described(*spec)));
  return found;
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
  check_places(header.entries, buffer.size(), name);
  for (SafetensorsEntry& entry : header.entries) {
    file.tensors.push_back({std::move(entry.spec), buffer.subspan(entry.begin, entry.end - entry.begin)});
    check_bools(file.tensors.back(), name);
  }
  file.metadata = std::move(header.metadata);
  return file;
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  return reading_checkpoint([&] {
    // Whatever else may be called so is refused before it is read.
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
    RNNLAB_INVARIANT(num_bytes(tensor.spec) == size, "the bytes of " + quoted(tensor.spec) + " do not fit its shape");
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
  refuse_checkpoint("{}: {}{}; it was made with another model", file.name, found.front(), more);
}

}  // namespace rnnlab
