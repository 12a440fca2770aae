// The ways in which libraries name and lay out the same weights.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "config/enum_names.h"

namespace rnnlab {

// kPyTorch: rnnlab's own, torch.nn's names. kKeras: Keras 3's paths of variables. kTensorFlow: the cells that
// TensorFlow 1's cuDNN layers save themselves as.
enum class Layout { kPyTorch, kKeras, kTensorFlow };

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::Layout> {
  static constexpr std::array<std::pair<rnnlab::Layout, std::string_view>, 3> kNames = {{
      {rnnlab::Layout::kPyTorch, "pytorch"},
      {rnnlab::Layout::kKeras, "keras"},
      {rnnlab::Layout::kTensorFlow, "tensorflow"},
  }};
};
