// SPDX-License-Identifier: Apache-2.0
#include "data/source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace rnnlab {

#define RNNLAB_SOURCE(enumerator, name) const SourceInfo& name##_source();
#include "data/source_list.inc"

const SourceInfo& info_of(Source source) {
  switch (source) {
#define RNNLAB_SOURCE(enumerator, name) \
  case Source::enumerator:              \
    return name##_source();
#include "data/source_list.inc"
  }
  fail_invariant("a listed source", __FILE__, __LINE__, "info_of does not know the source");
}

bool gives_task(Source source, Task task) { return std::ranges::count(info_of(source).tasks, task) > 0; }

std::vector<Source> sources_reading(std::string_view key) {
  std::vector<Source> all, reading;
  for (const auto& [source, name] : config::EnumNames<Source>::kNames) {
    all.push_back(source);
    if (std::ranges::count(info_of(source).keys, key) > 0) reading.push_back(source);
  }
  return reading.empty() ? all : reading;
}

bool reads_key(Source source, std::string_view key) { return std::ranges::count(sources_reading(key), source) > 0; }

std::string described_sources() {
  std::vector<std::string> lines;
  for (const auto& [source, name] : config::EnumNames<Source>::kNames)
    lines.push_back(fmt::format("{}: {}", name, info_of(source).description));
  return join(lines, "; ");
}

LoadedPart part_of(Loaded loaded, DataPart part) {
  RNNLAB_INVARIANT(part == DataPart::kTrain || part == DataPart::kValid,
                   "loaded data have a training part and a validation part");
  Dataset& dataset = loaded.dataset;
  const bool is_training = part == DataPart::kTrain;
  return {.samples = is_training ? dataset.train : dataset.valid,
          .origin = loaded.origin,
          .normalize = loaded.normalize,
          .notes = dataset.notes,
          .file_samples = is_training ? std::move(loaded.split.train) : std::move(loaded.split.valid)};
}

}  // namespace rnnlab
