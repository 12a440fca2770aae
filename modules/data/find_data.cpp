// SPDX-License-Identifier: Apache-2.0
#include "data/find_data.h"

#include "base/error.h"
#include "base/folder.h"
#include "base/text.h"
#include "data/readers/npz.h"

namespace rnnlab {
namespace {

using Path = std::filesystem::path;

// Returns $RNNLAB_DATA, if it is set, and data/.
std::vector<Path> roots() {
  std::vector<Path> list;
  if (const std::string root = environment_variable("RNNLAB_DATA"); !root.empty()) list.emplace_back(root);
  list.emplace_back("data");
  return list;
}

// If the user names a path, no other place is searched, because it could have different data.
std::vector<Path> places(const DataQuery& query) {
  std::vector<Path> list;
  if (Path(query.name).is_absolute()) return {query.name};
  const auto add = [&](const Path& folder) { add_once(list, query.name.empty() ? folder : folder / query.name); };
  if (!query.path.empty()) add(query.path);
  if (query.path.empty() && query.folder.empty()) add_once(list, query.name);
  for (const Path& root : roots()) {
    if (!query.path.empty()) add(root / query.path);
    if (query.name.empty() || !query.path.empty()) continue;
    add(root);
    if (!query.folder.empty()) add(root / query.folder);
  }
  return list;
}

// Returns the file of a path such as data.npz:x_train, which names an array in an archive, or the path itself.
Path file_of(const Path& path) { return split_array_path(path).file; }

bool is_there(const Path& path) { return path_exists(file_of(path)) && !is_folder(path); }

Path with_gz(const Path& path) {
  Path packed = path;
  packed += ".gz";
  return packed;
}

bool is_there_or_packed(const Path& path) { return path_exists(file_of(path)) || path_exists(with_gz(path)); }

std::string rule_on_relative_paths(const DataQuery& query) {
  if (query.path.empty() || Path(query.path).is_absolute()) return "";
  return "A relative data.path is searched from the current directory, then from the folder of the experiment's "
         "file.\n";
}

// Returns the first candidate that is a folder; nullopt if none is.
std::optional<Path> folder_among(const std::vector<Path>& candidates) {
  const auto found = std::ranges::find_if(candidates, is_folder);
  return found == candidates.end() ? std::nullopt : std::optional(*found);
}

// `data inspect` prints this word where it does not know a name.
void require_filled_in(const DataQuery& query) {
  for (const std::string& text : {query.name, query.path})
    if (text.find(kFillIn) != std::string::npos)
      throw_error(ExitCode::kData, "data: {} stands for the name of a file: write that name in its place",
                  in_quotes(text));
}

}  // namespace

std::filesystem::path find_data(const DataQuery& query) {
  require_filled_in(query);
  const std::vector<Path> candidates = places(query);
  std::string searched;
  for (const Path& candidate : candidates) {
    Path packed = with_gz(candidate);
    if (is_there(candidate)) return candidate;
    if (file_of(candidate) == candidate && is_there(packed)) return packed;
    searched += "\n  " + std::filesystem::absolute(file_of(candidate)).lexically_normal().string();
  }
  if (const auto folder = folder_among(candidates))
    throw_error(ExitCode::kData, "{}: is a folder, expected a file: name a file in it", folder->string());
  throw_error(ExitCode::kData, "no such data file, with or without .gz; searched:{}\n{}{}", searched,
              rule_on_relative_paths(query), query.advice);
}

std::vector<Path> data_files(const DataSettings& settings) {
  std::vector<Path> files;
  const auto add = [&](const std::string& name, const std::string& folder) {
    try {
      add_once(files, file_of(find_data({settings.path, name, folder, ""})));
    } catch (const UserError&) {
      // It is skipped, because loading the data reports a missing file.
    }
  };
  for (const std::string_view name : info_of(settings.source).files)
    add(std::string(name), std::string(config::name_of(settings.source)));
  for (const std::string& name :
       {settings.train_file, settings.train_inputs, settings.train_targets, settings.train_lengths, settings.valid_file,
        settings.valid_inputs, settings.valid_targets, settings.valid_lengths, settings.test_file, settings.test_inputs,
        settings.test_targets, settings.test_lengths})
    if (!name.empty()) add(name, "");
  if (settings.train_file.empty() && settings.train_inputs.empty()) add("", "");
  return files;
}

std::string resolve_data_path(const DataSettings& settings, const Path& folder) {
  const std::string& first_file = settings.train_inputs.empty() ? settings.train_file : settings.train_inputs;
  const Path wanted = settings.path.empty() ? Path(first_file)
                      : first_file.empty()  ? Path(settings.path)
                                            : settings.path / Path(first_file);
  const bool is_relative = !wanted.empty() && wanted.is_relative();
  if (!is_relative || folder.empty() || is_there_or_packed(wanted) || !is_there_or_packed(folder / wanted))
    return settings.path;
  return (folder / settings.path).string();
}

}  // namespace rnnlab
