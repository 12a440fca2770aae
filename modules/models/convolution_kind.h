// The implementations of an image model's convolutions. They differ only in how they compute: every kind gives the same
// results, to rounding, from the same parameters. Each is the one before it with one thing more.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "config/enum_names.h"

namespace rnnlab {

enum class ConvolutionKind {
  kPlain,         // torch.nn's: channels first, and every operation by itself
  kChannelsLast,  // the channels of a pixel side by side in memory, as libraries' fastest kernels want them
  kFusedPool,     // bias, ReLU and pooling by one own kernel
  kFused,         // on a GPU also the first convolution, where a pooling follows it
};

}  // namespace rnnlab

template <>
struct rnnlab::config::EnumNames<rnnlab::ConvolutionKind> {
  static constexpr std::array<std::pair<rnnlab::ConvolutionKind, std::string_view>, 4> kNames = {{
      {rnnlab::ConvolutionKind::kPlain, "plain"},
      {rnnlab::ConvolutionKind::kChannelsLast, "channels_last"},
      {rnnlab::ConvolutionKind::kFusedPool, "fused_pool"},
      {rnnlab::ConvolutionKind::kFused, "fused"},
  }};
};
