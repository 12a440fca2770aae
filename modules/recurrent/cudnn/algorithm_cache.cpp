#include "recurrent/cudnn/algorithm_cache.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/folder.h"
#include "results/files.h"

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

}  // namespace rnnlab
