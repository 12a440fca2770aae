// SPDX-License-Identifier: Apache-2.0
#include "data/input_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "data/find_data.h"
#include "data/mapped_array.h"

namespace rnnlab {
namespace {

std::optional<NpyLayout> layout_of_training(const DataSettings& settings) {
  try {
    return read_npy_layout(find_data({settings.path, settings.train_inputs, "", ""}));
  } catch (const UserError&) {  // The loader reports what is wrong.
    return std::nullopt;
  }
}

int64_t bytes_as_float(const NpyLayout& layout) {
  int64_t bytes = sizeof(float);
  for (const int64_t size : layout.shape) bytes = saturating_multiply(bytes, size);
  return bytes;
}

bool exceed_half(int64_t bytes, const MemoryLimits& limits) {
  return std::ranges::any_of(limits.hard, [&](const MemoryLimit& limit) { return bytes > limit.bytes / 2; });
}

std::string why_not_mapped(const DataSettings& settings, const NpyLayout& layout) {
  return settings.placement == Placement::kDevice ? "data.placement is device" : unmappable_reason(layout);
}

InputMemoryChoice choose_by_size(const DataSettings& settings, const MemoryLimits& limits) {
  const std::optional<NpyLayout> layout = layout_of_training(settings);
  if (!layout || !exceed_half(bytes_as_float(*layout), limits)) return {};
  const std::string name = last_name(settings.train_inputs);
  const std::string size = format_bytes(bytes_as_float(*layout));
  const std::string reason = why_not_mapped(settings, *layout);
  if (reason.empty())
    return {InputMemory::kMapped,
            fmt::format("inputs stay in {} and are read batch by batch, because they need {} in memory, more than half "
                        "of it (data.memory: auto)",
                        name, size)};
  return {InputMemory::kResident,
          fmt::format("{} needs {} in memory, more than half of it, but is not mapped because {}", name, size, reason)};
}

}  // namespace

InputMemoryChoice choose_input_memory(const DataSettings& settings, const MemoryLimits& limits) {
  if (!reads_key(settings.source, "memory") || settings.memory == InputMemory::kResident) return {};
  if (settings.memory == InputMemory::kAutomatic) return choose_by_size(settings, limits);
  return {InputMemory::kMapped,
          fmt::format("inputs stay in {} and are read batch by batch", last_name(settings.train_inputs))};
}

InputMemoryChoice choose_input_memory(const DataSettings& settings) {
  return choose_input_memory(settings, memory_limits());
}

}  // namespace rnnlab
