// Files of tensors in the safetensors layout: the length of the header as 8 little-endian bytes, the header, then the
// tensors' bytes without gaps. PyTorch's parameter names are read and written unchanged. Python's `safetensors` package
// reads files of this module, and this module reads files of the package. Reading an untrusted file is safe: no code is
// executed, and memory is in proportion to the file's size. The format has no checksum: checkpoint.h adds one.
// Source: https://github.com/huggingface/safetensors, "Format".
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tensor_view.h"

namespace rnnlab {

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

// Writes a file whose path the user chose, with write_output_file (system/files.h). Throws UserError kUsage, kDevice.
void write_safetensors(const std::filesystem::path& path, const SafetensorsImage& image);

// Checks that the file holds exactly these tensors, with these shapes and dtypes, in any order. Throws UserError
// kCheckpoint with the first missing, different or unexpected tensor, and the number of further differences.
void require_tensors(const TensorFile& file, const std::vector<TensorSpec>& expected);

}  // namespace rnnlab
