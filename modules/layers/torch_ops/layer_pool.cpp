// SPDX-License-Identifier: Apache-2.0
#include "layers/torch_ops/layer_pool.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>

namespace rnnlab::operators {
namespace {

// Enough for the layers of a model in several sizes and threads. One more costs only the plans of the oldest.
constexpr size_t kMostWaiting = 256;

}  // namespace

LayerInUse::~LayerInUse() {
  layer_->use_weights({});
  pool_.give_back({request_, std::move(layer_)});
}

LayerPool& LayerPool::instance() {
  static LayerPool* const pool = new LayerPool;  // never destroyed, because a thread may still run a pass at exit
  return *pool;
}

LayerInUse LayerPool::take(const LayerRequest& request) {
  if (auto layer = find(request)) return {*this, request, std::move(layer)};
  // A tensor made in inference mode could not take part in a later pass that is recorded.
  const c10::InferenceMode off(false);
  return {*this, request, make_layer_without_weights(request.kind, request.options)};
}

std::shared_ptr<RecurrentLayer> LayerPool::find(const LayerRequest& request) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(waiting_, request, &Entry::request);
  if (found == waiting_.end()) return nullptr;
  auto layer = std::move(found->layer);
  waiting_.erase(found);
  return layer;
}

void LayerPool::give_back(Entry entry) {
  std::list<Entry> too_many;  // destroyed without the lock
  const std::scoped_lock lock(mutex_);
  waiting_.push_front(std::move(entry));
  if (waiting_.size() > kMostWaiting) too_many.splice(too_many.end(), waiting_, std::prev(waiting_.end()));
}

size_t LayerPool::num_waiting() {
  const std::scoped_lock lock(mutex_);
  return waiting_.size();
}

}  // namespace rnnlab::operators
