// A name for this machine that tells two machines apart and names no one.
#pragma once

#include <filesystem>
#include <string>

namespace rnnlab {

// Sixteen hexadecimal digits of a salted hash of the system's machine id and of what the firmware says of the machine.
// The same for every user and after every start. "" where the system has no such id, as some containers; containers
// made from one image may share one. `root` is the root of the file system, another folder in tests.
std::string machine_id(const std::filesystem::path& root = "/");

}  // namespace rnnlab
