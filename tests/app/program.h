// SPDX-License-Identifier: Apache-2.0
// Runs the built program as a user would, and returns its output and exit code.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "base/system/temporary_folder.h"
#include "runs/tiny_yaml.h"

namespace rnnlab::testing {

// This is a table of two kinds of pets, for learning and predicting.
inline constexpr const char* kPetsTable = "a,b,kind\n1,5,cat\n2,7,dog\n3,6,cat\n4,8,dog\n2,5,cat\n1,8,dog\n";

struct ProgramResult {
  int exit_code = 0;
  std::string output;  // stdout
  std::string errors;  // stderr
};

// Returns false in a chroot without /dev/pts.
bool has_pseudo_terminals();

// Returns whether a test can start a Slurm for itself (tests/launchers/with-slurm).
bool can_start_slurm();
inline constexpr const char* kNoSlurm = "needs root and slurmctld slurmd slurm-client slurm-wlm-basic-plugins";

// Runs the program in a fresh working folder for each instance.
class Program {
 public:
  Program() = default;
  // The folder has this file of an experiment.
  explicit Program(const std::string& experiment, const std::string& file = "tiny.yaml") { write(file, experiment); }

  // Expects the exit code, if one is given. The program is loaded once for all runs (app/served_program.h).
  ProgramResult run(const Words& arguments, std::optional<int> exit_code = std::nullopt,
                    std::source_location where = std::source_location::current()) const;

  // Expects the exit code, and that standard error has the next text of golden.txt.
  void expect_error(int exit_code, const Words& arguments,
                    std::source_location where = std::source_location::current()) const;

  // Runs `command` with sh, where "$0" is the program, for streams other than the two that `run` reads.
  ProgramResult run_in_shell(const std::string& command, std::optional<int> exit_code = std::nullopt,
                             std::source_location where = std::source_location::current()) const;

  // Runs the program with both streams on a pseudo-terminal of the kind `terminal` (TERM) and of `width` columns:
  // `output` is the terminal's text.
  ProgramResult run_on_terminal(const Words& arguments, const std::string& terminal = "dumb",
                                unsigned short width = 80) const;

  // Sends `signal` when `ready` returns true; it is called every few milliseconds, for at most a minute.
  ProgramResult run_and_signal(const Words& arguments, int signal, const std::function<bool()>& ready) const;

  void write(const std::string& file, const std::string& text) const { write_text(folder_.path() / file, text); }
  const std::filesystem::path& folder() const { return folder_.path(); }

  // Returns the run folders of an experiment, by name, without the link `latest`.
  std::vector<std::string> run_folders(const std::string& experiment) const;

 private:
  int start(const char* executable, const Words& argv) const;
  int start_program(const Words& arguments) const;
  ProgramResult finish(int process) const;

  TemporaryFolder folder_;
};

// A shell command that sets what a launcher of two processes on one machine sets, except their ranks. The port depends
// on the shell, and is below 32768, where Linux begins to give ports to connections.
inline const std::string kEnvironmentOfTwo =
    "export WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 12000)); ";

}  // namespace rnnlab::testing
