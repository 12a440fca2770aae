// What inspect_file() says of a file of each format, with the lines of YAML that train on it. Internal to inspect.h:
// inspect_file() guesses the format and adds the file's name.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace rnnlab {

// `source` is idx or npy, of which `path` must be one. UserError as the reader of that format.
nlohmann::ordered_json describe_array(const std::string& source, const std::filesystem::path& path);

// Nothing where the file is no table of at least two columns and rows, or is called .txt; one that is called .csv or
// .tsv must be a table, or it is UserError kData. `head` is how the file begins.
std::optional<nlohmann::ordered_json> describe_if_table(const std::filesystem::path& path, const std::string& head);

// `head` is how the file begins, whole where it is shorter than kHeadBytes.
nlohmann::ordered_json describe_text(const std::filesystem::path& path, const std::string& head);

inline constexpr size_t kHeadBytes = 4096;
inline constexpr size_t kMostClasses = 100;  // that are listed

// JSON's strings are YAML's double-quoted ones.
std::string yaml_text(const std::string& text);

// Adds vocabulary_size, and the first tokens as vocabulary.
void add_vocabulary(nlohmann::ordered_json& json, const std::vector<std::string>& vocabulary);

}  // namespace rnnlab
