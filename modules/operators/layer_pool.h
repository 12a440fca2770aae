// SPDX-License-Identifier: Apache-2.0
// Keeps the layers that the operators of recurrent_operators.cpp run, so that a layer's plans and buffers stay from
// call to call although the caller owns the weights. A layer's parameters share the memory of the caller's weights;
// only a layer that keeps its weights in one piece gets copies at each call. A layer whose last pass still waits for
// its backward pass is only used again for the same memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "recurrent/recurrent_layer.h"

namespace rnnlab::operators {

// Describes the layer of one call.
struct LayerRequest {
  LayerKind kind;
  RecurrentOptions options;
  at::TensorList weights;  // in the order of parameter_specs(options), on the device of the call
};

// A layer in use: as long as it exists, other calls with other weights get another layer.
using LayerInUse = std::shared_ptr<RecurrentLayer>;

// Thread-safe.
class LayerPool {
 public:
  static LayerPool& instance();

  // Returns a layer with these weights. `owner` is the caller's number, to which release() belongs. Throws UserError if
  // the kind does not support the options.
  LayerInUse take(int64_t owner, const LayerRequest& request);

  // Destroys the owner's layers that are not in use; the others are destroyed when they are not in use any more.
  void release(int64_t owner);

 private:
  struct Entry {
    std::shared_ptr<RecurrentLayer> layer;
    std::weak_ptr<RecurrentLayer> in_use;  // shares `layer`'s lifetime by an aliasing pointer
  };

  std::mutex mutex_;
  std::unordered_map<int64_t, std::vector<Entry>> entries_;
};

}  // namespace rnnlab::operators
