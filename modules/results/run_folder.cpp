// SPDX-License-Identifier: Apache-2.0
#include "results/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/folder.h"
#include "base/system/files.h"
#include "base/text.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

void check_is_folder_name(const std::string& part, const char* what) {
  const bool has_bad_byte =
      std::ranges::any_of(part, [](unsigned char c) { return c < 0x20 || c == '/' || c == 0x7F; });
  const bool usable = !part.empty() && part != "." && part != ".." && !has_bad_byte;
  if (!usable)
    throw_error(ExitCode::kUsage, "{} {} cannot be part of a folder's name: use letters, digits, '_', '-' or '.'", what,
                in_quotes(part));
}

[[noreturn]] void throw_cannot_create(const fs::path& folder, const std::string& reason, std::string_view option) {
  throw_error(ExitCode::kDevice, "{}: cannot create the folder: {}; choose another place with {}", folder.string(),
              reason, option);
}

// Returns what is at the path instead of a folder.
std::string describe_obstacle(const fs::path& path) {
  const fs::path target = link_target(path);
  if (target.empty()) return "there is a file of this name";
  return fmt::format("it is a symbolic link to '{}', which is not a folder", target.string());
}

enum class Made { kNew, kThereAlready };

// The new folder survives a loss of power.
Made make_folder(const fs::path& path, std::string_view option) {
  constexpr mode_t kAllRightsLessUmask = 0777;
  if (uninterrupted([&] { return ::mkdir(path.c_str(), kAllRightsLessUmask); }) == 0) {
    sync_folder(folder_of(path));
    return Made::kNew;
  }
  if (errno == EEXIST) return Made::kThereAlready;
  throw_cannot_create(path, std::generic_category().message(errno), option);
}

}  // namespace

void make_folders(const fs::path& folder, std::string_view option) {
  if (folder.empty() || is_folder(folder)) return;
  make_folders(folder.parent_path(), option);
  if (make_folder(folder, option) == Made::kThereAlready && !is_folder(folder))
    throw_cannot_create(folder, describe_obstacle(folder), option);
}

std::string run_folder_name(const RunLabel& label) {
  std::string device = label.device;
  std::erase(device, ':');
  return fmt::format("{:%Y-%m-%dT%H-%M-%S}Z-{}-{}", fmt::gmtime(label.start), device, label.layer);
}

namespace {

// The link gets its name by one rename, so that it always leads to a run. It is only a convenience, so a file system
// that has no links is not an error. A folder or file of this name is the user's.
void point_latest_to(const fs::path& run) {
  const fs::path link = run.parent_path() / kLatestLink;
  std::error_code error;
  const fs::file_type present = fs::symlink_status(link, error).type();
  if (present != fs::file_type::not_found && present != fs::file_type::symlink) return;
  const fs::path temporary = run.parent_path() / fmt::format(".{}-{}", kLatestLink, run.filename().string());
  fs::create_symlink(run.filename(), temporary, error);
  if (error) return;
  fs::rename(temporary, link, error);
  if (error) fs::remove(temporary, error);
}

}  // namespace

fs::path create_run_folder(const fs::path& out, const RunLabel& label) {
  check_is_folder_name(label.name, "the experiment's name");
  check_is_folder_name(label.device, "the device");
  check_is_folder_name(label.layer, "the layer");
  const fs::path parent = (out / label.name).lexically_normal();
  make_folders(parent);
  const std::string name = run_folder_name(label);
  constexpr int kMostRunsInOneSecond = 10000;
  for (int count = 1; count <= kMostRunsInOneSecond; ++count) {
    fs::path folder = parent / (count == 1 ? name : fmt::format("{}-{}", name, count));
    if (make_folder(folder, "--out") == Made::kThereAlready) continue;
    point_latest_to(folder);
    return folder;
  }
  throw_cannot_create(parent / name, fmt::format("{} folders of this name already exist", kMostRunsInOneSecond),
                      "--out");
}

namespace {

// Returns "2026-11-21T02-59-51" of the folder's name, or "" if the name does not begin with a time.
std::string start_in_name(const fs::path& folder) {
  constexpr size_t kLength = std::string_view("2026-11-21T02-59-51").size();
  const std::string name = folder.filename().string();
  const bool has_time = name.size() > kLength && name[kLength] == 'Z' && name[0] >= '0' && name[0] <= '9';
  return has_time ? name.substr(0, kLength) : "";
}

}  // namespace

std::vector<fs::path> run_folders_in(const fs::path& folder) {
  std::vector<fs::path> runs = folders_with(folder, {kConfigFile});
  const fs::path latest = link_target(folder / kLatestLink);
  const auto age = [&](const fs::path& run) { return std::pair(start_in_name(run), run.filename() == latest); };
  std::ranges::stable_sort(runs, {}, age);
  return runs;
}

namespace {

bool is_latest(const fs::path& part) { return part == kLatestLink; }

// Returns the run to which the link leads, which may be deleted; empty if `link` is something else.
fs::path target_of_latest_link(const fs::path& link) {
  const fs::path target = link_target(link);
  return target.empty() || target.has_parent_path() ? fs::path() : link.parent_path() / target;
}

// Returns the newest run beside the link; empty if no run is left.
fs::path newest_run_beside(const fs::path& link) {
  const fs::path folder = link.parent_path();
  const std::vector<fs::path> left = run_folders_in(folder.empty() ? "." : folder);
  return left.empty() ? fs::path() : folder / left.back().filename();
}

// Returns the run to which the link leads, or the newest run beside it if that run was deleted, or `link` if no run is
// left or `link` is something else.
fs::path run_of_latest_link(const fs::path& link) {
  const fs::path target = target_of_latest_link(link);
  const fs::path run = target.empty() || path_exists(link) ? target : newest_run_beside(link);
  return run.empty() ? link : run;
}

}  // namespace

fs::path without_latest_link(const fs::path& path) {
  if (std::none_of(path.begin(), path.end(), is_latest)) return path;
  fs::path whole;
  for (const fs::path& part : path)
    if (!part.empty()) whole = is_latest(part) ? run_of_latest_link(whole / part) : whole / part;
  return whole;
}

std::optional<DanglingLatest> dangling_latest(const fs::path& path) {
  fs::path whole;
  for (const fs::path& part : path) {
    whole /= part;
    if (!is_latest(part) || path_exists(whole)) continue;
    if (const fs::path deleted = target_of_latest_link(whole); !deleted.empty())
      return DanglingLatest{.link = whole, .deleted = deleted, .left = newest_run_beside(whole)};
  }
  return std::nullopt;
}

std::string shared_run_name(const fs::path& folder, const std::string& experiment) {
  const fs::path whole = normalized_path(folder);
  const std::string name = last_name(whole.string());
  return whole.parent_path().filename() == experiment ? experiment + "/" + name : name;
}

namespace {

void collect(const config::Value& map, const std::string& prefix, std::map<std::string, std::string>& values) {
  for (const config::Member& member : map.members) {
    const std::string key = prefix + member.key;
    if (member.value.is_map())
      collect(member.value, key + ".", values);
    else if (!member.value.is_null() && !(member.value.is_sequence() && member.value.items.empty()))
      values[key] = to_flow(member.value);
  }
}

}  // namespace

std::map<std::string, std::string> config_values(const std::filesystem::path& file) {
  config::Findings findings;
  const auto document = config::Document::from_file(file.string(), findings);
  if (!findings.empty()) throw UserError(ExitCode::kData, join(findings.lines(), "\n"));
  return config_values(document);
}

std::map<std::string, std::string> config_values(const config::Document& document) {
  std::map<std::string, std::string> values;
  collect(document.root(), "", values);
  return values;
}

std::string setting_without_folders(const std::string& value) {
  const bool is_list = value.starts_with('[') || value.starts_with('{');
  if (is_list) return without_folders(value);  // "m/s" in a list is a column, not a path
  const bool is_quoted = value.size() > 1 && value.front() == '"' && value.back() == '"';
  const std::string path = is_quoted ? value.substr(1, value.size() - 2) : value;
  if (path.find('/') == std::string::npos || path == "/") return value;
  return is_quoted ? fmt::format("\"{}\"", last_name(path)) : last_name(path);
}

std::string value_or_absent(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? "absent" : found->second;
}

}  // namespace rnnlab
