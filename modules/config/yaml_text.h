// Text as YAML writes it: plain where every reader takes it as text, else in double quotes on one line.
#pragma once

#include <string>
#include <string_view>

namespace rnnlab::config {

// No character that YAML gives a meaning to, in a block or within [ ] and { }. "3" and "yes" are safe in this sense.
bool is_plain_safe(std::string_view text);

// `text` in double quotes, escaped so that it stays on one line.
std::string double_quoted(std::string_view text);

// Plain where it is safe and no reader could take it for a number, a bool or null.
std::string yaml_text(std::string_view text);

}  // namespace rnnlab::config
