// The program: parse, dispatch to a verb, map failures to exit codes.
#include <fmt/format.h>

#include "command_line.h"
#include "experiment/failure.h"
#include "output.h"
#include "training/determinism.h"

int main(int argc, char** argv) {
  rnnlab::app::open_missing_descriptors();
  rnnlab::set_environment_for_determinism();
  try {
    return static_cast<int>(rnnlab::app::run(argc, argv));
  } catch (...) {
    const rnnlab::Failure failure = rnnlab::describe_failure(std::current_exception());
    rnnlab::app::print_notice(fmt::format("rnnlab: error: {}\n", failure.message));
    return static_cast<int>(failure.exit_code);
  }
}
