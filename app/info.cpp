// SPDX-License-Identifier: Apache-2.0
// rnnlab info: shows the abilities of this machine and this build.
#include <CLI/Option.hpp>

#include "output.h"
#include "runs/machine_report.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kInfoFooter = R"(
Examples:
  rnnlab info
  rnnlab info --json)";

struct InfoOptions {
  bool json = false;
};

ExitCode show_info(const InfoOptions& options, const CommandLine& command_line) {
  const MachineReport report = make_machine_report(command_line);
  options.json ? print_data(machine_report_json(report))
               : print_text(machine_report_text(report, output_width(60, 118)));
  return ExitCode::kDone;
}

}  // namespace

void add_info(CLI::App& program, Action& chosen) {
  const auto [command, options] =
      add_verb<InfoOptions>(program, chosen, "info", "Show what this machine and build can do", kInfoFooter, show_info);
  command->add_flag("--json", options->json, "print JSON");
}

}  // namespace rnnlab::app
