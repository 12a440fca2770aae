// Which instruction sets the libraries use on this CPU: asked of the libraries themselves, because variables, the
// number of the CPU and the libraries' own rules all have a say.
#pragma once

#include <string>
#include <string_view>

#include "results/environment.h"

namespace rnnlab {

// Found at the first call, in some tens of milliseconds, and the same for the life of the process, as the libraries'
// own choice is. Not for several threads at once.
InstructionSets instruction_sets();

// The words between "info,cpu,isa:" and the end of its line in what oneDNN prints when it is made to talk.
std::string isa_in_verbose(std::string_view text);

}  // namespace rnnlab
