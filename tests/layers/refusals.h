// SPDX-License-Identifier: Apache-2.0
// Return why a layer does not support some work, as text to compare; nothing if it supports the work.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "layers/device/gpu_support.h"
#include "layers/kernels/own_code.h"

namespace rnnlab {

inline std::optional<std::string> refusal_of(LayerKind kind, const LayerWork& work) {
  const auto refusal = why_unsupported(kind, work);
  return refusal ? std::optional(refusal->message) : std::nullopt;
}

inline std::optional<std::string> refusal_of(LayerKind kind, const RecurrentOptions& options) {
  return refusal_of(kind, LayerWork{.options = options});
}

inline std::optional<std::string> refusal_of(LayerKind kind, Processor processor) {
  return refusal_of(kind, LayerWork{.processor = processor});
}

inline std::optional<std::string> refusal_of(LayerKind kind, const Gpu& gpu) {
  return refusal_of(kind, LayerWork{.gpu = gpu});
}

// Replaces the GPUs that this build has code for, which differ between builds.
inline std::string of_any_build(std::string text) {
  const std::string code = kernels::described(kernels::own_code());
  const size_t place = text.find(code);
  return place == std::string::npos ? text : text.replace(place, code.size(), "WHAT IT HAS");
}

// Returns the message of the user's error that an action throws; "" if it throws none.
inline std::string user_error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace rnnlab
