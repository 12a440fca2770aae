// What the program prints. Everything for stdout goes through here, so that a full disk is an error of its own and not
// a result that is cut off in silence.
#pragma once

#include <string>
#include <string_view>

namespace rnnlab::app {

// Opens those of stdin, stdout and stderr that are closed, as nothing: the next file to be opened would be taken for
// them, and the log written into it. Call it before anything is opened.
void open_missing_descriptors();

// On stdout, at once. UserError kDevice.
void print_output(std::string_view text);

// Refuses a `file` that cannot be written, before what goes into it is worked out. A device, such as /dev/null, would
// be replaced by the file. UserError kUsage.
void check_writable(const std::string& file);

// On stderr. Where that fails there is nobody to be told.
void print_notice(std::string_view text);

}  // namespace rnnlab::app
