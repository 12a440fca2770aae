#include "weights/dense_layers.h"

#include "weights/keras_names.h"

namespace rnnlab {

LinearWeights take_dense(TensorTaker& taker, const std::string& path) {
  const auto sizes = taker.sizes_of(path + "/kernel", 2);
  return {taker.take(path + "/kernel", sizes).t().contiguous(), taker.take(path + "/bias", {sizes[1]})};
}

at::Tensor take_embedding(TensorTaker& taker, const std::string& path) {
  return taker.take(path + "/embeddings", taker.sizes_of(path + "/embeddings", 2));
}

void add_dense_layers(std::vector<NamedTensor>& tensors, const NetworkWeights& network) {
  if (network.embedding.defined()) tensors.push_back({"embedding/embeddings", network.embedding.contiguous()});
  for (size_t i = 0; i < network.dense.size(); ++i) {
    const std::string path = keras_layer_name("dense", i);
    tensors.push_back({path + "/kernel", network.dense[i].weight.t().contiguous()});
    tensors.push_back({path + "/bias", network.dense[i].bias.contiguous()});
  }
}

}  // namespace rnnlab
