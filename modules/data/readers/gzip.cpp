#include "data/readers/gzip.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/numbers.h"

namespace rnnlab {
namespace {

constexpr int64_t kBufferBytes = 1 << 18;
constexpr int kGzipWindowBits = 15 + 16;  // zlib's code for gzip data only
constexpr int64_t kMostExpansion = 1032;  // deflate's highest ratio: 258 bytes from two bits

std::string_view complaint(const z_stream& inflater) { return inflater.msg != nullptr ? inflater.msg : "invalid data"; }

}  // namespace

bool is_gzip(std::span<const std::byte> start) {
  return start.size() >= 2 && start[0] == std::byte{0x1f} && start[1] == std::byte{0x8b};
}

GzipStream::GzipStream(std::unique_ptr<File> file)
    : file_(std::move(file)), buffer_(static_cast<size_t>(std::min(file_->most_bytes() + 1, kBufferBytes))) {
  RNNLAB_INVARIANT(inflateInit2(&inflater_, kGzipWindowBits) == Z_OK, "zlib's inflateInit2 failed");
}

GzipStream::~GzipStream() { inflateEnd(&inflater_); }

int64_t GzipStream::most_bytes() const {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / (2 * kMostExpansion);
  return std::min(file_->most_bytes(), kMost) * kMostExpansion;
}

int64_t GzipStream::packed_offset() const { return num_packed_read_ - static_cast<int64_t>(inflater_.avail_in); }

void GzipStream::refill() {
  if (inflater_.avail_in > 0) return;
  const size_t got = file_->read(buffer_);
  num_packed_read_ += static_cast<int64_t>(got);
  inflater_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
  inflater_.avail_in = static_cast<uInt>(got);
}

void GzipStream::start_next_member() {
  constexpr std::byte kFirstByte{0x1f};
  if (static_cast<std::byte>(*inflater_.next_in) != kFirstByte)
    fail_at(*file_, packed_offset(),
            fmt::format("got {} after the gzip data, expected the end: fetch the file again",
                        counted(file_->most_bytes() - packed_offset(), "byte")));
  RNNLAB_INVARIANT(inflateReset(&inflater_) == Z_OK, "zlib's inflateReset failed");
  between_members_ = false;
}

size_t GzipStream::read(std::span<std::byte> into) {
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
              fmt::format("damaged gzip data ({}): fetch the file again", complaint(inflater_)));
    between_members_ = result == Z_STREAM_END;
  }
  return filled;
}

}  // namespace rnnlab
