// A name that no other process has drawn: 16 hexadecimal digits from the system's random numbers.
#pragma once

#include <string>

namespace rnnlab {

std::string random_name();

}  // namespace rnnlab
