// What the program prints. Everything for stdout goes through here, so that a full disk is an error of its own and not
// a result that is cut off in silence, and no control character that a file holds reaches a terminal.
#pragma once

#include <string_view>

namespace rnnlab::app {

// Opens those of stdin, stdout and stderr that are closed, as nothing: the next file to be opened would be taken for
// them, and the log written into it. Call it before anything is opened.
void open_missing_descriptors();

// Text for people, such as a table, on stdout, at once: control characters are shown as \xNN (without_controls),
// wherever stdout goes. UserError kDevice.
void print_text(std::string_view text);

// Data for programs, such as CSV, JSON or generated text, on stdout, at once: unchanged into a pipe or a file, and as
// print_text shows it on a terminal. UserError kDevice.
void print_data(std::string_view data);

// A message on stderr, as for_people shows it. A failure is ignored, because no stream is left to report it.
void print_notice(std::string_view text);

}  // namespace rnnlab::app
