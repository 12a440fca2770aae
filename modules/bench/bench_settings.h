// The settings of `rnnlab bench`: layers, and a grid of sizes, cells, precisions and devices on which each layer is
// timed. Most keys take a list or one value; every combination of the values is measured.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema.h"
#include "recurrent/layer_kind.h"
#include "training/precision.h"

namespace rnnlab {

// Kernels are launched by the program one by one, or by the device from a CUDA graph that was captured once.
enum class BenchMode { kEager, kGraph };

struct BenchSettings {
  std::vector<LayerKind> layer = {LayerKind::kNaive, LayerKind::kFused};
  std::vector<std::string> device = {"auto"};
  std::vector<BenchMode> mode = {BenchMode::kEager};
  std::vector<Precision> precision = {Precision::kFp32};
  std::vector<Cell> cell = {Cell::kLstm};
  std::vector<CudnnAlgorithm> cudnn_algorithm = {CudnnAlgorithm::kAuto};
  std::vector<int64_t> hidden_size = {512};
  std::vector<int64_t> batch_size = {64};
  std::vector<int64_t> num_steps = {100};
  std::vector<int64_t> num_layers = {4};
  std::optional<int64_t> input_size;  // default: hidden_size
  bool bidirectional = false;
  int64_t processes = 1;
  int64_t repeats = 15;
  double min_seconds = 0;
  double sample_seconds = 0.002;
  int64_t warmup = 2;
  int64_t seed = 1;
  std::optional<int64_t> num_threads;

  static const config::Schema<BenchSettings>& schema();
};

// Returns `document` without its `sweep:`, and with lists for all keys that take a list: a single value becomes a list
// of one, and a value from an argument is split at its commas: `hidden_size=256,512`.
config::Document with_lists(const config::Document& document);

// Returns the settings as arguments, such as "hidden_size=256,512", which read_bench_settings reads back.
std::vector<std::string> arguments_of(const BenchSettings& settings);

// Returns the settings of the document; errors are added to `findings`.
BenchSettings read_bench_settings(const config::Document& document, config::Findings& findings);

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::BenchMode> {
  static constexpr std::array<std::pair<BenchMode, std::string_view>, 2> kNames = {
      {{BenchMode::kEager, "eager"}, {BenchMode::kGraph, "graph"}}};
};
