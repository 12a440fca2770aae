// Bytes in order from a file on disk, plain or gzip: what every reader reads from. Errors are UserError, kData, and
// name the path, the byte and the next step. No seeking, no writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace rnnlab {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Fills `into` from where the last read ended and returns how many bytes came: fewer than asked only at the end.
  virtual size_t read(std::span<std::byte> into) = 0;

  // No stream holds more bytes than this: the size of a plain file, and what the compressed bytes could unpack to.
  virtual int64_t most_bytes() const = 0;

  virtual const std::string& path() const = 0;

  // Whether these bytes are unpacked from others: their number is then unknown and their offsets are not the file's.
  virtual bool is_packed() const = 0;

  // "byte 16" or "unpacked byte 16", for messages.
  std::string position(int64_t offset) const;
};

// Opens a regular file, unpacking it where its content (not its name) says gzip.
// A name that ends in .gz over other content is an error: the file is not what somebody thinks it is.
std::unique_ptr<ByteStream> open_stream(const std::filesystem::path& path);

// UserError kData: "<path>: byte 16: <message>".
[[noreturn]] void fail_at(const ByteStream& stream, int64_t offset, const std::string& message);

// Everything that the file holds, unpacked; an error where that is more than `limit` bytes.
std::string read_whole(const std::filesystem::path& path, int64_t limit);

// "1f 8b 08".
std::string format_hex(std::span<const std::byte> bytes);

}  // namespace rnnlab
