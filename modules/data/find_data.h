// Where a data file lies: in data.path (from the current directory, then from the experiment file's folder), then in
// $RNNLAB_DATA, then in data/, under its name or with .gz behind it. Looks at names only; whether the file holds what
// it should is its reader's affair.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/data_settings.h"

namespace rnnlab {

struct DataQuery {
  std::string path;    // data.path: a folder, or the file itself where `name` is empty; may be empty
  std::string name;    // the file, without .gz; an absolute name is the place itself
  std::string folder;  // the set's own folder below $RNNLAB_DATA and data/, such as "mnist"; may be empty
  std::string advice;  // how to bring it here: the last line of the message
};

// The first place that has the file. UserError kData lists every place looked at, as absolute paths.
std::filesystem::path find_data(const DataQuery& query);

// The files that the settings name, those of training first, where find_data finds them. Missing ones are left out.
std::vector<std::filesystem::path> data_files(const DataSettings& settings);

// data.path of settings that stand in a file in `folder`: where nothing is there from the current directory, but
// something from `folder`, the path from there; else as it stands.
std::string path_beside(const DataSettings& settings, const std::filesystem::path& folder);

}  // namespace rnnlab
