// The log of the program: lines for people on stderr, and the same with times in a run's train.log. A train.log that
// cannot be written is an error at the next check(), not a lost line. The progress bar makes way for lines. Both show
// control characters as \xNN and cut very long lines (for_people in base/text.h).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "system/terminal.h"

namespace rnnlab {

enum class Verbosity { kErrors, kQuiet, kNormal, kVerbose };  // on stderr: errors | warnings | information | details

class Logger {
 public:
  // Colours as `console` allows.
  Logger(Verbosity verbosity, const Terminal& console);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  void detail(std::string_view line);
  void info(std::string_view line);
  void warn(std::string_view line);
  void error(std::string_view line);

  // From now on every line goes to `path` too, whatever the verbosity, as "2026-11-21T02:59:51.123Z info  text".
  // UserError kDevice when the file cannot be opened.
  void open_file(const std::filesystem::path& path);

  // UserError kDevice when a line since the last check did not reach the file. Call it after every epoch.
  void check();

  // Ends the file, synced to the disk; nothing when none is open. UserError kDevice as check().
  void close_file();

  // Ends the file whether or not it is whole: for what has failed already.
  void abandon_file();

  // Called before every line that goes to the console: the progress bar's clear().
  void set_before_line(std::function<void()> before_line);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rnnlab
