// A file descriptor that closes itself, and the checked system calls that the writers of results share.
// A failed call becomes UserError kDevice with the path and the system's reason.
#pragma once

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>

namespace rnnlab {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// Makes a system call again while it is interrupted (EINTR).
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// open(2) with O_CLOEXEC, again after EINTR; mode 0666 less the umask.
FileDescriptor open_for_writing(const std::filesystem::path& path, int flags);

// How much of `text` was written; the whole unless errno says why not. Goes on after EINTR and short writes.
size_t write_some(int number, std::string_view text);

// "<path>: cannot <verb>: <reason of errno>", with what to do about a full disk or a limit.
[[noreturn]] void throw_system_error(const std::filesystem::path& path, std::string_view verb, int error_number);

}  // namespace rnnlab
