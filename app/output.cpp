#include "output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab::app {

void open_missing_descriptors() {
  // open(2) takes the lowest number that is free. A closed stdout stays one that cannot be written: a result that
  // nobody gets is an error.
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(number, F_GETFD) < 0) ::open("/dev/null", number == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

void print_output(std::string_view text) {
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (is_written && std::fflush(stdout) == 0) return;
  throw_error(ExitCode::kDevice,
              "standard output: {}; what was printed is not complete: free some space or send it elsewhere",
              std::generic_category().message(errno));
}

void check_writable(const std::string& file) {
  std::error_code none_there;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, none_there))
    throw_error(ExitCode::kUsage, "{}: there is no folder {} to write it to", file, in_quotes(folder.string()));
  if (std::filesystem::exists(file, none_there) && !std::filesystem::is_regular_file(file, none_there))
    throw_error(ExitCode::kUsage, "{}: a folder or a device, expected the name of a file to write", file);
}

void print_notice(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace rnnlab::app
