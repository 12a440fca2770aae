// A regular file opened for reading. It never blocks on a FIFO or a device, and it throws UserError kData if the length
// of the file changes while it is read.
#pragma once

#include "data/readers/byte_stream.h"

namespace rnnlab {

class File : public ByteStream {
 public:
  explicit File(const std::filesystem::path& path);
  ~File() override;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  size_t read(std::span<std::byte> into) override;
  int64_t most_bytes() const override { return size_; }
  const std::string& path() const override { return path_; }
  bool is_packed() const override { return false; }

  // Reads the first bytes and keeps the position; fewer bytes than requested if the file is shorter.
  size_t peek(std::span<std::byte> into) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
  int64_t offset_ = 0;
};

}  // namespace rnnlab
