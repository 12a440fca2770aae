// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <initializer_list>
#include <map>
#include <mutex>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "layers/kernel_cache/loaded_programs.h"
#include "layers/kernels/jit_step.h"

namespace rnnlab::kernels {
namespace {

std::string_view type_name(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return "float";
    case ElementType::kFloat64:
      return "double";
    case ElementType::kFloat16:
      return "rnnlab::kernels::Float16";
    case ElementType::kBfloat16:
      return "rnnlab::kernels::Bfloat16";
  }
  fail_invariant("a listed type", __FILE__, __LINE__, "type_name does not know the type");
}

int current_device() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

// Returns "sm_90" for a GPU.
std::string architecture_of(int device) {
  return fmt::format("sm_{}{}", attribute(cudaDevAttrComputeCapabilityMajor, device),
                     attribute(cudaDevAttrComputeCapabilityMinor, device));
}

// header: what defines the kernels.
KernelProgram program_of(const char* text, std::string_view header, const std::string& architecture) {
  return {.source = fmt::format("#include \"layers/kernels/{}\"\n"
                                "namespace rnnlab::kernels {{\n{}}}\n",
                                header, text),
          .headers = step_sources(),
          .architecture = architecture,
          .names = {}};
}

// Returns the kernels of the work's program for the current GPU, which `make` returns for its architecture. They are
// found by the address of the program's text, because it lives forever, so that a step costs no comparison of texts.
// The map belongs to one type of work, because steps and scans of the same program are different kernels.
template <class Work, class Make>
const std::vector<cudaKernel_t>& kernels_for(const Work& work, const Make& make) {
  using Key = std::tuple<const char*, ElementType, int>;
  static std::mutex mutex;
  static std::map<Key, const std::vector<cudaKernel_t>*> known;
  RNNLAB_INVARIANT(work.text != nullptr, "work on a GPU has no text of its program");
  const int device = current_device();
  const std::lock_guard lock(mutex);
  const std::vector<cudaKernel_t>*& kernels = known[{work.text, work.step.type, device}];
  if (kernels == nullptr) kernels = &loaded_kernels(make(architecture_of(device)));
  return *kernels;
}

}  // namespace

KernelProgram jit_step_program(const char* text, const StepColumns& columns, ElementType type,
                               const std::string& architecture) {
  KernelProgram program = program_of(text, "step_kernel.h", architecture);
  const auto add = [&](std::string_view kernel, std::initializer_list<std::string_view> passes) {
    for (const std::string_view pass : passes)
      program.names.push_back(
          fmt::format("rnnlab::kernels::{}<rnnlab::kernels::JitProgram, rnnlab::kernels::StepPass::{}, {}>", kernel,
                      pass, type_name(type)));
  };
  add("step_kernel", {"kForward", "kBackward"});
  add("steps_kernel", {"kForward", "kBackward"});
  if (columns.operands > 0) add("step_kernel", {"kOperands", "kProductSides"});
  return program;
}

KernelProgram jit_scan_program(const char* text, ElementType type, const std::string& architecture) {
  KernelProgram program = program_of(text, "scan_kernel.h", architecture);
  for (const std::string_view pass : {"forward", "backward"})
    program.names.push_back(
        fmt::format("rnnlab::kernels::scan_{}_kernel<rnnlab::kernels::JitProgram, {}>", pass, type_name(type)));
  return program;
}

CUkern_st* jit_step_kernel(const ProgramStep& work, bool has_layers) {
  const auto& kernels = kernels_for(work, [&](const std::string& architecture) {
    return jit_step_program(work.text, work.columns, work.step.type, architecture);
  });
  const bool is_of_operands = work.pass == StepPass::kOperands || work.pass == StepPass::kProductSides;
  const bool is_second = work.pass == StepPass::kBackward || work.pass == StepPass::kProductSides;
  return kernels[(is_of_operands ? 4 : has_layers ? 2 : 0) + (is_second ? 1 : 0)];
}

CUkern_st* jit_scan_kernel(const ProgramScan& work) {
  const auto& kernels = kernels_for(
      work, [&](const std::string& architecture) { return jit_scan_program(work.text, work.step.type, architecture); });
  return kernels[work.pass == StepPass::kBackward ? 1 : 0];
}

}  // namespace rnnlab::kernels
