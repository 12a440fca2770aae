#include "results/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/numbers.h"
#include "results/file_descriptor.h"

namespace rnnlab {
namespace {

constexpr const char* kRemedy = "restore it, or train again";

// Removes its file unless the rename has taken it away.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target)
      : path_(target.parent_path() / fmt::format(".{}.{}.tmp", target.filename().string(), ::getpid())),
        descriptor_(open_for_writing(path_, O_CREAT | O_TRUNC | O_NOFOLLOW)) {}
  ~TemporaryFile() {
    if (!renamed_) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view text) const {
    if (write_some(descriptor_.number(), text) != text.size()) throw_system_error(path_, "write", errno);
    if (::fsync(descriptor_.number()) != 0) throw_system_error(path_, "write", errno);
  }
  void rename_to(const std::filesystem::path& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) throw_system_error(target, "replace", errno);
    renamed_ = true;
  }

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
  bool renamed_ = false;
};

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// Makes the rename itself last through a loss of power.
void sync_folder(const std::filesystem::path& folder) {
  const FileDescriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.is_open()) throw_system_error(folder, "open", errno);
  // Some file systems refuse to sync a folder; they have nothing to lose.
  if (::fsync(descriptor.number()) != 0 && errno != EINVAL) throw_system_error(folder, "write", errno);
}

[[noreturn]] void throw_unreadable(const std::filesystem::path& path, int error_number) {
  throw_error(ExitCode::kData, "{}: cannot read: {}; {}", path.string(), std::generic_category().message(error_number),
              kRemedy);
}

std::string read_all(int number, const std::filesystem::path& path, int64_t max_bytes) {
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(number, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_unreadable(path, errno);
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
    if (static_cast<int64_t>(text.size()) > max_bytes)
      throw_error(ExitCode::kData, "{}: larger than {}, the most that such a file may hold; {}", path.string(),
                  format_bytes(max_bytes), kRemedy);
  }
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  TemporaryFile file(folder_of(path) / path.filename());
  file.write(text);
  file.rename_to(path);
  sync_folder(folder_of(path));
}

std::string read_file(const std::filesystem::path& path, int64_t max_bytes) {
  // O_NONBLOCK: opening a FIFO would wait for its writer.
  const FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!descriptor.is_open()) throw_unreadable(path, errno);
  struct stat status {};
  if (::fstat(descriptor.number(), &status) != 0) throw_unreadable(path, errno);
  if (!S_ISREG(status.st_mode)) throw_error(ExitCode::kData, "{}: not a regular file; {}", path.string(), kRemedy);
  return read_all(descriptor.number(), path, max_bytes);
}

}  // namespace rnnlab
