// SPDX-License-Identifier: Apache-2.0
// rnnlab_print_programs FILE: a step of the build, which writes the programs of the cells of the list as C++ for
// kernels/program_step_impl.h. It is a program of its own because the library that has these cells includes the file.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "layers/cells/cell.h"
#include "layers/program/step_code.h"

namespace rnnlab {
namespace {

struct PrintedProgram {
  std::string hash, text;
};

// Returns each program once: some options do not change the equations.
std::vector<PrintedProgram> printed_programs() {
  std::vector<PrintedProgram> all;
  for (const Cell cell : all_cells()) {
    std::vector<RecurrentOptions> forms = unusual_options(cell);
    forms.insert(forms.begin(), {.cell = cell});
    for (const RecurrentOptions& options : forms) {
      const CellProgram& program = program_of(options);
      if (!why_no_step_code(program).empty() || std::ranges::count(all, program.hash, &PrintedProgram::hash) > 0)
        continue;
      all.push_back({program.hash, printed_step(step_code_of(program), fmt::format("CompiledProgram{}", all.size()))});
    }
  }
  return all;
}

std::string printed_file() {
  std::string text = "// Printed by print_compiled_programs.cpp.\n", hashes, cases;
  size_t number = 0;
  for (const PrintedProgram& program : printed_programs()) {
    text += "\n" + program.text;
    hashes += fmt::format("    \"{}\",\n", program.hash);
    cases += fmt::format("    case {0}:\n      return use(CompiledProgram{0}());\n", number++);
  }
  return text + "\n[[maybe_unused]] constexpr const char* kCompiledHashes[] = {\n" + hashes +
         "};\n\n// Calls `use` with the program of this number, if there is one.\n"
         "template <class Use>\nvoid with_compiled_program(int number, const Use& use) {\n  switch (number) {\n" +
         cases + "  }\n}\n";
}

}  // namespace
}  // namespace rnnlab

int main(int num_arguments, char** arguments) {
  if (num_arguments != 2) return 2;
  std::ofstream file(arguments[1]);
  file << rnnlab::printed_file();
  return file.flush() ? 0 : 1;
}
