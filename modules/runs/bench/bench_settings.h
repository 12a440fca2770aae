// SPDX-License-Identifier: Apache-2.0
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

#include "base/config/schema.h"
#include "layers/layer_kind.h"
#include "layers/recurrent_options.h"
#include "train/loop/precision.h"

namespace rnnlab {

// Kernels are launched by the program one by one, or by the device from a CUDA graph that was captured once.
enum class BenchMode { kEager, kGraph };

struct BenchSettings {
  std::vector<LayerKind> layer = {LayerKind::kNaive, LayerKind::kFused};
  std::vector<std::string> device = {"auto"};
  std::vector<BenchMode> mode = {BenchMode::kEager};
  std::vector<Precision> precision = {Precision::kFp32};
  std::vector<std::string> cell = {"lstm"};  // names of the list, or files of equations
  std::vector<CudnnAlgorithm> cudnn_algorithm = {CudnnAlgorithm::kAuto};
  std::vector<PersistentForm> persistent_form = {PersistentForm::kAll};
  std::vector<int64_t> hidden_size = {512};
  std::vector<int64_t> batch_size = {64};
  std::vector<int64_t> num_steps = {100};
  std::vector<int64_t> num_layers = {4};
  std::optional<int64_t> input_size;  // default: hidden_size
  bool bidirectional = false;
  int64_t heads = 1;  // of slstm
  double starts = 0;  // the probability that the states are zero before a step of a sequence
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

// Returns the layers that are timed at each point of the grid: persistent once for each of its forms.
std::vector<LayerChoice> timed_layers(const BenchSettings& settings);

// Returns the settings of the document; errors are added to `findings`. A file of a cell is searched from the folder of
// the file that names it. Throws UserError kUsage with all mistakes of such a file.
BenchSettings read_bench_settings(const config::Document& document, config::Findings& findings);

// ---- the points of the grid (bench_case.cpp) ----

// One point of the grid of `rnnlab bench`: all values that are equal for the layers compared there.
struct BenchCase {
  std::string device = "cpu";  // as the user wrote it
  BenchMode mode = BenchMode::kEager;
  Precision precision = Precision::kFp32;
  RecurrentOptions options;
  int64_t batch_size = 1;
  int64_t num_steps = 1;
  double starts = 0;
  std::string own_cell = {};  // the name of a cell of a file in rows; "" for a cell of the list
};

// A cell by its name or by the file of its equations.
struct BenchCell {
  Cell cell = Cell::kLstm;
  std::string name;  // in rows: "lstm", or "mgu 1b2c3d4e" with the first digits of the program's hash
};
// Throws UserError kUsage with all mistakes of the file.
BenchCell bench_cell(const std::string& name_or_file);

// Returns the numbers of values of the keys of the grid, in their order.
std::vector<size_t> grid_sizes(const BenchSettings& settings);

// Returns every combination, device slowest and num_layers fastest, in the order of the settings' keys. Reads the files
// of cells.
std::vector<BenchCase> expand_grid(const BenchSettings& settings);

// ---- lower bounds of one pass ----

// Returns the multiplications and additions of the products of one forward pass. The backward pass for the data (inputs
// and states) and that for the weights have the same number each. Point-wise work is left out, because it is below 1 %
// at H 128 and less at larger H.
double forward_flops(const BenchCase& combination);

// The bytes that must go through memory if all other values stay on the chip, each counted once: weights, the inputs
// and outputs of every layer, and the gates, which training keeps for its backward pass.
struct LeastBytes {
  double forward = 0;           // reads weights and inputs, writes outputs and gates
  double backward_data = 0;     // reads weights, gates and output gradients, writes gate and input gradients
  double backward_weights = 0;  // reads gate gradients, inputs and outputs, writes weight gradients
};
LeastBytes least_bytes(const BenchCase& combination);

// Returns the cell steps of a pass: T * L, or twice as many for both directions.
int64_t num_layer_steps(const BenchCase& combination);

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::BenchMode> {
  static constexpr std::array<std::pair<BenchMode, std::string_view>, 2> kNames = {
      {{BenchMode::kEager, "eager"}, {BenchMode::kGraph, "graph"}}};
};
