// What rnnlab understood of data, for `rnnlab data inspect`: shapes, types, classes, ranges, missing values, first
// rows, and a picture of an image. As JSON for programs, and as text made of that JSON for people. Changes nothing.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

#include "data/data_settings.h"

namespace rnnlab {

// The data set that an experiment would train on, split and scaled as it would be. UserError as load_dataset.
nlohmann::ordered_json inspect(const DataSettings& settings);

// One file, its format guessed by its content (idx, npy, csv or text; gzip is unpacked), with the lines of YAML that
// train on it. UserError as the reader of that format, and kData for archives and other formats that nothing here
// reads.
nlohmann::ordered_json inspect_file(const std::filesystem::path& path);

// What the two above return, for people, in lines of at most `width` columns where pictures and YAML allow it.
std::string inspection_text(const nlohmann::ordered_json& inspection, size_t width = 100);

}  // namespace rnnlab
