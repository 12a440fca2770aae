// What the program prints. Everything for stdout goes through here, so that a full disk is an error of its own and not
// a result that is cut off in silence, and no control character that a file holds reaches a terminal.
#pragma once

#include <string_view>

namespace rnnlab::app {

// A write beyond the limit on the size of files, and one into a pipe that nobody reads any more, then fail as on a full
// disk. As the system has it they would end the process with nothing saved.
void ignore_signals_of_writing();

// Opens those of stdin, stdout and stderr that are closed, as nothing: the next file to be opened would be taken for
// them, and the log written into it. Call it before anything is opened.
void open_missing_descriptors();

// Text for people, such as a table, on stdout, at once: control characters are shown as \xNN (without_controls),
// wherever stdout goes. UserError kDevice, or kBrokenPipe if its reader has gone away, as `head` does.
void print_text(std::string_view text);

// Data for programs, such as CSV, JSON or generated text, on stdout, at once: unchanged into a pipe or a file, and as
// print_text shows it on a terminal. UserError as of print_text.
void print_data(std::string_view data);

// Where stdout leads now, for a thread that prints while LibTorch's log is caught there.
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

// A message on stderr, as for_people shows it. A failure is ignored, because no stream is left to report it.
void print_notice(std::string_view text);

}  // namespace rnnlab::app
