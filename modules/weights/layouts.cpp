#include "weights/layouts.h"

#include "weights/keras_layout.h"
#include "weights/keras_names.h"
#include "weights/pytorch_layout.h"
#include "weights/tensorflow_layout.h"

namespace rnnlab {

std::optional<Layout> layout_of(const TensorFile& file) {
  if (is_pytorch_layout(file)) return Layout::kPyTorch;
  if (is_keras_layout(file)) return Layout::kKeras;
  if (is_tensorflow_layout(file)) return Layout::kTensorFlow;
  return std::nullopt;
}

NetworkWeights read_network(const TensorFile& file, Layout layout) {
  switch (layout) {
    case Layout::kPyTorch:
      return read_pytorch_layout(file);
    case Layout::kKeras:
      return read_keras_layout(file);
    case Layout::kTensorFlow:
      return read_tensorflow_layout(file);
  }
  fail_invariant("a listed layout", __FILE__, __LINE__, "read_network does not know it");
}

std::vector<NamedTensor> laid_out(const NetworkWeights& network, Layout layout) {
  switch (layout) {
    case Layout::kPyTorch:
      return pytorch_layout(network);
    case Layout::kKeras:
      return keras_layout(network);
    case Layout::kTensorFlow:
      return tensorflow_layout(network);
  }
  fail_invariant("a listed layout", __FILE__, __LINE__, "laid_out does not know it");
}

}  // namespace rnnlab
