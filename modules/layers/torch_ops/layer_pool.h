// SPDX-License-Identifier: Apache-2.0
// Keeps the layers that the operators of recurrent_operators.cpp run, so that what a layer has planned for a shape
// stays from call to call. The layers have no weights: each pass brings those of its caller. A layer in use belongs to
// one pass alone, so any number of threads can run passes at once.
#pragma once

#include <c10/core/Device.h>

#include <list>
#include <memory>
#include <mutex>

#include "layers/recurrent_layer.h"

namespace rnnlab::operators {

// Describes the layer of a pass.
struct LayerRequest {
  LayerKind kind;
  RecurrentOptions options;
  c10::Device device;

  bool operator==(const LayerRequest&) const = default;
};

class LayerPool;

// A layer that one pass uses, with that pass's weights. It returns to the pool without them.
class LayerInUse {
 public:
  LayerInUse(LayerPool& pool, const LayerRequest& request, std::shared_ptr<RecurrentLayer> layer)
      : pool_(pool), request_(request), layer_(std::move(layer)) {}
  ~LayerInUse();
  LayerInUse(const LayerInUse&) = delete;
  LayerInUse& operator=(const LayerInUse&) = delete;

  RecurrentLayer* operator->() const { return layer_.get(); }

 private:
  LayerPool& pool_;
  LayerRequest request_;
  std::shared_ptr<RecurrentLayer> layer_;
};

// Thread-safe.
class LayerPool {
 public:
  static LayerPool& instance();

  // Returns a layer that no other pass uses. Throws UserError if the kind does not support the options.
  LayerInUse take(const LayerRequest& request);

  size_t num_waiting();

 private:
  friend class LayerInUse;

  struct Entry {
    LayerRequest request;
    std::shared_ptr<RecurrentLayer> layer;
  };

  std::shared_ptr<RecurrentLayer> find(const LayerRequest& request);
  void give_back(Entry entry);

  std::mutex mutex_;
  std::list<Entry> waiting_;  // the layer that was used last is first
};

}  // namespace rnnlab::operators
