// SPDX-License-Identifier: Apache-2.0
// The key `strict`: finds where a run would use something else than its settings ask for. Without the key, such a
// fallback is a note in the log. A value `auto` accepts every choice, so a choice of `auto` is not a fallback; only
// `device: auto` with a GPU that its driver cannot use is one. What cannot run at all is an error anyway:
// run_context.h.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <string>
#include <vector>

#include "layers/execution_path.h"
#include "runs/experiment.h"

namespace rnnlab {

struct Fallback {
  std::string key;
  std::string asked;   // the value of the key
  std::string done;    // what the run uses without `strict`
  std::string reason;  // a clause; "" if `done` has it
  std::string advice;  // begins with a verb
};

// Returns the fallbacks that are known before data are loaded.
std::vector<Fallback> fallbacks_of_settings(const Experiment& experiment, c10::Device device);

// What a prepared run really uses.
struct UsedByRun {
  const ExecutionPath& path;
  std::string precision;      // effective_precision() (train/loop/precision.h)
  std::string why_no_graphs;  // of the trainer
};

// Returns the fallbacks of a prepared run, without those of the first function.
std::vector<Fallback> fallbacks_of_run(const Experiment& experiment, c10::Device device, const UsedByRun& used);

// Returns one line for each fallback: the key, what was asked, what would be done, why, and what to do.
std::string strict_message(const std::vector<Fallback>& fallbacks);

// Throws UserError kDevice with strict_message() if the experiment is strict and `find` returns fallbacks. `find` is
// called only if the experiment is strict.
void refuse_if_strict(const Experiment& experiment, const std::function<std::vector<Fallback>()>& find);

}  // namespace rnnlab
