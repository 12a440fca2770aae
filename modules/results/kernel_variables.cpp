#include "results/kernel_variables.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/text.h"

namespace rnnlab {
namespace {

constexpr std::array<std::string_view, 16> kPrefixes = {
    "OMP_",     "GOMP_", "KMP_",    "MKL_",   "ONEDNN_", "DNNL_", "ATEN_",   "TORCH_",
    "PYTORCH_", "CUDA_", "CUBLAS_", "CUDNN_", "NVIDIA_", "NCCL_", "MALLOC_", "LD_PRELOAD"};

// Which device, how many threads (compared by their effect), what images of containers say of themselves, and what no
// run on one device reads.
constexpr std::array<std::string_view, 23> kWithoutEffect = {"CUDA_VISIBLE_DEVICES",
                                                             "CUDA_DEVICE_ORDER",
                                                             "CUDA_HOME",
                                                             "CUDA_PATH",
                                                             "CUDA_ROOT",
                                                             "CUDA_VERSION",
                                                             "CUDA_CACHE_PATH",
                                                             "CUDA_CACHE_MAXSIZE",
                                                             "CUDA_CACHE_DISABLE",
                                                             "CUDNN_VERSION",
                                                             "NVIDIA_VISIBLE_DEVICES",
                                                             "NVIDIA_DRIVER_CAPABILITIES",
                                                             "NVIDIA_REQUIRE_CUDA",
                                                             "NVIDIA_PRODUCT_NAME",
                                                             "NVIDIA_CUDA_END_OF_LIFE",
                                                             "OMP_NUM_THREADS",
                                                             "MKL_NUM_THREADS",
                                                             "OMP_DISPLAY_ENV",
                                                             "TORCH_HOME",
                                                             "TORCH_CUDA_ARCH_LIST",
                                                             "PYTORCH_VERSION",
                                                             "PYTORCH_BUILD_VERSION",
                                                             "PYTORCH_BUILD_NUMBER"};

// No library's setting, though it may bear the maker's name: NVIDIA_API_KEY.
constexpr std::array<std::string_view, 5> kSecretWords = {"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"};

bool is_secret(std::string_view name) {
  return std::ranges::any_of(kSecretWords, [&](std::string_view word) { return name.find(word) != name.npos; });
}

bool is_of_a_library(std::string_view name) {
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// A list of files has one path after another, without a quote between them.
std::string without_folders_of_list(std::string_view value) {
  std::string text, word;
  const auto end_word = [&] { text += word.find('/') == std::string::npos ? word : last_name(word); };
  for (const char c : value) {
    if (c != ':' && c != ' ' && c != ',' && c != ';') {
      word += c;
      continue;
    }
    end_word();
    word.clear();
    text += c;
  }
  end_word();
  return text;
}

std::string differing(const Variables& of, const Variables& beside, bool (*counts)(std::string_view)) {
  std::set<std::string> names;
  for (const Variables* all : {&of, &beside})
    for (const auto& [name, value] : *all) names.insert(name);
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const auto own = of.find(name), other = beside.find(name);
    const bool is_equal = own != of.end() && other != beside.end() && own->second == other->second;
    if (is_equal || !counts(name)) continue;
    found.push_back(own == of.end() ? "no " + name : name + "=" + own->second);
  }
  return join(found, ", ");
}

bool has_no_effect(std::string_view name) { return !changes_kernels(name); }

}  // namespace

Variables kernel_variables() { return kernel_variables(environ); }

Variables kernel_variables(const char* const* environment) {
  Variables found;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view text = *environment;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (is_of_a_library(name) && !is_secret(name))
      found.emplace(on_one_line(name), on_one_line(without_folders_of_list(text.substr(equals + 1))));
  }
  return found;
}

bool changes_kernels(std::string_view name) {
  return !name.starts_with("NCCL_") && std::ranges::find(kWithoutEffect, name) == kWithoutEffect.end();
}

std::string differing_variables(const Variables& of, const Variables& beside) {
  return differing(of, beside, changes_kernels);
}

std::string differing_notes(const Variables& of, const Variables& beside) {
  return differing(of, beside, has_no_effect);
}

std::string variables_text(const Variables& variables) { return differing_variables(variables, {}); }

}  // namespace rnnlab
