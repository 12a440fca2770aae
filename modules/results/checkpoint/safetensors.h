// SPDX-License-Identifier: Apache-2.0
// Files of tensors in the safetensors layout: the length of the header as 8 little-endian bytes, the header, then the
// tensors' bytes without gaps. PyTorch's parameter names are read and written unchanged. Python's `safetensors` package
// reads files of this module, and this module reads files of the package. Reading an untrusted file is safe: no code is
// executed, and memory is in proportion to the file's size. The format has no checksum: checkpoint.h adds one.
// Source: https://github.com/huggingface/safetensors, "Format".
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/enum_names.h"
#include "base/error.h"

namespace rnnlab {

// Throws UserError kCheckpoint: a checkpoint or a file of tensors cannot be used.
template <class... Args>
[[noreturn]] void throw_checkpoint_error(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ExitCode::kCheckpoint, format, std::forward<Args>(args)...);
}

// Returns the result of `read`; rethrows its kData errors as kCheckpoint errors.
template <class Read>
auto with_checkpoint_errors(Read read) {
  try {
    return read();
  } catch (const UserError& error) {
    if (error.exit_code() != ExitCode::kData) throw;
    throw UserError(ExitCode::kCheckpoint, error.what());
  }
}

// The number types of checkpoints, with their names in the safetensors format.
// Source: https://github.com/huggingface/safetensors, "Format".
enum class DType { kF64, kF32, kF16, kBf16, kI64, kI32, kI16, kI8, kU8, kBool };

int64_t bytes_of(DType dtype);  // of one number

// Returns the types of the format that rnnlab does not support, such as "F8_E4M3" and "U64".
std::vector<std::string_view> unsupported_dtype_names();

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::DType> {
  static constexpr std::array<std::pair<rnnlab::DType, std::string_view>, 10> kNames = {{
      {rnnlab::DType::kF64, "F64"},
      {rnnlab::DType::kF32, "F32"},
      {rnnlab::DType::kF16, "F16"},
      {rnnlab::DType::kBf16, "BF16"},
      {rnnlab::DType::kI64, "I64"},
      {rnnlab::DType::kI32, "I32"},
      {rnnlab::DType::kI16, "I16"},
      {rnnlab::DType::kI8, "I8"},
      {rnnlab::DType::kU8, "U8"},
      {rnnlab::DType::kBool, "BOOL"},
  }};
};

namespace rnnlab {

// The name, type and shape of a tensor. Sizes are not negative. A tensor without sizes is a scalar.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;

  bool operator==(const TensorSpec&) const = default;
};

struct TensorView {
  TensorSpec spec;
  std::span<const std::byte> bytes;  // contiguous, the last dimension fastest, little-endian; not aligned
};

// Returns the bytes of a tensor of this type and shape, or nullopt if the number exceeds 63 bits.
std::optional<int64_t> num_bytes(const TensorSpec& spec);

// Returns a text such as "[2, 3]" or "[]".
std::string shape_text(const TensorSpec& spec);

using TensorMetadata = std::map<std::string, std::string>;

// The tensors of a file that was read. They are views of its bytes, which copies share.
struct TensorFile {
  std::string name;                 // the name in messages: the path
  std::vector<TensorView> tensors;  // in the order of the buffer
  TensorMetadata metadata;
  std::shared_ptr<const std::string> bytes;

  const TensorView* find(std::string_view tensor) const;  // null if it is missing
};

// Parses the bytes of a whole file. Throws UserError kCheckpoint with `name` for every deviation from the format: a
// header above 100,000,000 bytes or with an invalid entry; tensors that overlap or leave holes; a shape that does not
// match its number of bytes; a file that ends before or after its tensors; a BOOL that is neither 0 nor 1.
TensorFile parse_safetensors(std::string bytes, const std::string& name);

// Reads the file. Throws UserError kCheckpoint, also if the file cannot be read.
TensorFile read_safetensors(const std::filesystem::path& path);

// The image of a new file over bytes that must outlive it. Tensors are sorted by the size of their numbers, large ones
// first, then by name, so that each is aligned; equal tensors give equal files. Names must differ and be UTF-8, and
// bytes must match shapes.
class SafetensorsImage {
 public:
  explicit SafetensorsImage(std::vector<TensorView> tensors, const TensorMetadata& metadata = {});
  std::vector<std::string_view> pieces() const;

 private:
  std::vector<TensorView> tensors_;
  std::string start_;  // length and header
};

// Writes a file whose path the user chose, with write_output_file (base/system/files.h). Throws UserError kUsage,
// kDevice.
void write_safetensors(const std::filesystem::path& path, const SafetensorsImage& image);

// Checks that the file holds exactly these tensors, with these shapes and dtypes, in any order. Throws UserError
// kCheckpoint with the first missing, different or unexpected tensor, and the number of further differences.
void require_tensors(const TensorFile& file, const std::vector<TensorSpec>& expected);

}  // namespace rnnlab
