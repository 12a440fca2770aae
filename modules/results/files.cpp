#include "results/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <regex>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "results/file_descriptor.h"

namespace rnnlab {
namespace {

constexpr const char* kRemedy = "restore it, or train again";

void write_and_sync(const FileDescriptor& descriptor, const std::filesystem::path& path,
                    std::span<const std::string_view> pieces) {
  for (const std::string_view piece : pieces)
    if (write_some(descriptor.number(), piece) != piece.size()) throw_system_error(path, "write", errno);
  if (uninterrupted([&] { return ::fsync(descriptor.number()); }) != 0) throw_system_error(path, "write", errno);
}

std::string temporary_name(const std::string& name) { return fmt::format(".{}.{}.tmp", name, ::getpid()); }

// Of any process.
bool is_temporary_name(const std::string& name) {
  static const std::regex kPattern(R"(\..+\.[0-9]+\.tmp)");
  return std::regex_match(name, kPattern);
}

// Removes its file unless the rename has taken it away.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target)
      : path_(target.parent_path() / temporary_name(target.filename().string())),
        descriptor_(open_for_writing(path_, O_CREAT | O_TRUNC | O_NOFOLLOW)) {}
  ~TemporaryFile() {
    if (!renamed_) uninterrupted([&] { return ::unlink(path_.c_str()); });
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::span<const std::string_view> pieces) const { write_and_sync(descriptor_, path_, pieces); }
  void rename_to(const std::filesystem::path& target) {
    if (uninterrupted([&] { return ::rename(path_.c_str(), target.c_str()); }) != 0)
      throw_system_error(target, "replace", errno);
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

[[noreturn]] void throw_unreadable(const std::filesystem::path& path, int error_number) {
  throw_error(ExitCode::kData, "{}: cannot read: {}; {}", path.string(), std::generic_category().message(error_number),
              kRemedy);
}

// Opening a FIFO would wait for its writer without O_NONBLOCK.
FileDescriptor open_regular_file(const std::filesystem::path& path) {
  FileDescriptor descriptor(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  if (!descriptor.is_open()) throw_unreadable(path, errno);
  struct stat status {};
  if (::fstat(descriptor.number(), &status) != 0) throw_unreadable(path, errno);
  if (!S_ISREG(status.st_mode)) throw_error(ExitCode::kData, "{}: not a regular file; {}", path.string(), kRemedy);
  return descriptor;
}

// 0: the end of the file, or no room.
size_t read_some(const FileDescriptor& descriptor, const std::filesystem::path& path, std::span<char> room) {
  const ssize_t got = uninterrupted([&] { return ::read(descriptor.number(), room.data(), room.size()); });
  if (got < 0) throw_unreadable(path, errno);
  return static_cast<size_t>(got);
}

// Once for all that will come: growing would hold it twice.
void reserve_for(std::string& text, const std::filesystem::path& path, int64_t max_bytes) {
  std::error_code ignored;
  const auto num_bytes = static_cast<int64_t>(std::filesystem::file_size(path, ignored));
  if (ignored || num_bytes > max_bytes) return;
  try {
    text.reserve(static_cast<size_t>(num_bytes));
  } catch (const std::bad_alloc&) {
    throw_error(ExitCode::kData, "{}: its {} do not fit into memory", path.string(), format_bytes(num_bytes));
  }
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  write_file_atomically(path, std::span(&text, 1));
}

void write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces) {
  TemporaryFile file(folder_of(path) / path.filename());
  file.write(pieces);
  file.rename_to(path);
  sync_folder(folder_of(path));
}

void remove_file(const std::filesystem::path& path) {
  if (uninterrupted([&] { return ::unlink(path.c_str()); }) != 0 && errno != ENOENT)
    throw_system_error(path, "remove", errno);
}

void remove_temporary_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder, ignored); entry != end(entry); entry.increment(ignored))
    if (is_temporary_name(entry->path().filename().string())) files.push_back(entry->path());
  for (const std::filesystem::path& file : files) uninterrupted([&] { return ::unlink(file.c_str()); });
}

void write_new_file(const std::filesystem::path& path, std::span<const std::string_view> pieces) {
  write_and_sync(open_for_writing(path, O_CREAT | O_EXCL), path, pieces);
}

void sync_folder(const std::filesystem::path& folder) {
  const FileDescriptor descriptor(
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!descriptor.is_open()) throw_system_error(folder, "open", errno);
  // Some file systems refuse to sync a folder; they have nothing to lose.
  if (uninterrupted([&] { return ::fsync(descriptor.number()); }) != 0 && errno != EINVAL)
    throw_system_error(folder, "write", errno);
}

std::string read_file(const std::filesystem::path& path, int64_t max_bytes) {
  std::string text;
  reserve_for(text, path, max_bytes);
  read_pieces(path, [&](std::string_view piece) {
    text += piece;
    if (static_cast<int64_t>(text.size()) > max_bytes)
      throw_error(ExitCode::kData, "{}: larger than {}, the most that such a file may hold; {}", path.string(),
                  format_bytes(max_bytes), kRemedy);
  });
  return text;
}

void read_pieces(const std::filesystem::path& path, const std::function<void(std::string_view)>& take) {
  const FileDescriptor descriptor = open_regular_file(path);
  std::array<char, 1 << 16> buffer;
  while (const size_t got = read_some(descriptor, path, buffer)) take({buffer.data(), got});
}

std::string read_beginning(const std::filesystem::path& path, size_t num_bytes) {
  const FileDescriptor descriptor = open_regular_file(path);
  std::string text(num_bytes, '\0');
  size_t done = 0;
  while (const size_t got = read_some(descriptor, path, std::span(text).subspan(done))) done += got;
  text.resize(done);
  return text;
}

}  // namespace rnnlab
