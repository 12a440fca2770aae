// SPDX-License-Identifier: Apache-2.0
// The bytes of a file on disk in order, plain or unpacked from gzip, and the vector that readers fill with them. Errors
// throw UserError kData with the path, the byte and the next step. Streams neither seek nor write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rnnlab {

// The allocator of UnfilledVector.
template <class T>
struct UnfilledAllocator : std::allocator<T> {
  template <class U>
  struct rebind {  // NOLINT(readability-identifier-naming): the name that std::allocator_traits looks for
    using other = UnfilledAllocator<U>;
  };

  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }

  template <class U, class... Values>
  void construct(U* at, Values&&... values) {
    std::construct_at(at, std::forward<Values>(values)...);
  }
};

// A vector whose new elements are not set to zero. A reader fills them, and for a large file setting them to zero first
// takes as long as reading. An element that is read before it is written has an undefined value.
template <class T>
using UnfilledVector = std::vector<T, UnfilledAllocator<T>>;

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Fills `into` from the end of the last read and returns the number of bytes: fewer than requested only at the end.
  virtual size_t read(std::span<std::byte> into) = 0;

  // Returns an upper bound of the stream's bytes: the size of a plain file, or the most that gzip data can unpack to.
  virtual int64_t most_bytes() const = 0;

  virtual const std::string& path() const = 0;

  // Returns whether the bytes are unpacked from gzip: then their number is unknown, and offsets differ from the file's.
  virtual bool is_packed() const = 0;

  // Returns "byte 16" or "unpacked byte 16", for messages.
  std::string position(int64_t offset) const;
};

// Opens a regular file and unpacks it if its content (not its name) is gzip. Throws if the name ends in .gz but the
// content is not gzip, because then the file is not what its name says.
std::unique_ptr<ByteStream> open_stream(const std::filesystem::path& path);

// Throws UserError kData: "<path>: byte 16: <message>".
[[noreturn]] void fail_at(const ByteStream& stream, int64_t offset, const std::string& message);

// Returns the content of the file, unpacked. Throws UserError kData if it has more than `limit` bytes.
std::string read_whole(const std::filesystem::path& path, int64_t limit);

// Returns the same bytes without setting their memory to zero first, which is faster for large files.
UnfilledVector<char> read_whole_unfilled(const std::filesystem::path& path, int64_t limit);

// Returns a text such as "1f 8b 08".
std::string format_hex(std::span<const std::byte> bytes);

}  // namespace rnnlab
