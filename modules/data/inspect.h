// Describes data for `rnnlab data inspect`: shapes, types, classes, ranges, missing values, first rows, and a picture
// of an image. The description is JSON for programs; people get a text made from this JSON. No file is changed.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

#include "data/data_settings.h"

namespace rnnlab {

// Describes the data set of an experiment after it is split and scaled for training. Throws UserError as load_dataset.
nlohmann::ordered_json inspect(const DataSettings& settings);

// Describes one file, with the lines of YAML that train on it. The format is guessed from the content (idx, npy, csv or
// text; gzip is unpacked). Throws UserError as the reader of that format, and kData for archives and other formats that
// rnnlab does not read.
nlohmann::ordered_json inspect_file(const std::filesystem::path& path);

// Returns the text of an inspection. Lines have at most `width` columns, except those of pictures and YAML.
std::string inspection_text(const nlohmann::ordered_json& inspection, size_t width = 100);

}  // namespace rnnlab
