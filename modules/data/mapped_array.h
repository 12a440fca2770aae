// SPDX-License-Identifier: Apache-2.0
// The elements of an npy file as the operating system maps them into memory: pages are read when they are used and
// dropped when memory is short, so the file may be larger than memory. The file has all elements when it is mapped; a
// fault of a page that is lost later ends the process with a message. Conversion and scaling are in mapped_inputs.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/system/files.h"
#include "data/readers/array.h"

namespace rnnlab {

// What happens if a page of a mapped file cannot be read, because the file was cut off or its disk fails. The system
// then sends SIGBUS, which would end the process without a word. While a MappingFault lives, the process writes its
// message to standard error and exits with ExitCode::kData. Results are not written, and destructors do not run.
class MappingFault {
 public:
  // Messages longer than 1,024 bytes are cut. If 64 objects live already, a fault of this mapping has no message.
  MappingFault(std::span<const std::byte> mapping, std::string_view message);
  ~MappingFault();
  MappingFault(const MappingFault&) = delete;
  MappingFault& operator=(const MappingFault&) = delete;

 private:
  size_t slot_ = 0;
};

// Returns why a file cannot be mapped and what to do, such as "it is packed: unpack it with gunzip", or "".
std::string unmappable_reason(const NpyLayout& layout);

// Two equal states of a path are those of one file that was not written in between.
struct FileState {
  uint64_t device = 0, inode = 0;
  int64_t size = 0;
  int64_t changed_seconds = 0, changed_nanoseconds = 0;

  bool operator==(const FileState&) const = default;
};

class MappedArray {
 public:
  // Throws UserError kData with the path if the file cannot be read or mapped, or is not as long as its header says;
  // kDevice if a limit on addresses is too small for it.
  explicit MappedArray(const std::filesystem::path& path);
  ~MappedArray();
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;

  const std::string& path() const { return path_; }
  const NpyLayout& layout() const { return layout_; }

  // Returns all elements, in the order of the file. They need not be aligned.
  std::span<const std::byte> bytes() const { return bytes_; }

  // Asks the system to read a part of bytes() ahead. Does not wait for the data, but may wait for a busy disk to accept
  // the request.
  void will_need(size_t offset, size_t count) const;

  // Throws UserError kData if the size or the time of the last change of the file differ from those at the start. A
  // caller needs this before a read and after it: where a file was cut off, the rest of its last page reads as zeros.
  // Reads of the pages beyond end the process as MappingFault says.
  void require_unchanged() const;

 private:
  std::string path_;
  FileState state_;  // before the header was read
  NpyLayout layout_;
  FileDescriptor file_;
  std::span<const std::byte> file_bytes_;  // the mapping
  std::span<const std::byte> bytes_;       // of the elements
  std::optional<MappingFault> fault_;
};

}  // namespace rnnlab
