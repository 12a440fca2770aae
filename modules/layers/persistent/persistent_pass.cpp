// SPDX-License-Identifier: Apache-2.0
#include "layers/persistent/persistent_pass.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <c10/cuda/CUDAGuard.h>

#include <compare>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/folder.h"
#include "base/sha256.h"
#include "base/system/files.h"
#include "layers/device/gpu_support.h"
#include "layers/device/number_types.h"
#include "layers/execution_path.h"
#include "layers/persistent/layer_parts.h"
#include "layers/persistent/persistent_launch.h"
#include "layers/persistent/persistent_layer.h"
#include "layers/recurrent_layer.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

// Seeds the generator from which a layer for the check draws, and restores its state afterwards.
class KeptRandomState {
 public:
  KeptRandomState() : generator_(at::globalContext().defaultGenerator(at::kCPU)), state_(generator_.get_state()) {
    generator_.set_current_seed(1);
  }
  ~KeptRandomState() { generator_.set_state(state_); }
  KeptRandomState(const KeptRandomState&) = delete;
  KeptRandomState& operator=(const KeptRandomState&) = delete;

 private:
  at::Generator generator_;
  at::Tensor state_;
};

class NoAutocast {
 public:
  NoAutocast() { at::autocast::set_autocast_enabled(at::kCUDA, false); }
  ~NoAutocast() { at::autocast::set_autocast_enabled(at::kCUDA, was_enabled_); }
  NoAutocast(const NoAutocast&) = delete;
  NoAutocast& operator=(const NoAutocast&) = delete;

 private:
  bool was_enabled_ = at::autocast::is_autocast_enabled(at::kCUDA);
};

std::vector<at::Tensor> results_of(RecurrentLayer& layer, const at::Tensor& data) {
  const at::Tensor input = data.detach().clone().requires_grad_();
  std::vector<at::Tensor> results = {layer.forward(input).output};
  (results[0] * results[0]).sum().backward();
  results.push_back(input.grad());
  for (const at::Tensor& parameter : layer.parameters()) results.push_back(parameter.grad());
  return results;
}

// Returns the difference relative to the largest expected number, or 1e9 if a number is not finite.
double difference(const at::Tensor& got, const at::Tensor& wanted) {
  const auto largest = [](const at::Tensor& numbers) { return numbers.detach().to(at::kDouble).abs().max(); };
  const at::Tensor relative = largest(got.detach().to(at::kDouble) - wanted.detach().to(at::kDouble)) / largest(wanted);
  const auto value = relative.item<double>();
  return value <= 1e9 ? value : 1e9;
}

// The size of a layer for the check.
struct CheckedSize {
  int64_t hidden_size = 0;  // of a head
  int64_t num_layers = 1;
  int64_t input_size = 16;
  int64_t num_steps = 12;
  int64_t batch_size = 20;
};

double difference_of_layer(Cell cell, const CheckedSize& size, at::ScalarType type, c10::Device device) {
  const int64_t heads = cell == Cell::kSlstm ? 2 : 1;
  const RecurrentOptions options = {.cell = cell,
                                    .input_size = size.input_size,
                                    .hidden_size = heads * size.hidden_size,
                                    .num_layers = size.num_layers,
                                    .heads = heads};
  const auto persistent = make_layer(LayerKind::kPersistent, options);
  const auto reference = make_layer(has_cell(LayerKind::kFused, cell) ? LayerKind::kFused : LayerKind::kNaive, options);
  copy_weights(*persistent, *reference);
  for (const auto& layer : {persistent, reference}) layer->to(device, type);
  const at::Tensor data = at::randn({size.num_steps, size.batch_size, size.input_size}).to(device, type);
  const auto got = results_of(*persistent, data), wanted = results_of(*reference, data);
  double largest = 0;
  for (size_t i = 0; i < got.size(); ++i) largest = std::max(largest, difference(got[i], wanted[i]));
  return largest;
}

// Identifies a check: a class of numbers on a GPU.
struct Checked {
  c10::DeviceIndex device;
  at::ScalarType type;
  bool rounds_to_tf32;

  auto operator<=>(const Checked&) const = default;
};

// Returns a file whose name depends on the GPU, its driver, the kernels and the class of numbers; "" without a cache.
fs::path mark_of(const cudaDeviceProp& gpu, const Checked& checked) {
  int driver = 0;
  C10_CUDA_CHECK(cudaDriverGetVersion(&driver));
  const std::string all = fmt::format("{} {}.{} {} {} {}{}{}", gpu.name, gpu.major, gpu.minor, driver,
                                      kernels::fingerprint_of_persistent_kernels(), number_type_name(checked.type),
                                      checked.rounds_to_tf32 ? " tf32" : "", kernels::persistent_kernels_as());
  const fs::path folder = cache_folder();
  return folder.empty() ? folder : folder / ("persistent_checked_" + Sha256().update(all).hex().substr(0, 16));
}

// If the result cannot be stored, the next run checks again.
void remember(const fs::path& mark) try {
  if (mark.empty()) return;
  fs::create_directories(mark.parent_path());
  write_file_atomically(mark, "layer: persistent gave the results of layer: fused on this kind of GPU\n");
} catch (const std::exception&) {
  return;
}

void check(const Checked& checked, const cudaDeviceProp& gpu) {
  const fs::path mark = mark_of(gpu, checked);
  if (!mark.empty() && path_exists(mark)) return;
  const double difference = largest_difference_from_fused({c10::kCUDA, checked.device}, checked.type);
  if (difference > 1)
    throw_error(
        ExitCode::kUsage,
        "layer: persistent and layer: fused have different results in {} on this GPU, {} ({}.{}): the difference is "
        "{:.3g} times what rounding explains; use layer: cudnn, and report it",
        number_type_name(checked.type), gpu.name, gpu.major, gpu.minor, difference);
  remember(mark);
}

// The check runs layers, which request the check again.
class Checking {
 public:
  Checking() { is_running_ = true; }
  ~Checking() { is_running_ = false; }
  Checking(const Checking&) = delete;
  Checking& operator=(const Checking&) = delete;

  static bool is_running() { return is_running_; }

 private:
  static inline thread_local bool is_running_ = false;
};

// A layer of a cell with gates whose products after the backward pass are large enough in tf32 for gates' gradients
// that the kernel writes as float16: 40 * 256 * 256 * 3 * 256 = 2.01e9 multiplications of a GRU (products.cpp).
constexpr CheckedSize kLargeProducts = {.hidden_size = 256, .input_size = 256, .num_steps = 40, .batch_size = 256};

// Returns a size of each family of kernels: of one block, of clusters, of pairs of layers, and over the whole GPU; and
// in tf32 one with large products. The family over the whole GPU has none in fp32. On a GPU with clusters it is for
// cells with gates, and needs 64 multiprocessors.
std::vector<CheckedSize> sizes_to_check(Cell cell, at::ScalarType type, c10::Device device) {
  std::vector<CheckedSize> sizes = {{64}, {128}};
  if (cell == Cell::kSlstm) return sizes;
  const c10::cuda::CUDAGuard guard(device);
  const bool has_clusters = kernels::has_persistent_clusters();
  if (has_clusters) sizes.insert(sizes.end(), {{256}, {128, 2}});
  if (type == at::kFloat && !rounds_to_tf32()) return sizes;
  const bool has_room_for_1024 =
      cell != Cell::kRnnTanh && at::cuda::getDeviceProperties(device.index())->multiProcessorCount >= 64;
  if (!has_clusters) sizes.push_back({256});
  if (has_clusters && has_room_for_1024) sizes.push_back({1024});
  if (type == at::kFloat && cell != Cell::kRnnTanh) sizes.push_back(kLargeProducts);
  return sizes;
}

}  // namespace

double largest_difference_from_fused(c10::Device device, at::ScalarType type) {
  const KeptRandomState random;
  const NoAutocast no_autocast;
  const c10::AutoGradMode gradients(true);
  const double bound = type == at::kFloat ? 2e-2 : type == at::kHalf ? 5e-2 : 1e-1;  // float32: TF32 is allowed
  double largest = 0;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh, Cell::kLstmPeephole, Cell::kSlstm})
    for (const CheckedSize& size : sizes_to_check(cell, type, device))
      largest = std::max(largest, difference_of_layer(cell, size, type, device) / bound);
  return largest;
}

namespace {

// Throws UserError kUsage if outputs or gradients are wrong. The random state is not changed. float32 is one of two
// classes, tf32 or fp32, according to LibTorch's switch.
void require_checked_gpu(c10::Device device, at::ScalarType type) {
  static std::mutex one_at_a_time;
  static std::set<Checked> passed;
  const auto* gpu = at::cuda::getDeviceProperties(device.index());
  if (Checking::is_running() || (gpu->major == 9 && kernels::persistent_kernels_as().empty())) return;
  const Checked checked = {device.index(), type, type == at::kFloat && rounds_to_tf32()};
  const std::lock_guard lock(one_at_a_time);
  if (passed.contains(checked)) return;
  const Checking checking;
  without_observer([&] { check(checked, *gpu); });
  passed.insert(checked);
}

void require_gpu_with_kernels(c10::Device device) {
  static DeviceAnswers accepts;
  accepts.of(device, [&] {
    require_supported(LayerKind::kPersistent, work_on(device));
    return true;
  });
}

}  // namespace

std::string_view persistent_class_name(at::ScalarType type) {
  if (type != at::kFloat) return number_type_name(type);
  if (rounds_to_tf32()) return "tf32 class: float16 operands, float32 sums";
  return "float32: each factor as two float16, float32 sums";
}

void require_persistent(c10::Device device, at::ScalarType type) {
  require_gpu_with_kernels(device);
  if (type == at::kDouble)
    throw_error(ExitCode::kUsage, "layer: persistent does not support float64; use layer: cudnn");
  require_checked_gpu(device, type);
  throw_if_kernel_timed_out();
}

namespace {

std::string text_of(const kernels::PersistentGroups& groups) {
  if (groups.num_blocks == 1) return "groups of one block";
  if (groups.are_clusters) return fmt::format("clusters of {} blocks", groups.num_blocks);
  return fmt::format("groups of {} blocks over the whole GPU", groups.num_blocks);
}

// Says how layers run at the same time.
std::string text_of_overlap(const PersistentSpec& spec, const PersistentTrace& bottom, size_t num_layers) {
  if (bottom.is_in_pair) return ", pairs of layers in one kernel";
  const size_t parts = parts_of_steps(bottom.num_steps(), num_layers, forward_part_of_gpu(spec, bottom)).size();
  return parts > 1 ? fmt::format(", layers side by side in {} parts", parts) : "";
}

}  // namespace

ExecutionPath persistent_path(const PersistentSpec& spec, const std::vector<PersistentTrace>& layers) {
  PersistentTrace bottom = layers.front();
  const c10::cuda::CUDAGuard guard(bottom.gates.device());
  bottom.is_in_pair = runs_pairs(spec, layers);
  return {fmt::format("persistent kernel ({}), {}{}", persistent_class_name(bottom.gates.scalar_type()),
                      text_of(forward_groups(spec, bottom)), text_of_overlap(spec, bottom, layers.size())),
          {}};
}

}  // namespace rnnlab
