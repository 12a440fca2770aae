// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <regex>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/folder.h"
#include "base/system/files.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "results/checkpoint/checkpoint.h"
#include "results/run_folder.h"

namespace rnnlab::app {

void open_missing_descriptors() {
  // open(2) uses the lowest free number. A closed stdout is opened for reading only, so that writing a result to it is
  // an error.
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(number, F_GETFD) < 0) ::open("/dev/null", number == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

void ignore_signals_of_writing() {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

namespace {

void print_unchanged(std::string_view text) {
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (is_written && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) throw_error(ExitCode::kBrokenPipe, "standard output: its reader has closed it");
  throw_error(ExitCode::kDevice,
              "standard output: {}; what was printed is not complete: free some space or send it elsewhere",
              std::generic_category().message(errno));
}

}  // namespace

size_t output_width(size_t narrowest, size_t widest) {
  const Terminal terminal = inspect_terminal(STDOUT_FILENO);
  return terminal.is_terminal ? std::clamp(terminal.width, narrowest, widest) : widest;
}

size_t table_width() {
  constexpr size_t kNarrowest = 40;
  return output_width(kNarrowest, kAnyWidth);
}

void print_text(std::string_view text) { print_unchanged(without_controls(text)); }

void print_data(std::string_view data) {
  if (::isatty(STDOUT_FILENO) != 0) return print_text(data);
  print_unchanged(data);
}

StandardOutput::StandardOutput() : number_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)) {}

StandardOutput::~StandardOutput() {
  if (number_ >= 0) ::close(number_);
}

void StandardOutput::restore() const {
  if (number_ >= 0) ::dup2(number_, STDOUT_FILENO);
}

void print_notice(std::string_view text) {
  const std::string shown = for_display(text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

namespace {

namespace fs = std::filesystem;

// Both files are checked, because other folders may have a config.yaml too.
bool is_run_folder(const fs::path& folder) {
  return path_exists(folder / kConfigFile) && path_exists(folder / kEnvironmentFile);
}

// Resolves links as far as the path exists, so that the parent of `./best.json` in a folder of checkpoints is found.
fs::path real_path(const fs::path& path) {
  std::error_code ignored;
  return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
}

// Returns the folder of the run that contains `path`, or an empty path.
fs::path enclosing_run(const fs::path& path) {
  for (fs::path folder = path.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (is_run_folder(folder)) return folder;
  return {};
}

bool is_among_checkpoints(const fs::path& path, const fs::path& run) {
  const fs::path checkpoints = run / kCheckpointsFolder;
  return !run.empty() &&
         std::mismatch(checkpoints.begin(), checkpoints.end(), path.begin(), path.end()).first == checkpoints.end();
}

bool is_run_file(const fs::path& file) {
  constexpr std::array<std::string_view, 7> kOwn = {kConfigFile,  kEnvironmentFile, kEpochsCsvFile, kEpochsJsonlFile,
                                                    kSummaryFile, kLogFile,         kTraceFile};
  const std::string name = file.filename().string();
  const bool is_own = std::ranges::find(kOwn, name) != kOwn.end() || name.starts_with("events.out.tfevents.");
  return is_among_checkpoints(file, enclosing_run(file)) || (is_own && is_run_folder(file.parent_path()));
}

// Returns whether an existing file of this name is the file of a sweep, a plan, or a lock file.
bool is_sweep_or_lock_file(const fs::path& file) {
  static const std::regex kNames(R"(sweep(-[-0-9T]+Z-[-0-9]+)?\.json|(\..+)?\.lock)");
  return path_exists(file) && std::regex_match(file.filename().string(), kNames);
}

bool is_experiment(const fs::path& file) {
  return path_exists(file) && (file.extension() == ".yaml" || file.extension() == ".yml");
}

bool is_checkpoint(const fs::path& folder) { return path_exists(folder / kManifestFile); }

void require_not_an_input(const fs::path& out, const std::vector<fs::path>& inputs) {
  std::error_code ignored;
  for (const fs::path& input : inputs)
    if (!input.empty() && fs::equivalent(out, input, ignored))
      throw_error(ExitCode::kUsage, "{}: is an input file and would be lost; choose a different output file",
                  out.string());
}

}  // namespace

void require_harmless_output(const fs::path& out, std::string_view advice, const std::vector<fs::path>& inputs) {
  if (out.empty()) return;
  require_not_an_input(out, inputs);
  if (!enclosing_run(real_path(out.parent_path()) / out.filename()).empty()) refuse_link(out);
  const fs::path file = real_path(resolve_output_file(out, advice));
  if (is_experiment(file))
    throw_error(ExitCode::kUsage,
                "{}: has the name of an experiment file, which would be lost; choose a different output file",
                out.string());
  if (is_run_file(file) || is_sweep_or_lock_file(file) || is_checkpoint(file.parent_path()))
    throw_error(ExitCode::kUsage,
                "{}: belongs to a run and writing it would damage the run; choose a different output file",
                out.string());
}

void require_folder_for_runs(const fs::path& folder) {
  if (folder.empty()) return;
  const fs::path link = link_target(folder);
  if (!link.empty() && !path_exists(folder))
    throw_error(ExitCode::kUsage, "{}: is a link to {}, which is missing; create that folder, or remove the link",
                folder.string(), in_quotes(link.string(), 200));
  if (!path_exists(folder)) return;
  if (!is_folder(folder))
    throw_error(ExitCode::kUsage, "{}: is a file, expected a folder or an unused name", folder.string());
  const fs::path real = real_path(folder);
  if (is_checkpoint(folder) || is_among_checkpoints(real, enclosing_run(real)))
    throw_error(ExitCode::kUsage,
                "{}: belongs to checkpoints, and other files would damage them; choose a different folder",
                folder.string());
  if (is_run_folder(real_path(folder)))
    throw_error(ExitCode::kUsage, "{}: is the folder of a run; name a folder for new runs with --out, such as runs",
                folder.string());
}

}  // namespace rnnlab::app
