#include "data/readers/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/folder.h"
#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

std::string describe_errno(int code) { return std::generic_category().message(code); }

[[noreturn]] void fail_missing(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path() && !fs::exists(path.parent_path(), error))
    throw_error(ExitCode::kData, "{}: folder '{}' does not exist: check the path", path.string(),
                path.parent_path().string());
  throw_error(ExitCode::kData, "{}: no such file{}: check the path", path.string(),
              did_you_mean(path.filename().string(), names_beside(path)));
}

[[noreturn]] void fail_to_open(const fs::path& path, int code) {
  if (code == ENOENT) fail_missing(path);
  if (code == EACCES)
    throw_error(ExitCode::kData, "{}: permission denied: allow reading with 'chmod +r' or run as the file's owner",
                path.string());
  if (code == ENXIO)
    throw_error(ExitCode::kData, "{}: got a socket, expected a regular file: check the path", path.string());
  throw_error(ExitCode::kData, "{}: cannot be opened ({}): check the path", path.string(), describe_errno(code));
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "something else";
}

std::string_view remedy_for(mode_t mode) {
  if (S_ISDIR(mode)) return "name a file in it";
  if (S_ISFIFO(mode)) return "write the data to a file first";
  return "check the path";
}

// Without O_NONBLOCK, opening a FIFO without a writer would wait forever.
int open_descriptor(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) fail_to_open(path, errno);
  return descriptor;
}

int64_t size_of_regular(int descriptor, const std::string& path) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0)
    throw_error(ExitCode::kData, "{}: cannot be examined ({}): check the disk", path, describe_errno(errno));
  if (!S_ISREG(facts.st_mode))
    throw_error(ExitCode::kData, "{}: got {}, expected a regular file: {}", path, kind_of(facts.st_mode),
                remedy_for(facts.st_mode));
  return facts.st_size;
}

}  // namespace

File::File(const fs::path& path) : path_(path.string()), descriptor_(open_descriptor(path)) {
  try {
    size_ = size_of_regular(descriptor_, path_);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

File::~File() { ::close(descriptor_); }

size_t File::read(std::span<std::byte> into) {
  size_t filled = 0;
  while (filled < into.size()) {
    const ssize_t got = ::read(descriptor_, into.data() + filled, into.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_at(*this, offset_, fmt::format("reading failed ({}): check the disk", describe_errno(errno)));
    if (got == 0) break;
    filled += static_cast<size_t>(got);
    offset_ += got;
  }
  const bool at_end = filled < into.size();
  if (offset_ > size_ || (at_end && offset_ < size_))
    throw_error(ExitCode::kData, "{}: {} while it was read, from {}: wait until nothing writes to it", path_,
                offset_ > size_ ? "grew" : "shrank to " + counted(offset_, "byte"), counted(size_, "byte"));
  return filled;
}

size_t File::peek(std::span<std::byte> into) const {
  const ssize_t got = ::pread(descriptor_, into.data(), into.size(), 0);
  if (got < 0) fail_at(*this, 0, fmt::format("reading failed ({}): check the disk", describe_errno(errno)));
  return static_cast<size_t>(got);
}

}  // namespace rnnlab
