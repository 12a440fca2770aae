// SPDX-License-Identifier: Apache-2.0
#include "data/readers/byte_stream.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <limits>

#include "base/error.h"
#include "base/file_handles.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/regular_file.h"
#include "base/text.h"
#include "data/readers/row_threads.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_missing(const fs::path& path) {
  if (!path_exists(folder_of(path)))
    throw_error(ExitCode::kData, "{}: folder '{}' does not exist: check the path", path.string(),
                path.parent_path().string());
  throw_error(ExitCode::kData, "{}: no such file{}: check the path", path.string(),
              did_you_mean(path.filename().string(), sibling_names(path)));
}

[[noreturn]] void fail_to_open(const fs::path& path, int code) {
  if (code == ENOENT) fail_missing(path);
  if (is_limit_on_handles(code))
    throw_error(ExitCode::kDevice, "{}: cannot be opened ({}): {}", path.string(), reason_of(code), kMoreHandles);
  if (code == EACCES)
    throw_error(ExitCode::kData, "{}: permission denied: allow reading with 'chmod +r' or run as the file's owner",
                path.string());
  throw_error(ExitCode::kData, "{}: cannot be opened ({}): check the path", path.string(), reason_of(code));
}

// Returns "name a file in it, such as a.csv, b.csv (and 3 more)".
std::string remedy_for_folder(const fs::path& folder) {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored); entry != end(entry); entry.increment(ignored))
    if (entry->is_regular_file(ignored)) names.push_back(on_one_line(entry->path().filename().string()));
  if (names.empty()) return "name a file";
  std::ranges::sort(names);
  const size_t num_more = names.size() - std::min(names.size(), kMostNamed);
  names.resize(names.size() - num_more);
  return fmt::format("name a file in it: {}{}", join(names, ", "),
                     num_more > 0 ? fmt::format(" (and {} more)", num_more) : "");
}

std::string remedy_for(mode_t mode, const std::string& path) {
  if (S_ISDIR(mode)) return remedy_for_folder(path);
  if (S_ISFIFO(mode)) return "write the data to a file first";
  return "check the path";
}

RegularFile open_regular(const fs::path& path) {
  RegularFile file(path);
  if (file.is_open()) return file;
  if (file.error_number() != 0) fail_to_open(path, file.error_number());
  const mode_t mode = file.status().st_mode;
  throw_error(ExitCode::kData, "{}: got {}, expected a regular file: {}", path.string(), kind_of_special_file(mode),
              remedy_for(mode, path.string()));
}

// A regular file opened for reading. It never blocks on a FIFO or a device, and it throws UserError kData if the length
// of the file changes while it is read.
class File : public ByteStream {
 public:
  explicit File(const fs::path& path)
      : path_(path.string()), file_(open_regular(path)), size_(file_.status().st_size) {}

  // Copying from the system's memory and making new pages take longer than waiting for the disk, so threads share them.
  size_t read(std::span<std::byte> into) override {
    constexpr int64_t kLeastBytes = 1 << 22;
    const int64_t num_parts = num_reading_threads(std::ssize(into), kLeastBytes);
    const size_t part_size = into.size() / static_cast<size_t>(num_parts);
    std::atomic<size_t> filled = 0;
    in_threads(num_parts, [&](int64_t part) {
      const size_t begin = static_cast<size_t>(part) * part_size;
      const size_t size = part + 1 < num_parts ? part_size : into.size() - begin;
      filled += read_at(offset_ + static_cast<int64_t>(begin), into.subspan(begin, size));
    });
    offset_ += static_cast<int64_t>(filled.load());
    const bool at_end = filled < into.size();
    if (offset_ > size_ || (at_end && offset_ < size_))
      throw_error(ExitCode::kData, "{}: {} while it was read, from {}: wait until nothing writes to it", path_,
                  offset_ > size_ ? "grew" : "shrank to " + counted(offset_, "byte"), counted(size_, "byte"));
    return filled;
  }

  int64_t most_bytes() const override { return size_; }
  const std::string& path() const override { return path_; }
  bool is_packed() const override { return false; }

  // Reads the first bytes and keeps the position; fewer bytes than requested if the file is shorter.
  size_t peek(std::span<std::byte> into) const { return read_at(0, into); }

 private:
  // Reads one part of the file, fewer bytes only at its end.
  size_t read_at(int64_t offset, std::span<std::byte> into) const {
    size_t filled = 0;
    while (filled < into.size()) {
      const auto at = offset + static_cast<int64_t>(filled);
      const ssize_t got = ::pread(file_.number(), into.data() + filled, into.size() - filled, at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_at(*this, at, fmt::format("reading failed ({}): check the disk", reason_of(errno)));
      if (got == 0) break;
      filled += static_cast<size_t>(got);
    }
    return filled;
  }

  std::string path_;
  RegularFile file_;
  int64_t size_ = 0;
  int64_t offset_ = 0;
};

constexpr int64_t kBufferBytes = 1 << 18;
constexpr int kGzipWindowBits = 15 + 16;  // zlib's code for gzip data only
constexpr int64_t kMostExpansion = 1032;  // deflate's highest ratio: 258 bytes from two bits

// Unpacks gzip data (RFC 1952, with zlib) piece by piece. Members follow each other, and the checksum of each is
// verified at its end. The memory is one buffer, independent of the unpacked size; the caller limits how much it reads.
class GzipStream : public ByteStream {
 public:
  explicit GzipStream(std::unique_ptr<File> file)
      : file_(std::move(file)), buffer_(static_cast<size_t>(std::min(file_->most_bytes() + 1, kBufferBytes))) {
    RNNLAB_INVARIANT(inflateInit2(&inflater_, kGzipWindowBits) == Z_OK, "zlib's inflateInit2 failed");
  }
  ~GzipStream() override { inflateEnd(&inflater_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  size_t read(std::span<std::byte> into) override {
    size_t filled = 0;
    while (filled < into.size()) {
      refill();
      if (between_members_ && inflater_.avail_in == 0) break;
      if (between_members_) start_next_member();
      if (inflater_.avail_in == 0)
        throw_error(ExitCode::kData, "{}: the gzip data is cut off at byte {}: fetch the file again", path(),
                    packed_offset());
      const size_t room = std::min<size_t>(into.size() - filled, std::numeric_limits<uInt>::max());
      inflater_.next_out = reinterpret_cast<Bytef*>(into.data() + filled);
      inflater_.avail_out = static_cast<uInt>(room);
      const int result = inflate(&inflater_, Z_NO_FLUSH);
      filled += room - inflater_.avail_out;
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        fail_at(*file_, packed_offset(),
                fmt::format("damaged gzip data ({}): fetch the file again",
                            inflater_.msg != nullptr ? inflater_.msg : "invalid data"));
      between_members_ = result == Z_STREAM_END;
    }
    return filled;
  }

  int64_t most_bytes() const override { return saturating_multiply(file_->most_bytes(), kMostExpansion); }
  const std::string& path() const override { return file_->path(); }
  bool is_packed() const override { return true; }

 private:
  void refill() {
    if (inflater_.avail_in > 0) return;
    const size_t got = file_->read(buffer_);
    num_packed_read_ += static_cast<int64_t>(got);
    inflater_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    inflater_.avail_in = static_cast<uInt>(got);
  }

  void start_next_member() {
    constexpr std::byte kFirstByte{0x1f};
    if (static_cast<std::byte>(*inflater_.next_in) != kFirstByte)
      fail_at(*file_, packed_offset(),
              fmt::format("got {} after the gzip data, expected the end: fetch the file again",
                          counted(file_->most_bytes() - packed_offset(), "byte")));
    RNNLAB_INVARIANT(inflateReset(&inflater_) == Z_OK, "zlib's inflateReset failed");
    between_members_ = false;
  }

  int64_t packed_offset() const { return num_packed_read_ - static_cast<int64_t>(inflater_.avail_in); }

  std::unique_ptr<File> file_;
  std::vector<std::byte> buffer_;
  int64_t num_packed_read_ = 0;
  z_stream inflater_{};
  bool between_members_ = false;
};

bool is_gzip(std::span<const std::byte> start) {
  return start.size() >= 2 && start[0] == std::byte{0x1f} && start[1] == std::byte{0x8b};
}

[[noreturn]] void fail_without_gzip(const File& file, std::span<const std::byte> start) {
  if (start.empty())
    throw_error(ExitCode::kData, "{}: empty file, expected gzip data: fetch the file again", file.path());
  throw_error(ExitCode::kData,
              "{}: byte 0: got {}, expected 1f 8b, the start of gzip data: "
              "fetch the file again, or drop '.gz' from its name if it is not compressed",
              file.path(), format_hex(start));
}

// A small gzip file can be made to unpack to a thousand times its size. No text that anybody wrote does.
constexpr int64_t kMostExpansionOfText = 200, kAlwaysUnpacked = int64_t{64} << 20;

int64_t limit_of_packed(int64_t limit, int64_t most_bytes) {
  return std::min(limit, std::max(kAlwaysUnpacked, most_bytes / kMostExpansion * kMostExpansionOfText));
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

namespace {

// A plain file is read in one piece. Packed data are read in pieces that double, because their size is unknown.
template <class Text>
Text read_all(const std::filesystem::path& path, const int64_t limit_of_text) {
  const std::unique_ptr<ByteStream> stream = open_stream(path);
  const int64_t most_bytes = stream->most_bytes();
  const int64_t limit = stream->is_packed() ? limit_of_packed(limit_of_text, most_bytes) : limit_of_text;
  if (!stream->is_packed() && most_bytes > limit) fail_too_large(path, limit);
  constexpr int64_t kFirstPiece = 1 << 16;
  // One byte more than the maximum lets the first read detect the end of the file.
  auto room = static_cast<size_t>((stream->is_packed() ? std::min(most_bytes, kFirstPiece) : most_bytes) + 1);
  Text text;
  size_t used = 0;
  while (true) {
    text.resize(room);
    used += stream->read(std::as_writable_bytes(std::span(text)).subspan(used));
    if (static_cast<int64_t>(used) > limit_of_text) fail_too_large(path, limit_of_text);
    if (static_cast<int64_t>(used) > limit)
      throw_error(ExitCode::kData, "{}: unpacks to more than {} times its size: unpack it with gunzip if it is a text",
                  path.string(), kMostExpansionOfText);
    if (used < room) break;
    room = static_cast<size_t>(std::min({most_bytes, limit, static_cast<int64_t>(room) * 2}) + 1);
  }
  text.resize(used);
  return text;
}

}  // namespace

std::string read_whole(const std::filesystem::path& path, int64_t limit) { return read_all<std::string>(path, limit); }

UnfilledVector<char> read_whole_unfilled(const std::filesystem::path& path, int64_t limit) {
  return read_all<UnfilledVector<char>>(path, limit);
}

std::string format_hex(std::span<const std::byte> bytes) {
  std::vector<std::string> digits;
  for (const std::byte value : bytes) digits.push_back(fmt::format("{:02x}", std::to_integer<int>(value)));
  return join(digits, " ");
}

}  // namespace rnnlab
