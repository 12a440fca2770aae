// SPDX-License-Identifier: Apache-2.0
#include "layers/kernels/own_code.h"

#include <charconv>
#include <vector>

#include "base/text.h"

namespace rnnlab::kernels {
namespace {

enum class CodeForm { kCode, kPtx };

struct CodeFor {
  Capability gpu;
  CodeForm form;
};

// Parses "90-real", "90-virtual", or "90", which means both.
void append(std::vector<CodeFor>& all, std::string_view item) {
  int number = 0;
  const auto end = std::from_chars(item.data(), item.data() + item.size(), number).ptr;
  const std::string_view form(end, static_cast<size_t>(item.data() + item.size() - end));
  const Capability gpu = {number / 10, number % 10};
  if (form != "-virtual") all.push_back({gpu, CodeForm::kCode});
  if (form != "-real") all.push_back({gpu, CodeForm::kPtx});
}

std::vector<CodeFor> parsed(std::string_view code) {
  std::vector<CodeFor> all;
  if (code.empty()) return all;
  for (const std::string& item : split(code, ' ')) append(all, item);
  return all;
}

bool runs_on(const CodeFor& code, Capability gpu) {
  if (code.form == CodeForm::kPtx) return gpu >= code.gpu;
  return gpu.major == code.gpu.major && gpu.minor >= code.gpu.minor;
}

// Returns "code for 8.0 and 9.0"; "" if there is no code in that form.
std::string described(const std::vector<CodeFor>& all, CodeForm form, std::string_view name) {
  std::vector<std::string> gpus;
  for (const CodeFor& one : all)
    if (one.form == form) gpus.push_back(text_of(one.gpu));
  return gpus.empty() ? "" : std::string(name) + " for " + join_with_and(gpus);
}

}  // namespace

std::string text_of(Capability capability) {
  return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}

std::string_view own_code() { return RNNLAB_KERNEL_ARCHITECTURES; }

bool runs_on(std::string_view code, Capability gpu) {
  for (const CodeFor& one : parsed(code))
    if (runs_on(one, gpu)) return true;
  return false;
}

std::string how_to_get_code(Capability gpu) {
  return "configure the build with -DRNNLAB_CUDA_ARCHITECTURES=" + std::to_string(gpu.major) +
         std::to_string(gpu.minor) + "-real";
}

std::string described(std::string_view code) {
  const std::vector<CodeFor> all = parsed(code);
  const std::string real = described(all, CodeForm::kCode, "code"), ptx = described(all, CodeForm::kPtx, "PTX");
  return real + (real.empty() || ptx.empty() ? "" : ", ") + ptx;
}

}  // namespace rnnlab::kernels
