// How the operating system runs this process, as far as it bears on its times, and which program it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/warning.h"

namespace rnnlab {

struct ProcessFacts {
  int64_t nice = 0;                  // from -20 to 19: processes with a larger value give way to others
  bool is_traced = false;            // a debugger or a tracer follows it
  bool has_random_addresses = true;  // without, memory lies alike in each process
  std::string program_id = "";       // of the program and its libraries as linked; "" if unknown

  template <class Self, class Field>
  static void visit(Self& self, Field&& field) {
    field("nice", self.nice);
    field("is_traced", self.is_traced);
    field("has_random_addresses", self.has_random_addresses);
    field("program_id", self.program_id);
  }
};

ProcessFacts process_facts();

// What makes its times unlike those of other processes, or more alike than they are.
std::vector<Warning> warnings(const ProcessFacts& facts);

// The text of /proc/self/status has the number of a process that traces this one.
bool is_traced_by(const std::string& status);

}  // namespace rnnlab
