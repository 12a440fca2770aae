#include "results/file_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>

#include "base/error.h"

namespace rnnlab {
namespace {

const char* remedy_of(int error_number) {
  if (error_number == ENOSPC || error_number == EDQUOT) return "; free some space or choose another folder with --out";
  if (error_number == EFBIG) return "; raise the limit on the size of files (ulimit -f)";
  if (error_number == EPERM) return "; `lsattr` shows whether it is protected";
  return "";
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (is_open()) ::close(number_);
}

FileDescriptor open_for_writing(const std::filesystem::path& path, int flags) {
  constexpr mode_t kReadWriteForAll = 0666;
  const int number =
      uninterrupted([&] { return ::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, kReadWriteForAll); });
  if (number < 0) throw_system_error(path, "open for writing", errno);
  return FileDescriptor(number);
}

size_t write_some(int number, std::string_view text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = uninterrupted([&] { return ::write(number, text.data() + done, text.size() - done); });
    if (written < 0) break;
    done += static_cast<size_t>(written);
  }
  return done;
}

void throw_system_error(const std::filesystem::path& path, std::string_view verb, int error_number) {
  const std::string reason = std::generic_category().message(error_number);
  throw_error(ExitCode::kDevice, "{}: cannot {}: {}{}", path.string(), verb, reason, remedy_of(error_number));
}

}  // namespace rnnlab
