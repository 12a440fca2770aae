// What the program prints. Everything for stdout goes through here, so that a full disk is an error of its own and not
// a result that is cut off in silence.
#pragma once

#include <string_view>

namespace rnnlab::app {

// Opens those of stdin, stdout and stderr that are closed, as nothing: the next file to be opened would be taken for
// them, and the log written into it. Call it before anything is opened.
void open_missing_descriptors();

// On stdout, at once. UserError kDevice.
void print_output(std::string_view text);

// On stderr. Where that fails there is nobody to be told.
void print_notice(std::string_view text);

}  // namespace rnnlab::app
