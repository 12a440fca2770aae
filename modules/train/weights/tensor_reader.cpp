// SPDX-License-Identifier: Apache-2.0
#include "train/weights/tensor_reader.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace rnnlab {
namespace {

constexpr std::array<std::pair<DType, at::ScalarType>, 10> kTypes = {{{DType::kF64, at::kDouble},
                                                                      {DType::kF32, at::kFloat},
                                                                      {DType::kF16, at::kHalf},
                                                                      {DType::kBf16, at::kBFloat16},
                                                                      {DType::kI64, at::kLong},
                                                                      {DType::kI32, at::kInt},
                                                                      {DType::kI16, at::kShort},
                                                                      {DType::kI8, at::kChar},
                                                                      {DType::kU8, at::kByte},
                                                                      {DType::kBool, at::kBool}}};

DType dtype_of(at::ScalarType type) {
  const auto found = std::ranges::find(kTypes, type, &std::pair<DType, at::ScalarType>::second);
  RNNLAB_INVARIANT(found != kTypes.end(), "safetensors files do not have this type of tensor");
  return found->first;
}

at::ScalarType scalar_type_of(DType dtype) {
  return std::ranges::find(kTypes, dtype, &std::pair<DType, at::ScalarType>::first)->second;
}

template <class To, class From>
std::vector<To> all(const std::vector<From>& from, To (*convert)(const From&)) {
  std::vector<To> to;
  std::ranges::transform(from, std::back_inserter(to), convert);
  return to;
}

}  // namespace

int64_t num_values(const std::vector<NamedTensor>& tensors) {
  int64_t count = 0;
  for (const NamedTensor& one : tensors) count += one.tensor.numel();
  return count;
}

TensorSpec spec_of(const NamedTensor& tensor) {
  return {tensor.name, dtype_of(tensor.tensor.scalar_type()), tensor.tensor.sizes().vec()};
}

std::vector<TensorSpec> specs_of(const std::vector<NamedTensor>& tensors) { return all(tensors, spec_of); }

TensorView view_of(const NamedTensor& tensor) {
  RNNLAB_INVARIANT(tensor.tensor.is_cpu() && tensor.tensor.is_contiguous(),
                   tensor.name + " is not contiguous on the CPU");
  const auto* bytes = static_cast<const std::byte*>(tensor.tensor.const_data_ptr());
  return {spec_of(tensor), {bytes, tensor.tensor.nbytes()}};
}

std::vector<TensorView> views_of(const std::vector<NamedTensor>& tensors) { return all(tensors, view_of); }

NamedTensor to_tensor(const TensorView& view) {
  at::Tensor tensor = at::empty(view.spec.shape, scalar_type_of(view.spec.dtype));
  if (!view.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  return {view.spec.name, tensor};
}

std::vector<NamedTensor> to_tensors(const std::vector<TensorView>& views) { return all(views, to_tensor); }

namespace {

std::string name_in_message(const std::string& name) { return in_quotes(name, 200); }

bool is_other_float(DType dtype) { return dtype == DType::kF64 || dtype == DType::kF16 || dtype == DType::kBf16; }

at::Tensor to_float32(const TensorView& view, const std::string& file) {
  const at::Tensor original = to_tensor(view).tensor;
  at::Tensor converted = original.to(at::kFloat);
  if (original.isfinite().equal(converted.isfinite())) return converted;
  throw_checkpoint_error("{}: tensor {} has numbers that are too large for F32", file, name_in_message(view.spec.name));
}

std::string conversion_note(const std::vector<std::string>& types, int64_t count) {
  const bool is_rounded = std::ranges::find(types, config::name_of(DType::kF64)) != types.end();
  return fmt::format("{} of {} converted to F32{}", counted(count, "tensor"), join_with_and(types),
                     is_rounded ? ", which rounds those of F64" : "");
}

}  // namespace

TensorFile with_float32(const TensorFile& file, std::vector<std::string>& notes) {
  std::vector<std::string> types;
  std::vector<NamedTensor> tensors;
  int64_t num_converted = 0;
  for (const TensorView& view : file.tensors) {
    const bool is_converted = is_other_float(view.spec.dtype);
    num_converted += is_converted ? 1 : 0;
    if (is_converted) add_once(types, std::string(config::name_of(view.spec.dtype)));
    tensors.push_back(is_converted ? NamedTensor{view.spec.name, to_float32(view, file.name)} : to_tensor(view));
  }
  if (num_converted == 0) return file;
  notes.push_back(fmt::format("{}: {}", last_name(file.name), conversion_note(types, num_converted)));
  std::string bytes;
  for (const NamedTensor& tensor : tensors)
    bytes.append(reinterpret_cast<const char*>(view_of(tensor).bytes.data()), tensor.tensor.nbytes());
  TensorFile converted{.name = file.name,
                       .tensors = {},
                       .metadata = file.metadata,
                       .bytes = std::make_shared<const std::string>(std::move(bytes))};
  size_t begin = 0;
  const auto all = std::as_bytes(std::span(*converted.bytes));
  for (const NamedTensor& tensor : tensors) {
    converted.tensors.push_back({spec_of(tensor), all.subspan(begin, tensor.tensor.nbytes())});
    begin += tensor.tensor.nbytes();
  }
  return converted;
}

TensorReader::TensorReader(const TensorFile& file) : file_(file) {
  for (const TensorView& view : file.tensors) views_.emplace(view.spec.name, &view);
}

bool TensorReader::has_under(std::string_view prefix) const {
  const auto found = views_.lower_bound(prefix);
  return found != views_.end() && found->first.starts_with(prefix);
}

const TensorView* TensorReader::find(std::string_view name) const {
  const auto found = views_.find(name);
  return found == views_.end() ? nullptr : found->second;
}

std::vector<int64_t> TensorReader::sizes_of(const std::string& name, size_t num_dimensions) const {
  const TensorView* view = find(name);
  if (view == nullptr) throw_checkpoint_error("{}: tensor {} is missing", file_.name, name_in_message(name));
  const std::vector<int64_t>& shape = view->spec.shape;
  if (shape.size() != num_dimensions || std::ranges::min(shape) < 1)
    throw_checkpoint_error("{}: tensor {} has shape {}, expected {} sizes above zero", file_.name,
                           name_in_message(name), shape_text(view->spec), num_dimensions);
  return shape;
}

at::Tensor TensorReader::take(const std::string& name, const std::vector<int64_t>& shape) {
  const TensorSpec wanted{name, DType::kF32, shape};
  const TensorView* view = find(name);
  if (view == nullptr)
    throw_checkpoint_error("{}: tensor {} is missing, expected F32 {}", file_.name, name_in_message(name),
                           shape_text(wanted));
  if (view->spec != wanted)
    throw_checkpoint_error("{}: tensor {} is {} {}, expected F32 {}", file_.name, name_in_message(name),
                           config::name_of(view->spec.dtype), shape_text(view->spec), shape_text(wanted));
  taken_.insert(name);
  return to_tensor(*view).tensor;
}

void TensorReader::require_all_taken() const {
  for (const TensorView& view : file_.tensors)
    if (!taken_.contains(view.spec.name))
      throw_checkpoint_error("{}: tensor {}, {} {}, is not part of the model", file_.name,
                             name_in_message(view.spec.name), config::name_of(view.spec.dtype), shape_text(view.spec));
}

}  // namespace rnnlab
