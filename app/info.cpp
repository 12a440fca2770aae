// SPDX-License-Identifier: Apache-2.0
// rnnlab info: shows the abilities of this machine and this build.
#include <CLI/Option.hpp>
#include <memory>

#include "output.h"
#include "runs/machine_report.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kInfoFooter = R"(
Examples:
  rnnlab info
  rnnlab info --json)";

}  // namespace

void add_info(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("info", "Show what this machine and build can do");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->footer(kInfoFooter);
  command->callback([&chosen, json] {
    chosen = [json](const CommandLine& command_line) {
      const MachineReport report = make_machine_report(command_line);
      *json ? print_data(machine_report_json(report)) : print_text(machine_report_text(report, output_width(60, 118)));
      return ExitCode::kDone;
    };
  });
}

}  // namespace rnnlab::app
