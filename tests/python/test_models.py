# SPDX-License-Identifier: Apache-2.0
"""The models of experiments/pytorch_models.py train to the same losses with torch.nn's layers and with rnnlab's."""

import pathlib
import sys
import tempfile
import unittest
import warnings

try:
    import torch
except ImportError as error:
    print(f"skipped, because torch cannot be imported: {error}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "experiments"))
import pytorch_model_data as data  # noqa: E402
import pytorch_models as models  # noqa: E402
from pytorch_series_models import ActorCritic  # noqa: E402
from pytorch_text_models import ConditionalRandomField  # noqa: E402

warnings.filterwarnings("ignore", message="dropout option adds dropout")

NUM_STEPS = 20


def batches_of(name, num_batches=NUM_STEPS):
    return models.batches_of(name, models.MODELS[name].sizes["tiny"], num_batches)


def losses_of(name, learning_rate):
    sizes = models.MODELS[name].sizes["tiny"]
    model = models.model_of(name, sizes, dropout=0.0)
    return models.trained(model, batches_of(name), "float32", learning_rate, "cpu")


class Check(unittest.TestCase):
    def test_passes_for_every_model(self):
        for name, model in models.MODELS.items():
            for precision in ("float32", *models.fast_precisions("cpu")):
                with self.subTest(model=name, precision=precision):
                    batches = batches_of(name, NUM_STEPS + 1)
                    row = models.check(name, model.sizes["tiny"], batches, precision, "hoisted", "cpu")
                    self.assertEqual((row["failures"], row["used"], row["num_steps"]), ([], "hoisted", NUM_STEPS), row)

    def test_every_model_names_its_paper_and_three_sizes(self):
        for name, model in models.MODELS.items():
            with self.subTest(model=name):
                self.assertRegex(model.paper, r"\d{4}, arXiv \d{4}\.\d{4,5}")
                self.assertEqual(list(model.sizes), ["full", "small", "tiny"])
                self.assertIn(f"  {name} ", models.__doc__)

    def test_finds_a_small_mistake(self):
        for name, model in models.MODELS.items():
            with self.subTest(model=name):
                learning_rate = model.sizes["tiny"].learning_rate
                wrong = losses_of(name, 1.001 * learning_rate)
                distance = models.difference(wrong, losses_of(name, learning_rate))
                self.assertGreater(distance, models.BOUNDS["float32"])


class Models(unittest.TestCase):
    def test_the_field_sums_over_all_sequences_of_tags(self):
        torch.manual_seed(1)
        field, scores = ConditionalRandomField(3), torch.randn(4, 2, 3)
        mask = torch.tensor([[1, 1], [1, 1], [1, 1], [1, 0]]).bool()
        sequences = torch.cartesian_prod(*4 * [torch.arange(3)])
        for i, length in enumerate(mask.sum(0).tolist()):
            every = sequences[: 3**4 : 3 ** (4 - length)].t()
            count = every.size(1)
            values = field.score(scores[:, [i] * count], every, mask[:, [i] * count])
            torch.testing.assert_close(field.log_of_sum(scores, mask)[i], values.logsumexp(0))
            best = field.best_tags(scores, mask)[:length, i]
            self.assertEqual(best.tolist(), every[:length, values.argmax()].tolist())

    def test_the_tags_obey_the_rule(self):
        words = torch.tensor([[20, 1, 20, 8, 20, 2, 3, 9, 8, 7]]).t()
        tags = data.tags_of(words, torch.ones_like(words).bool())
        self.assertEqual(tags.flatten().tolist(), [0, 2, 6, 6, 0, 0, 4, 8, 0, 0])

    def test_a_text_becomes_numbers_by_frequency(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("to be, or not to be\nto do")
            file.flush()
            self.assertEqual(data.words_of(file.name, 3).tolist(), [0, 1, 2, 2, 2, 0, 1, 2, 0, 2])

    def test_the_forecast_begins_where_the_known_values_end(self):
        batch = models.moved(batches_of("forecaster", 1)[0], "cpu", torch.float32)
        model = models.model_of("forecaster", models.Forecaster.sizes["tiny"], dropout=0.0)
        with torch.no_grad():
            samples = model.forecast(batch, num_samples=5)
        self.assertEqual(samples.shape, (batch[0].size(0) - model.num_known, 5, batch[0].size(1)))

    def test_returns_are_discounted_sums_of_rewards(self):
        model = models.model_of("actor_critic", ActorCritic.sizes["tiny"], dropout=0.0)
        rewards = [torch.tensor([reward]) for reward in (1.0, 0.0, 2.0)]
        returns = model.returns_of(rewards, torch.tensor([4.0]))
        self.assertEqual(returns.flatten().tolist(), [2.0, 2.0, 4.0])  # 1 + 2 / 2, 0 + 4 / 2, 2 + 4 / 2

    def test_the_dropout_of_recurrent_weights_is_the_same_in_every_step(self):
        model = models.model_of("language_model", models.LanguageModel.sizes["tiny"], dropout=0.5)
        given = model.lstm.parametrizations.weight_hh_l0.original
        with torch.nn.utils.parametrize.cached():
            first, second = model.lstm.weight_hh_l0, model.lstm.weight_hh_l0
        self.assertTrue(torch.equal(first, second))
        self.assertTrue(((first == 0) | (first == 2 * given)).all())
        self.assertFalse(torch.equal(first, model.lstm.weight_hh_l0))


if __name__ == "__main__":
    unittest.main()
