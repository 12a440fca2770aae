// Unpacks gzip data (RFC 1952, with zlib) piece by piece. Members follow each other, and the checksum of each is
// verified at its end. The memory is one buffer, independent of the unpacked size; the caller limits how much it reads.
#pragma once

#include <zlib.h>

#include <vector>

#include "data/readers/file.h"

namespace rnnlab {

// Returns whether a file that begins with these bytes is gzip.
bool is_gzip(std::span<const std::byte> start);

class GzipStream : public ByteStream {
 public:
  explicit GzipStream(std::unique_ptr<File> file);
  ~GzipStream() override;
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  size_t read(std::span<std::byte> into) override;
  int64_t most_bytes() const override;
  const std::string& path() const override { return file_->path(); }
  bool is_packed() const override { return true; }

 private:
  void refill();
  void start_next_member();
  int64_t packed_offset() const;

  std::unique_ptr<File> file_;
  std::vector<std::byte> buffer_;
  int64_t num_packed_read_ = 0;
  z_stream inflater_{};
  bool between_members_ = false;
};

}  // namespace rnnlab
