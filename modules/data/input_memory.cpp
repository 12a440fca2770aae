// SPDX-License-Identifier: Apache-2.0
#include "data/input_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/find_data.h"
#include "data/mapped_array.h"

namespace rnnlab {
namespace {

struct InputFile {
  std::string name;  // as in the settings
  int64_t file_bytes = 0;
  int64_t float_bytes = 0;        // of its elements as float32
  std::string unmappable_reason;  // "" if it can be mapped
};

int64_t bytes_as_float(const NpyLayout& layout) {
  int64_t bytes = sizeof(float);
  for (const int64_t size : layout.shape) bytes = saturating_multiply(bytes, size);
  return bytes;
}

InputFile input_file(const DataSettings& settings, const std::string& name, const NpyLayout& layout) {
  const bool is_on_device = settings.placement == Placement::kDevice;
  return {.name = name,
          .file_bytes = checked_num_bytes(layout.shape, layout.type).value_or(std::numeric_limits<int64_t>::max()),
          .float_bytes = bytes_as_float(layout),
          .unmappable_reason = is_on_device ? "data.placement is device" : unmappable_reason(layout)};
}

// Leaves out files that cannot be read.
std::vector<InputFile> input_files(const DataSettings& settings, const std::vector<std::string>& names) {
  std::vector<InputFile> files;
  for (const std::string& name : names) {
    try {
      files.push_back(input_file(settings, name, read_npy_layout(find_data({settings.path, name, "", ""}))));
    } catch (const UserError&) {
      // It is skipped, because the loader reports what is wrong.
    }
  }
  return files;
}

// A file is read as a whole before it is converted, and a split copies the converted samples.
int64_t bytes_while_loading(const std::vector<InputFile>& files) {
  int64_t kept = 0, temporary = 0;
  for (const InputFile& file : files) {
    kept = saturating_add(kept, file.float_bytes);
    temporary = std::max({temporary, file.float_bytes, file.file_bytes});
  }
  return saturating_add(kept, temporary);
}

int64_t bytes_without_swap(const MemoryLimit& limit) { return limit.bytes - limit.swap; }

// A quarter is left to the program, the model and the batches.
int64_t bytes_for_inputs(const MemoryLimit& limit) { return bytes_without_swap(limit) - bytes_without_swap(limit) / 4; }

// Returns why the files are too large for memory, or nothing if they are not.
std::optional<std::string> excess(const std::vector<InputFile>& files, const MemoryLimits& limits) {
  const auto least = std::ranges::min_element(limits.hard, {}, bytes_without_swap);
  const int64_t needed = bytes_while_loading(files);
  if (least == limits.hard.end() || needed <= bytes_for_inputs(*least)) return std::nullopt;
  return fmt::format("loading the inputs needs {} of memory, and they may take {} of the {} that {} allows{}",
                     format_bytes(needed), format_bytes(bytes_for_inputs(*least)),
                     format_bytes(bytes_without_swap(*least)), least->name, least->swap > 0 ? " without swap" : "");
}

std::string mapped_text(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files)
    if (std::ranges::count(names, last_name(file)) == 0) names.push_back(last_name(file));
  return fmt::format("inputs stay in {} and are read batch by batch", join_with_and(names));
}

InputMemoryChoice choose_by_size(const DataSettings& settings, const std::vector<std::string>& names,
                                 const MemoryLimits& limits) {
  const std::vector<InputFile> files = input_files(settings, names);
  const std::optional<std::string> reason = excess(files, limits);
  if (!reason) return {};
  InputMemoryChoice choice;
  for (const InputFile& file : files) {
    if (file.unmappable_reason.empty())
      choice.mapped.push_back(file.name);
    else
      choice.notes.push_back(
          fmt::format("{}, but {} is not mapped because {}", *reason, last_name(file.name), file.unmappable_reason));
  }
  if (!choice.mapped.empty())
    choice.notes.push_back(fmt::format("{}, because {} (data.memory: auto)", mapped_text(choice.mapped), *reason));
  return choice;
}

std::vector<std::string> without_empty(std::vector<std::string> names) {
  std::erase(names, "");
  return names;
}

}  // namespace

InputMemory InputMemoryChoice::memory_of(const std::string& file) const {
  return std::ranges::count(mapped, file) > 0 ? InputMemory::kMapped : InputMemory::kResident;
}

InputMemoryChoice choose_input_memory(const DataSettings& settings, const std::vector<std::string>& files,
                                      const MemoryLimits& limits) {
  const std::vector<std::string> names = without_empty(files);
  if (names.empty() || !reads_key(settings.source, "memory")) return {};
  if (settings.memory == InputMemory::kResident) return {};
  if (settings.memory == InputMemory::kAutomatic) return choose_by_size(settings, names, limits);
  return {.mapped = names, .notes = {mapped_text(names)}};
}

InputMemoryChoice choose_input_memory(const DataSettings& settings, const std::vector<std::string>& files) {
  return choose_input_memory(settings, files, memory_limits());
}

std::vector<std::string> inputs_of_training(const DataSettings& settings) {
  return without_empty({settings.train_inputs, settings.valid_inputs});
}

bool can_map_inputs(const DataSettings& settings) {
  if (!reads_key(settings.source, "memory")) return false;
  const std::vector<InputFile> files =
      input_files(settings, without_empty({settings.train_inputs, settings.valid_inputs, settings.test_inputs}));
  const auto can_be_mapped = [](const InputFile& file) { return file.unmappable_reason.empty(); };
  return !files.empty() && std::ranges::all_of(files, can_be_mapped);
}

}  // namespace rnnlab
