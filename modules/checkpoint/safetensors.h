// Files of tensors in the safetensors layout: the length of the header as 8 little-endian bytes, the header, then the
// tensors' bytes without gaps. PyTorch's parameter names go in and out as they are; Python's `safetensors` package
// reads what is written here and the reverse. A file from a stranger is safe to read: it runs nothing, and takes memory
// in proportion to its size. The format has no checksum: checkpoint.h adds one.
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

// The tensors of a file that was read, over its bytes, which copies share.
struct TensorFile {
  std::string name;                 // how messages call it: its path
  std::vector<TensorView> tensors;  // as they stand in it
  TensorMetadata metadata;
  std::shared_ptr<const std::string> bytes;

  const TensorView* find(std::string_view tensor) const;  // null: there is none
};

// The bytes of a whole file. UserError kCheckpoint, with `name`, for whatever is not exactly a safetensors file: a
// header above 100,000,000 bytes, see also safetensors.h; tensors that overlap or leave holes; a shape that does
// not give the bytes it was allotted; a file that ends before or after its tensors; a BOOL that is neither 0 nor 1.
TensorFile parse_safetensors(std::string bytes, const std::string& name);

// Reads the file once. UserError kCheckpoint, also when it cannot be read.
TensorFile read_safetensors(const std::filesystem::path& path);

// A file to be, over bytes that must outlive it. Its tensors stand by size of number, large ones first, then by name,
// so that each is aligned; the same tensors give the same file. Names must differ and be UTF-8, bytes must fit shapes.
class SafetensorsImage {
 public:
  explicit SafetensorsImage(std::vector<TensorView> tensors, const TensorMetadata& metadata = {});
  std::vector<std::string_view> pieces() const;

 private:
  std::vector<TensorView> tensors_;
  std::string start_;  // length and header
};

// As a file that the user named: write_output_file (system/files.h). UserError kUsage and kDevice.
void write_safetensors(const std::filesystem::path& path, const SafetensorsImage& image);

// That the file holds these tensors and no other, of these shapes and dtypes, in any order. UserError kCheckpoint names
// the first that is missing, different or unexpected, and how many more there are.
void require_tensors(const TensorFile& file, const std::vector<TensorSpec>& expected);

}  // namespace rnnlab
