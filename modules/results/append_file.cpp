#include "results/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace rnnlab {
namespace {

off_t size_of(int number) {
  struct stat status {};
  return ::fstat(number, &status) == 0 ? status.st_size : -1;
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path path)
    : path_(std::move(path)), descriptor_(open_for_writing(path_, O_CREAT | O_APPEND)) {}

void AppendFile::append(std::string_view text) {
  const off_t size_before = size_of(descriptor_.number());
  if (write_some(descriptor_.number(), text) == text.size()) return;
  const int error_number = errno;
  // Best effort: the write has failed already and that is what is reported.
  [[maybe_unused]] const bool is_taken_back = size_before >= 0 && ::ftruncate(descriptor_.number(), size_before) == 0;
  throw_system_error(path_, "write", error_number);
}

void AppendFile::sync() {
  // EINVAL: a device or pipe that has nothing to sync.
  if (uninterrupted([&] { return ::fsync(descriptor_.number()); }) != 0 && errno != EINVAL)
    throw_system_error(path_, "write", errno);
}

bool AppendFile::is_empty() const { return size_of(descriptor_.number()) == 0; }

}  // namespace rnnlab
