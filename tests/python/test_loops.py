# SPDX-License-Identifier: Apache-2.0
"""Training loops of Lightning, Accelerate and Transformers with rnnlab's layers, for each that is installed."""

import importlib.util
import os
import sys
import tempfile
import unittest
import warnings

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)
from torch.utils.data import DataLoader, TensorDataset

import rnnlab

if not any(importlib.util.find_spec(package) for package in ("lightning", "accelerate")):
    print("skipped, because these Python packages are missing: lightning, accelerate, transformers")
    sys.exit(77)
INPUTS = torch.randn(64, 5, 3, generator=torch.Generator().manual_seed(1))
LABELS = (INPUTS.sum((1, 2)) > 0).long()
LAYERS = {
    "LSTM": lambda: rnnlab.LSTM(3, 8, batch_first=True),
    "Recurrent": lambda: rnnlab.Recurrent("gru", 3, 8, batch_first=True, implementation="hoisted"),
    "SLSTM": lambda: rnnlab.SLSTM(3, 8, batch_first=True),
}


class Classifier(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer, self.head = layer, torch.nn.Linear(8, 2)

    def forward(self, x, labels):
        logits = self.head(self.layer(x)[0][:, -1])
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def batches():
    return DataLoader(TensorDataset(INPUTS, LABELS), batch_size=16)


def is_installed(package):
    return unittest.skipUnless(importlib.util.find_spec(package), f"{package} is missing")


class Loops(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.simplefilter("ignore")

    def each_layer(self):
        for name, make in LAYERS.items():
            with self.subTest(layer=name):
                model = Classifier(make())
                before = {key: value.clone() for key, value in model.state_dict().items()}
                yield model
                changed = [not torch.equal(value, before[key]) for key, value in model.state_dict().items()]
                self.assertTrue(all(changed))

    @is_installed("lightning")
    def test_lightning(self):
        import lightning

        class Module(lightning.LightningModule):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def training_step(self, batch, _):
                return self.model(*batch)["loss"]

            def configure_optimizers(self):
                return torch.optim.Adam(self.parameters(), 0.01)

        for model in self.each_layer():
            for precision in ("32-true", "bf16-mixed"):
                trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False,
                                            enable_model_summary=False, enable_checkpointing=False, precision=precision,
                                            gradient_clip_val=1.0, accumulate_grad_batches=2)
                trainer.fit(Module(model), batches())

    @is_installed("accelerate")
    def test_accelerate(self):
        from accelerate import Accelerator
        from accelerate.state import AcceleratorState

        for model in self.each_layer():
            for precision in ("no", "bf16"):
                self.addCleanup(AcceleratorState._reset_state, True)
                accelerator = Accelerator(cpu=True, mixed_precision=precision)
                optimizer = torch.optim.Adam(model.parameters(), 0.01)
                prepared, optimizer, loader = accelerator.prepare(model, optimizer, batches())
                for x, labels in loader:
                    with accelerator.accumulate(prepared):
                        accelerator.backward(prepared(x, labels)["loss"])
                        accelerator.clip_grad_norm_(prepared.parameters(), 1.0)
                        optimizer.step()
                        optimizer.zero_grad()
                accelerator.save_state("state")
                accelerator.load_state("state")
                AcceleratorState._reset_state(True)

    @is_installed("transformers")
    @is_installed("accelerate")
    def test_transformers(self):
        from transformers import Trainer, TrainingArguments

        data = [{"x": x, "labels": label} for x, label in zip(INPUTS, LABELS)]
        for model in self.each_layer():
            arguments = TrainingArguments("trainer", num_train_epochs=1, per_device_train_batch_size=16, report_to=[],
                                          use_cpu=True, save_strategy="epoch", disable_tqdm=True, learning_rate=0.01)
            trainer = Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=data)
            trainer.train()
            self.assertIn("eval_loss", trainer.evaluate())
            trainer.save_model("model")


if __name__ == "__main__":
    unittest.main()
