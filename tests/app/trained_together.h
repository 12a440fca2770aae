// SPDX-License-Identifier: Apache-2.0
// The run of an experiment `together`, which several processes train.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "app/program.h"
#include "results/run_record.h"

namespace rnnlab::testing {

inline ProgramResult train_together(const Program& program, const std::string& yaml, const Words& more) {
  program.write("together.yaml", yaml);
  return program.run(with({"train", "together.yaml"}, more));
}

inline std::filesystem::path newest_run(const Program& program) {
  const std::vector<std::string> folders = program.run_folders("together");
  if (folders.empty()) throw std::runtime_error("nothing was trained");
  return folders.back();
}

inline RunRecord trained_together(const Program& program, const std::string& yaml, const Words& more) {
  const ProgramResult result = train_together(program, yaml, more);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return load_run(newest_run(program));
}

// Returns the bytes of the newest checkpoint. The names of checkpoints sort by their steps.
inline std::string final_weights(const std::filesystem::path& run) {
  std::filesystem::path last;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(run / "checkpoints"))
    if (entry.path().filename() == "model.safetensors") last = std::max(last, entry.path());
  if (last.empty()) throw std::runtime_error("no checkpoint");
  return read_text(last);
}

}  // namespace rnnlab::testing
