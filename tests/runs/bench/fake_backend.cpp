// SPDX-License-Identifier: Apache-2.0
#include "runs/bench/fake_backend.h"

#include <fmt/format.h>

#include <new>

#include "base/error.h"
#include "runs/bench/bench_report.h"

namespace rnnlab::testing {
namespace {

using config::name_of;

class FakeRunner : public LayerRunner {
 public:
  FakeRunner(FakeBackend& backend, LayerKind layer) : backend_(backend), layer_(layer) {}

  double run(Pass pass, int64_t iterations) override {
    backend_.log.push_back(fmt::format("run {} {}", name_of(layer_), static_cast<int>(pass)));
    if (const auto found = backend_.broken.find(layer_); found != backend_.broken.end())
      throw UserError(ExitCode::kDevice, found->second);
    return backend_.seconds.at(layer_).at(static_cast<size_t>(pass)) * static_cast<double>(iterations);
  }

 private:
  FakeBackend& backend_;
  LayerKind layer_;
};

}  // namespace

void FakeBackend::begin(const BenchCase& combination) {
  log.push_back("begin " + shared_text({row_key(LayerKind::kNaive, combination.device, combination)}));
  combination_ = combination;
  if (num_begins-- == 0) throw std::bad_alloc();
  if (!unavailable.empty()) throw UserError(ExitCode::kDevice, unavailable);
}

std::unique_ptr<LayerRunner> FakeBackend::make_runner(LayerChoice layer) {
  if (const auto found = refused.find(layer.kind); found != refused.end())
    throw UserError(ExitCode::kUsage, found->second);
  return std::make_unique<FakeRunner>(*this, layer.kind);
}

Ceiling FakeBackend::measure_ceiling() {
  log.emplace_back("ceiling");
  if (!ceiling_error.empty()) throw UserError(ExitCode::kDevice, ceiling_error);
  return {.device = device(),
          .precision = std::string(name_of(combination_.precision)),
          .gemm_flops_per_second = 1e12,
          .copy_bytes_per_second = 1e11};
}

LayerInspection FakeBackend::inspect(LayerChoice layer) {
  log.push_back(fmt::format("inspect {}", name_of(layer.kind)));
  if (!inspection_error.empty()) throw UserError(ExitCode::kDevice, inspection_error);
  return {.path = fmt::format("the path of {}", name_of(layer.kind)),
          .notes = {"a note"},
          .kernels = {{.name = "gemm", .count = 8, .seconds = 0.25}, {.name = "tanh", .count = 2, .seconds = 0.0625}},
          .peak_memory_bytes = 3 << 20};
}

}  // namespace rnnlab::testing
