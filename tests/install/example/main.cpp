// SPDX-License-Identifier: Apache-2.0
// Trains one of rnnlab's layers in a program of its own: an LSTM learns to sum the numbers of a sequence.
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/rand.h>
#include <c10/core/GradMode.h>

#include <cstdio>

#include "layers/recurrent_layer.h"

int main() {
  const auto layer = rnnlab::make_layer(rnnlab::LayerKind::kHoisted, {.input_size = 1, .hidden_size = 16});
  const at::Tensor head = at::rand({16, 1}).requires_grad_();
  std::vector<at::Tensor> parameters = layer->parameters();
  parameters.push_back(head);

  float first_loss = 0, loss_value = 0;
  for (int step = 0; step < 200; ++step) {
    const at::Tensor input = at::rand({10, 32, 1});  // (T, B, I)
    const at::Tensor loss = at::mse_loss(layer->forward(input).output[-1].matmul(head), input.sum(0));
    loss.backward();
    const c10::AutoGradMode no_gradient(false);
    for (at::Tensor& parameter : parameters) {
      parameter.sub_(parameter.grad(), 0.01);
      parameter.mutable_grad().reset();
    }
    loss_value = loss.item<float>();
    if (step == 0) first_loss = loss_value;
  }
  std::printf("loss %.3f -> %.3f\n", first_loss, loss_value);
  return loss_value < first_loss / 4 ? 0 : 1;
}
