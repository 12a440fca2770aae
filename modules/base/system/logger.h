// SPDX-License-Identifier: Apache-2.0
// Writes the log of the program: lines for people on stderr, and the same lines with times in a run's train.log. If
// train.log cannot be written, the next check() throws, so no line is lost silently. The progress bar is cleared before
// a line. Both outputs show control characters as \xNN and cut very long lines (for_display in base/text.h).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "base/system/terminal.h"

namespace rnnlab {

enum class Verbosity { kErrors, kQuiet, kNormal, kVerbose };  // on stderr: errors | warnings | information | details

class Logger {
 public:
  // Uses colours if `console` allows them.
  Logger(Verbosity verbosity, const Terminal& console);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  void detail(std::string_view line);
  void info(std::string_view line);
  void warn(std::string_view line);
  void warn_in_file(std::string_view line);  // only in the file: the console gets a summary of such lines at the end
  void error(std::string_view line);

  // After this call every line is also written to `path`, with any verbosity, as "2026-11-21T02:59:51.123Z info  text".
  // Throws UserError kDevice if the file cannot be opened.
  void open_file(const std::filesystem::path& path);

  // Throws UserError kDevice if a line since the last check did not reach the file. Call this function after every
  // epoch.
  void check();

  // Syncs the file to the disk and closes it; does nothing if no file is open. Throws UserError kDevice as check()
  // does.
  void close_file();

  // Closes the file without a check; for a run that has failed already.
  void abandon_file();

  // `before_line` is called before every line on the console; it is the progress bar's clear().
  void set_before_line(std::function<void()> before_line);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rnnlab
