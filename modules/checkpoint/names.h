// The names in a folder of checkpoints: step-000123, and what may be left of a save or removal that was interrupted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rnnlab {

inline constexpr const char* kBestFile = "best.json";

std::string step_folder_name(int64_t step);               // "step-000123"
std::optional<int64_t> step_of(const std::string& name);  // its inverse: nothing for any other name
std::string temporary_name(int64_t step);                 // ".step-000123.tmp-<process>": being written
std::string removed_name(int64_t step);                   // ".step-000123.old-<process>": being removed
bool is_leftover(const std::string& name);                // one of these two, or best.json being written

}  // namespace rnnlab
