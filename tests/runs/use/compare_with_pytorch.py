# SPDX-License-Identifier: Apache-2.0
"""Computes an exported regressor with torch.nn's own layer, and leaves one that PyTorch drew for the way back.

FOLDER holds recurrent.safetensors and model.safetensors, as `rnnlab convert` writes them, and data.safetensors: inputs
(N, T, F) and the outputs (N, 1) of rnnlab. Leaves from_pytorch.safetensors and outputs_of_pytorch.safetensors.
"""
import sys

import torch
from safetensors.torch import load_file, save_file

MODULES = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn_tanh": torch.nn.RNN}
TOLERANCE = 3e-6  # float32, over 8 steps and two layers


def outputs_of(module, head, inputs):
    """Of both directions' last states, as pooling `last` takes them."""
    _, state = module(inputs.transpose(0, 1))
    hidden = state[0] if isinstance(state, tuple) else state
    return head(torch.cat([hidden[-2], hidden[-1]], -1))


def main(folder, cell):
    data = load_file(f"{folder}/data.safetensors")
    recurrent = load_file(f"{folder}/recurrent.safetensors")
    hidden_size = recurrent["weight_hh_l0"].shape[1]
    input_size = recurrent["weight_ih_l0"].shape[1]
    torch.manual_seed(3)
    module = MODULES[cell](input_size, hidden_size, num_layers=2, bidirectional=True)
    head = torch.nn.Linear(2 * hidden_size, 1)
    with torch.no_grad():
        drawn = {f"recurrent.{name}": tensor.clone() for name, tensor in module.state_dict().items()}
        drawn |= {f"output.{name}": tensor.clone() for name, tensor in head.state_dict().items()}
        save_file(drawn, f"{folder}/from_pytorch.safetensors")
        save_file({"outputs": outputs_of(module, head, data["inputs"])}, f"{folder}/outputs_of_pytorch.safetensors")

        module.load_state_dict(recurrent)
        model = load_file(f"{folder}/model.safetensors")
        head.load_state_dict({name: model[f"output.{name}"] for name in ("weight", "bias")})
        error = (outputs_of(module, head, data["inputs"]) - data["outputs"]).abs().max().item()
    assert error < TOLERANCE, f"{cell}: PyTorch differs by {error}"


main(sys.argv[1], sys.argv[2])
