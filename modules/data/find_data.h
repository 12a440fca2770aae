// SPDX-License-Identifier: Apache-2.0
// Searches a data file: in data.path (relative to the current directory, then to the folder of the experiment file),
// then in $RNNLAB_DATA, then in data/, under its name or with .gz appended. A name such as data.npz:x_train is that of
// an array in the file data.npz. Only names are checked; the reader of the file checks its content.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_settings.h"

namespace rnnlab {

// Stands for the name of a file that the user must write; find_data refuses it.
inline constexpr std::string_view kFillIn = "FILL_IN";

struct DataQuery {
  std::string path;    // data.path: a folder, or the file itself if `name` is empty; may be empty
  std::string name;    // the file, without .gz; an absolute name is the only candidate
  std::string folder;  // folder of the data set in $RNNLAB_DATA and data/, such as "mnist"; may be empty
  std::string advice;  // how to obtain the file: the last line of the message
};

// Returns the first place that has the file, with the name of the array if `name` has one. Throws UserError kData with
// every candidate as an absolute path.
std::filesystem::path find_data(const DataQuery& query);

// Returns the files that the settings name and find_data finds, those of training first, each once. Missing files are
// left out.
std::vector<std::filesystem::path> data_files(const DataSettings& settings);

// Returns data.path for settings from a file in `folder`. If the data are missing relative to the current directory but
// exist relative to `folder`, the result is the path in `folder`; else data.path is returned unchanged.
std::string resolve_data_path(const DataSettings& settings, const std::filesystem::path& folder);

}  // namespace rnnlab
