// SPDX-License-Identifier: Apache-2.0
#include "recurrent/cudnn/algorithm_choice.h"

#include <c10/util/Exception.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <string_view>

#include "base/error.h"
#include "base/folder.h"
#include "system/files.h"

namespace rnnlab {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr int64_t kMaxCacheBytes = 16 << 20;

std::optional<CudnnAlgorithm> algorithm_named(std::string_view name) {
  for (const auto& [algorithm, its_name] : config::EnumNames<CudnnAlgorithm>::kNames)
    if (its_name == name && algorithm != CudnnAlgorithm::kAuto) return algorithm;
  return std::nullopt;
}

std::optional<MeasuredAlgorithm> measured_in(const json& entry) {
  const auto algorithm = algorithm_named(entry.at("algorithm").get<std::string>());
  if (!algorithm) return std::nullopt;
  MeasuredAlgorithm measured = {*algorithm, {}};
  for (const auto& [name, milliseconds] : entry.at("milliseconds").items())
    if (const auto timed = algorithm_named(name)) measured.milliseconds[*timed] = milliseconds.get<double>();
  return measured;
}

json entry_of(const MeasuredAlgorithm& measured) {
  json milliseconds = json::object();
  for (const auto& [algorithm, time] : measured.milliseconds) milliseconds[config::name_of(algorithm)] = time;
  return {{"algorithm", config::name_of(measured.algorithm)}, {"milliseconds", milliseconds}};
}

json empty_cache() { return {{"format", kFormat}, {"shapes", json::object()}}; }

json read_cache(const std::filesystem::path& file) {
  const json cache = json::parse(read_file(file, kMaxCacheBytes));
  return cache.at("format") == kFormat && cache.at("shapes").is_object() ? cache : empty_cache();
}

json read_cache_or_empty(const std::filesystem::path& file) {
  try {
    return read_cache(file);
  } catch (const std::exception&) {
    return empty_cache();
  }
}

}  // namespace

std::optional<MeasuredAlgorithm> AlgorithmCache::find(const std::string& key) const try {
  if (file_.empty()) return std::nullopt;
  const json shapes = read_cache(file_).at("shapes");
  return shapes.contains(key) ? measured_in(shapes.at(key)) : std::nullopt;
} catch (const std::exception&) {
  return std::nullopt;
}

void AlgorithmCache::add(const std::string& key, const MeasuredAlgorithm& measured) const try {
  if (file_.empty()) return;
  std::filesystem::create_directories(file_.parent_path());
  json cache = read_cache_or_empty(file_);
  cache["shapes"][key] = entry_of(measured);
  write_file_atomically(file_, cache.dump(1) + "\n");
} catch (const std::exception&) {
  return;  // the next run measures again
}

std::filesystem::path algorithm_cache_file() {
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? folder : folder / "cudnn_algorithms.json";
}

namespace {

struct Survey {
  MeasuredAlgorithm measured;
  std::exception_ptr out_of_memory;  // the error of an algorithm that lacked memory; else null
};

void measure_one(Survey& survey, CudnnAlgorithm algorithm, const MeasureAlgorithm& measure) try {
  if (const auto milliseconds = measure(algorithm)) survey.measured.milliseconds[algorithm] = *milliseconds;
} catch (const c10::OutOfMemoryError&) {
  survey.out_of_memory = std::current_exception();
}

Survey measure_all(const MeasureAlgorithm& measure) {
  Survey survey;
  for (const auto& [algorithm, name] : config::EnumNames<CudnnAlgorithm>::kNames)
    if (algorithm != CudnnAlgorithm::kAuto) measure_one(survey, algorithm, measure);
  const auto& times = survey.measured.milliseconds;
  const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto fastest = std::ranges::min_element(times, by_time);
  if (fastest != times.end()) survey.measured.algorithm = fastest->first;
  return survey;
}

}  // namespace

std::string algorithm_key(const CudnnPlatform& platform, const RnnShape& shape) {
  return fmt::format("{}, driver {}, cuDNN {}: {}, {}", platform.gpu, platform.driver, platform.cudnn, text_of(shape),
                     shape.passes == Passes::kForward ? "forward" : "forward and backward");
}

MeasuredAlgorithm choose_algorithm(const CudnnPlatform& platform, const RnnShape& shape, const AlgorithmCache& cache,
                                   const MeasureAlgorithm& measure) {
  const std::string key = algorithm_key(platform, shape);
  if (const auto known = cache.find(key)) return *known;
  const auto [measured, out_of_memory] = measure_all(measure);
  if (measured.milliseconds.empty() && out_of_memory) std::rethrow_exception(out_of_memory);
  if (measured.milliseconds.empty())
    throw_error(ExitCode::kUsage, "cuDNN {} cannot run any of its algorithms on {} for {}; use layer: fused",
                platform.cudnn, platform.gpu, text_of(shape));
  if (!out_of_memory) cache.add(key, measured);
  return measured;
}

}  // namespace rnnlab
