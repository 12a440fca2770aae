// Holds the parameters of a layer in the form that cuDNN needs: all in one buffer, each a view of it under its usual
// name and shape. Training writes through the views, so that cuDNN gets the buffer itself and nothing is copied between
// steps.
#pragma once

#include <vector>

#include "recurrent/cudnn/rnn_descriptor.h"
#include "recurrent/recurrent_options.h"

namespace rnnlab {

class WeightSpace {
 public:
  // Moves `weights`, those of all `groups` in order, into one new buffer on their CUDA device, in their type. One call
  // of cuDNN computes a group.
  void adopt(const std::vector<RecurrentOptions>& groups, const std::vector<at::Tensor>& weights);

  // Returns whether `weights` are the views that adopt() made; false if a view has been given different memory.
  bool holds(const std::vector<at::Tensor>& weights) const;

  const at::Tensor& buffer() const { return buffer_; }                // one dimension
  at::Tensor of_group(const at::Tensor& buffer, size_t group) const;  // its part of this buffer or of a converted one
  const WeightLayout& layout(size_t group) const { return places_[group].layout; }

 private:
  struct Place {
    WeightLayout layout;
    int64_t first = 0;  // first element in the buffer
  };

  at::Tensor buffer_;
  std::vector<Place> places_;           // of the groups
  std::vector<const void*> addresses_;  // of the weights
};

// Returns views of `flat`, which has the layout `layout`, with these shapes.
std::vector<at::Tensor> views_of(const at::Tensor& flat, const WeightLayout& layout,
                                 const std::vector<std::vector<int64_t>>& shapes);

}  // namespace rnnlab
