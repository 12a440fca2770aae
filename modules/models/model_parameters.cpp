#include "models/model_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/numbers.h"
#include "base/sha256.h"

namespace rnnlab {
namespace {

std::string shape_of(const at::Tensor& tensor) { return fmt::format("({})", fmt::join(tensor.sizes(), ", ")); }

int64_t bytes_of(const Model& model) {
  int64_t bytes = 0;
  for (const auto& parameter : model.parameters()) bytes += static_cast<int64_t>(parameter.nbytes());
  return bytes;
}

}  // namespace

std::string weights_sha256(const Model& model) {
  std::map<std::string, at::Tensor> by_name;
  for (const auto& parameter : model.named_parameters()) by_name.emplace(parameter.key(), parameter.value());
  Sha256 digest;
  for (const auto& [name, tensor] : by_name) {
    const auto values = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
    digest.update(fmt::format("{} {}\n", name, shape_of(tensor)));
    digest.update(std::as_bytes(std::span(values.const_data_ptr<float>(), static_cast<size_t>(values.numel()))));
  }
  return digest.hex();
}

std::string parameter_table(const Model& model) {
  const auto parameters = model.named_parameters();
  size_t name_width = std::string_view("total").size();
  size_t shape_width = std::string_view("shape").size();
  for (const auto& parameter : parameters) {
    name_width = std::max(name_width, parameter.key().size());
    shape_width = std::max(shape_width, shape_of(parameter.value()).size());
  }
  const auto line = [&](const std::string& name, const std::string& shape, const std::string& count) {
    return fmt::format("{:<{}}  {:<{}}  {:>12}\n", name, name_width, shape, shape_width, count);
  };
  std::string table = line("name", "shape", "parameters");
  for (const auto& parameter : parameters) {
    table += line(parameter.key(), shape_of(parameter.value()), format_count(parameter.value().numel()));
  }
  table += line("total", "", format_count(num_parameters(model)));
  table.pop_back();
  return table + fmt::format("  ({})\n", format_bytes(bytes_of(model)));
}

int64_t num_parameters(const Model& model) {
  int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  return count;
}

}  // namespace rnnlab
