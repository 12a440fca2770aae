#include "weights/tensor_taker.h"

#include <algorithm>

#include "base/text.h"
#include "checkpoint/failure.h"
#include "weights/tensor_bytes.h"

namespace rnnlab {
namespace {

std::string name_in_message(const std::string& name) { return in_quotes(name, 200); }

}  // namespace

TensorTaker::TensorTaker(const TensorFile& file) : file_(file) {
  for (const TensorView& view : file.tensors) views_.emplace(view.spec.name, &view);
}

bool TensorTaker::has_under(std::string_view prefix) const {
  const auto found = views_.lower_bound(prefix);
  return found != views_.end() && found->first.starts_with(prefix);
}

const TensorView* TensorTaker::find(std::string_view name) const {
  const auto found = views_.find(name);
  return found == views_.end() ? nullptr : found->second;
}

std::vector<int64_t> TensorTaker::sizes_of(const std::string& name, size_t num_dimensions) const {
  const TensorView* view = find(name);
  if (view == nullptr) refuse_checkpoint("{}: tensor {} is missing", file_.name, name_in_message(name));
  const std::vector<int64_t>& shape = view->spec.shape;
  if (shape.size() != num_dimensions || std::ranges::min(shape) < 1)
    refuse_checkpoint("{}: tensor {} has shape {}, expected {} sizes above zero", file_.name, name_in_message(name),
                      shape_text(view->spec), num_dimensions);
  return shape;
}

at::Tensor TensorTaker::take(const std::string& name, const std::vector<int64_t>& shape) {
  const TensorSpec wanted{name, DType::kF32, shape};
  const TensorView* view = find(name);
  if (view == nullptr)
    refuse_checkpoint("{}: tensor {} is missing, expected F32 {}", file_.name, name_in_message(name),
                      shape_text(wanted));
  if (view->spec != wanted)
    refuse_checkpoint("{}: tensor {} is {} {}, expected F32 {}", file_.name, name_in_message(name),
                      config::name_of(view->spec.dtype), shape_text(view->spec), shape_text(wanted));
  taken_.insert(name);
  return to_tensor(*view).tensor;
}

void TensorTaker::require_all_taken() const {
  for (const TensorView& view : file_.tensors)
    if (!taken_.contains(view.spec.name))
      refuse_checkpoint("{}: tensor {} is there, {} {}, expected none of this name", file_.name,
                        name_in_message(view.spec.name), config::name_of(view.spec.dtype), shape_text(view.spec));
}

}  // namespace rnnlab
