#include "data/readers/byte_stream.h"

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/readers/file.h"
#include "data/readers/gzip.h"

namespace rnnlab {
namespace {

[[noreturn]] void fail_without_gzip(const File& file, std::span<const std::byte> start) {
  if (start.empty())
    throw_error(ExitCode::kData, "{}: empty file, expected gzip data: fetch the file again", file.path());
  throw_error(ExitCode::kData,
              "{}: byte 0: got {}, expected 1f 8b, the start of gzip data: "
              "fetch the file again, or drop '.gz' from its name if it is not compressed",
              file.path(), format_hex(start));
}

[[noreturn]] void fail_too_large(const std::filesystem::path& path, int64_t limit) {
  throw_error(ExitCode::kData, "{}: holds more than {}, the most that this reader takes: split the file", path.string(),
              format_bytes(limit));
}

}  // namespace

std::unique_ptr<ByteStream> open_stream(const std::filesystem::path& path) {
  auto file = std::make_unique<File>(path);
  std::byte bytes[2];
  const std::span<const std::byte> start = std::span(bytes).first(file->peek(bytes));
  if (is_gzip(start)) return std::make_unique<GzipStream>(std::move(file));
  if (path.extension() == ".gz") fail_without_gzip(*file, start);
  return file;
}

std::string ByteStream::position(int64_t offset) const {
  return fmt::format("{}byte {}", is_packed() ? "unpacked " : "", offset);
}

void fail_at(const ByteStream& stream, int64_t offset, const std::string& message) {
  throw_error(ExitCode::kData, "{}: {}: {}", stream.path(), stream.position(offset), message);
}

// A plain file is read in one piece. Packed data are read in pieces that double, because their size is unknown.
std::string read_whole(const std::filesystem::path& path, int64_t limit) {
  const std::unique_ptr<ByteStream> stream = open_stream(path);
  const int64_t most_bytes = stream->most_bytes();
  if (!stream->is_packed() && most_bytes > limit) fail_too_large(path, limit);
  constexpr int64_t kFirstPiece = 1 << 16;
  // One byte more than the maximum lets the first read detect the end of the file.
  auto room = static_cast<size_t>((stream->is_packed() ? std::min(most_bytes, kFirstPiece) : most_bytes) + 1);
  std::string text;
  size_t used = 0;
  while (true) {
    text.resize(room);
    used += stream->read(std::as_writable_bytes(std::span(text)).subspan(used));
    if (static_cast<int64_t>(used) > limit) fail_too_large(path, limit);
    if (used < room) break;
    room = static_cast<size_t>(std::min({most_bytes, limit, static_cast<int64_t>(room) * 2}) + 1);
  }
  text.resize(used);
  return text;
}

std::string format_hex(std::span<const std::byte> bytes) {
  std::vector<std::string> digits;
  for (const std::byte value : bytes) digits.push_back(fmt::format("{:02x}", std::to_integer<int>(value)));
  return join(digits, " ");
}

}  // namespace rnnlab
