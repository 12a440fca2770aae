// SPDX-License-Identifier: Apache-2.0
// The output of the program: what it prints, and the files that a user names for it. All text for stdout is printed by
// these functions, so that a full disk is an error and not a truncated result, and so that no control character from a
// file reaches a terminal.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

namespace rnnlab::app {

// A write beyond the limit of file sizes, or into a pipe without a reader, then fails like a write to a full disk. By
// default these signals would end the process with nothing saved.
void ignore_signals_of_writing();

// Opens /dev/null in place of each closed stream of stdin, stdout and stderr. Otherwise the next opened file would get
// its number, and the log would be written into that file. Call this function before any file is opened.
void open_missing_descriptors();

// Prints text for people, such as a table, on stdout, without a delay: control characters are shown as \xNN
// (without_controls), also if stdout is not a terminal. Throws UserError kDevice, or kBrokenPipe if the reader has
// ended, as `head` does.
void print_text(std::string_view text);

// Prints data for programs, such as CSV, JSON or generated text, on stdout, without a delay: unchanged into a pipe or a
// file, and as print_text does on a terminal. Throws the UserErrors of print_text.
void print_data(std::string_view data);

// Returns the columns of the terminal that is stdout, at least `narrowest`, and at most `widest`, because long lines
// are hard to read. Returns `widest` if stdout is not a terminal.
size_t output_width(size_t narrowest, size_t widest);

// Returns the columns that a table may have: those of the terminal, or any number if stdout is not a terminal.
size_t table_width();

// Remembers the present target of stdout, for a thread that prints while stdout is redirected to capture LibTorch's
// log.
class StandardOutput {
 public:
  StandardOutput();
  ~StandardOutput();
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  void restore() const;

 private:
  int number_;
};

// Prints a message on stderr as for_display shows it. A failure is ignored, because no stream is left to report it.
void print_notice(std::string_view text);

// Checks files that the user names for a verb to write. Each verb calls these functions before it reads or computes
// anything, so that no work is lost because of a name that cannot be written. The files are written by
// write_output_file (base/system/files.h), which checks them again.
//
// Throws UserError kUsage if `out` cannot be written as a file (resolve_output_file, with its `advice`), is one of the
// `inputs` of the verb, exists as an experiment, a sweep or a lock, is a run's own file, or is among its checkpoints.
// Links are followed first, but are rejected in a run folder. Empty paths are ignored.
void require_harmless_output(const std::filesystem::path& out, std::string_view advice,
                             const std::vector<std::filesystem::path>& inputs = {});

// Does these checks for the folder of new run folders; throws UserError kUsage also if it is the folder of a run.
void require_folder_for_runs(const std::filesystem::path& folder);

}  // namespace rnnlab::app
