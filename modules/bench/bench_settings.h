// What `rnnlab bench` times: layers, and a grid of sizes, cells, precisions and devices on which each of them is timed.
// Most keys take a list or one value; every combination of the values is measured.
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

// Who starts the kernels: the program, one by one, or the device, from a CUDA graph that was captured once.
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
  std::optional<int64_t> input_size;  // hidden_size where not given
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

// `document` with every lone value of a key that takes a list as a list of one, and those of arguments cut at their
// commas: `hidden_size=256,512`. Without its `sweep:`.
config::Document with_lists(const config::Document& document);

// The settings as arguments of the command line, "hidden_size=256,512", which read_bench_settings reads back.
std::vector<std::string> arguments_of(const BenchSettings& settings);

// What the document says; what is wrong goes to `findings`.
BenchSettings read_bench_settings(const config::Document& document, config::Findings& findings);

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::BenchMode> {
  static constexpr std::array<std::pair<BenchMode, std::string_view>, 2> kNames = {
      {{BenchMode::kEager, "eager"}, {BenchMode::kGraph, "graph"}}};
};
