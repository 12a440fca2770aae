// SPDX-License-Identifier: Apache-2.0
// rnnlab_save_checkpoint FOLDER FIRST LAST HIDDEN_SIZE KEEP: saves the sample checkpoint of each step from FIRST to
// LAST as training does, and marks each as the best. A failure gives one line on stderr and an exit code.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "results/checkpoint/checkpoint_folder.h"
#include "results/checkpoint/sample_checkpoint.h"

namespace {

int fail(rnnlab::ExitCode exit_code, const char* message) {
  fmt::print(stderr, "error: {}\n", message);
  return static_cast<int>(exit_code);
}

void save_all(char** arguments) {
  rnnlab::CheckpointWriter writer(arguments[1], std::atoi(arguments[5]));
  for (int step = std::atoi(arguments[2]); step <= std::atoi(arguments[3]); ++step)
    writer.submit(
        step, [=] { return rnnlab::testing::sample_contents(step, std::atoi(arguments[4])); },
        rnnlab::CheckpointKind::kBest);
  writer.wait();
}

}  // namespace

int main(int num_arguments, char** arguments) {
  if (num_arguments != 6) return fail(rnnlab::ExitCode::kUsage, "expected FOLDER FIRST LAST HIDDEN_SIZE KEEP");
  try {
    save_all(arguments);
    return 0;
  } catch (const rnnlab::UserError& error) {
    return fail(error.exit_code(), error.what());
  } catch (const std::exception& error) {
    return fail(rnnlab::ExitCode::kInternal, error.what());
  }
}
