// SPDX-License-Identifier: Apache-2.0
// The messages for texts that are not valid YAML. Those of yaml-cpp are terse; these say what is wrong in the words of
// the file, and what to write. Left out: messages about valid YAML that experiments do not use (yaml_reader.cpp).
#pragma once

#include <string>
#include <string_view>

namespace YAML {
class Exception;
}

namespace rnnlab::config {

inline constexpr const char* kNoAliases =
    "aliases (*name) are not supported; write the value out, or put quotes around the text";

// Returns the message for an error that yaml-cpp found in `text`.
std::string message_of_yaml_error(const YAML::Exception& error, std::string_view text);

}  // namespace rnnlab::config
