#include "recurrent/persistent/first_check.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>

#include <mutex>
#include <set>

#include "base/error.h"
#include "base/folder.h"
#include "base/sha256.h"
#include "recurrent/kernels/persistent/persistent_layer.h"
#include "recurrent/recurrent_layer.h"
#include "results/files.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

// What a layer made for the check draws from.
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

// Relative to the largest number that is wanted; above any bound where a number is none.
double difference(const at::Tensor& got, const at::Tensor& wanted) {
  const auto largest = [](const at::Tensor& numbers) { return numbers.detach().to(at::kDouble).abs().max(); };
  const at::Tensor relative = largest(got.detach().to(at::kDouble) - wanted.detach().to(at::kDouble)) / largest(wanted);
  const auto value = relative.item<double>();
  return value <= 1e9 ? value : 1e9;
}

double difference_of_layer(Cell cell, int64_t hidden_size, at::ScalarType type, c10::Device device) {
  const RecurrentOptions options = {.cell = cell, .input_size = 16, .hidden_size = hidden_size};
  const auto persistent = make_layer(LayerKind::kPersistent, options);
  const auto fused = make_layer(LayerKind::kFused, options);
  copy_weights(*persistent, *fused);
  for (const auto& layer : {persistent, fused}) layer->to(device, type);
  const at::Tensor data = at::randn({12, 20, 16}).to(device, type);
  const auto got = results_of(*persistent, data), wanted = results_of(*fused, data);
  double largest = 0;
  for (size_t i = 0; i < got.size(); ++i) largest = std::max(largest, difference(got[i], wanted[i]));
  return largest;
}

// Of the GPU, its driver and the kernels.
fs::path mark_of(const cudaDeviceProp& gpu) {
  int driver = 0;
  C10_CUDA_CHECK(cudaDriverGetVersion(&driver));
  const std::string all = fmt::format("{} {}.{} {} {}", gpu.name, gpu.major, gpu.minor, driver,
                                      kernels::fingerprint_of_persistent_kernels());
  const fs::path folder = cache_folder();
  return folder.empty() ? folder : folder / ("persistent_checked_" + Sha256().update(all).hex().substr(0, 16));
}

// The next run checks again where it cannot be remembered.
void remember(const fs::path& mark) try {
  if (mark.empty()) return;
  fs::create_directories(mark.parent_path());
  write_file_atomically(mark, "layer: persistent gave the results of layer: fused on this kind of GPU\n");
} catch (const std::exception&) {
  return;
}

void check(c10::Device device, const cudaDeviceProp& gpu) {
  const fs::path mark = mark_of(gpu);
  if (!mark.empty() && is_there(mark)) return;
  const double difference = largest_difference_from_fused(device);
  if (difference > 1)
    throw_error(ExitCode::kUsage,
                "layer: persistent gives other results than layer: fused on this GPU, {} ({}.{}): {:.3g} times what "
                "rounding explains; use layer: cudnn, and report it",
                gpu.name, gpu.major, gpu.minor, difference);
  remember(mark);
}

}  // namespace

double largest_difference_from_fused(c10::Device device) {
  const KeptRandomState random;
  const NoAutocast no_autocast;
  const c10::AutoGradMode gradients(true);
  constexpr double kFloat = 2e-2, kBfloat = 1e-1;  // TF32 is allowed in both
  double largest = 0;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnnTanh})
    for (const int64_t hidden_size : {128, 256}) {
      largest = std::max(largest, difference_of_layer(cell, hidden_size, at::kFloat, device) / kFloat);
      largest = std::max(largest, difference_of_layer(cell, hidden_size, at::kBFloat16, device) / kBfloat);
    }
  return largest;
}

void require_checked_gpu(c10::Device device) {
  static std::mutex one_at_a_time;
  static std::set<c10::DeviceIndex> checked;
  static thread_local bool is_checking = false;  // the check runs layers, which come here
  const auto* gpu = at::cuda::getDeviceProperties(device.index());
  if (is_checking || (gpu->major == 9 && !kernels::runs_persistent_as_ptx())) return;
  const std::lock_guard lock(one_at_a_time);
  if (checked.contains(device.index())) return;
  is_checking = true;
  try {
    check(device, *gpu);
  } catch (...) {
    is_checking = false;
    throw;
  }
  is_checking = false;
  checked.insert(device.index());
}

}  // namespace rnnlab
