#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains LSTMs of Darts, NeuralForecast and rnnlab on the same series, and scores their forecasts by the same code.

usage: forecast_peers.py --data FOLDER --file co2 [--sides darts,neuralforecast,rnnlab] [--seeds 5] [--folds 1]
                         [--epochs N] [--units 32] [--learning-rate 0.006] [--rnnlab build/release/rnnlab]

A line of JSON for each file, fold, seed and side goes to the output as soon as it is measured:

  valid, test      rmse, mae and mase over all series, origins and horizons of the part. Values that the file lacks are
                   filled with the ones before them as inputs, and no score counts them
  fit_seconds      from the data in memory to the trained network, with validation; rnnlab: the whole process `train`
  cpu_seconds      the processor's share of fit_seconds, which says more on a machine with other work
  train_seconds    rnnlab: those of its training steps alone, as its epochs.csv has them
  steps, best      updates of the weights, and the one whose weights were kept: the one with the least validation loss
  parameters       of the peers: numbers that were trained

Files, in FOLDER, as the packages ship them (pip download --no-deps, unzip): co2.csv and macrodata.csv of statsmodels,
seattle-temps.csv and stocks.csv of vega_datasets, taylor.py of pmdarima; and a panel, sales.csv:
  python3 experiments/make_sales.py --stores 8 --days 500 > FOLDER/sales.csv

Every side gets the same training, validation and test rows, and has the same window, horizon, batches of 32 windows,
number of steps, loss (MSE), optimizer (Adam, cosine schedule) and one LSTM layer of --units. It keeps the weights with
the least validation loss. Sides; a name without its end, such as darts, stands for all that begin with it:
  darts-rnn             RNNModel("LSTM"), which forecasts one step and reads its own forecasts; Darts' Scaler
  darts-block-series    BlockRNNModel("LSTM"), all horizons at once; Darts' Scaler
  darts-block-norm      the same with use_reversible_instance_norm, which scales each window
  neuralforecast-norm   LSTM with scaler_type="robust", its default, which scales each window; its decoder of 128 units
  neuralforecast-series the same with scaler_type="identity", and each series scaled by its training part
  rnnlab-proposed       the keys that `rnnlab data inspect` proposes for the file: target_as, scale_by
  rnnlab-value          without these keys
  rnnlab-series         with scale_by: series too, as Darts' Scaler
  rnnlab-decoder        rnnlab-series with model.decoder, which reads what is known of a row at the step of its horizon
  rnnlab-decoder-window the same with calendar_ahead: false: no step of the decoder reads the phases of its row
  rnnlab-norm           with scale_by: window instead, as the two sides that scale each window
  rnnlab-furthest       without target_as, with scale_by: series and the longest horizon alone. A row has one forecast,
                        that of the window which ends so many rows before it; shorter horizons have it, too
  last, season          no model: the last value, and the one a season before
Covariates are the same numbers for all: holidays and prices known in advance, and the phases of day, week and year,
which rnnlab makes by data.calendar and the others read as future covariates.

Darts 0.48.1 and NeuralForecast 3.3.0, PyTorch 2.11.0: pip install darts neuralforecast torch. One thread for each side.
"""
import argparse
import copy
import csv
import dataclasses
import json
import logging
import os
import pathlib
import re
import resource
import subprocess
import tempfile
import time
import warnings

import numpy
import pandas

BATCH = 32


@dataclasses.dataclass
class Task:
    """A file, what is forecast of it, and with which settings."""
    frame: pandas.DataFrame  # series, time, y, observed and the columns of `known`, by series and time
    frequency: str           # of pandas
    window: int
    horizon: int
    season: int              # rows; 1 means no season
    epochs: int
    keys: dict               # of rnnlab: what `data inspect` proposes
    known: tuple = ()
    calendar: tuple = ()
    units: int = 32
    learning_rate: float = 6e-3
    valid_rows: int = 0      # of each series
    test_rows: int = 0

    def series(self):
        return [(name, part.reset_index(drop=True)) for name, part in self.frame.groupby("series", sort=True)]

    def covariates(self):
        return [*self.known, *(f"{phase}_{wave}" for phase in self.calendar for wave in ("sin", "cos"))]

    def train_windows(self):
        rows = [len(part) - self.valid_rows - self.test_rows for _, part in self.series()]
        return sum(count - self.window - self.horizon + 1 for count in rows)

    def steps_per_epoch(self):
        return -(-self.train_windows() // BATCH)


# The files.

def as_series(y, times, name="all", **known):
    """Returns the rows of one series."""
    y = pandas.Series(y, dtype="float64")
    return pandas.DataFrame({"series": name, "time": times, "y": y.ffill(), "observed": y.notna(), **known})


def read_co2(folder):
    table = pandas.read_csv(folder / "co2.csv")
    frame = as_series(table.co2, pandas.to_datetime(table.date.astype(str)))
    return Task(frame, "W-SAT", 52, 12, 52, 30, {"target_as": "change"}, calendar=("month",))


def read_taylor(folder):
    array = re.search(r"np\.array\(\[(.*?)\]\)", (folder / "taylor.py").read_text(), re.DOTALL).group(1)
    y = [float(word) for word in array.split(",")]
    frame = as_series(y, pandas.date_range("2000-06-05", periods=len(y), freq="30min"))
    return Task(frame, "30min", 336, 48, 336, 15, {"target_as": "seasonal_change"}, calendar=("hour", "weekday"))


def read_temps(folder):
    table = pandas.read_csv(folder / "seattle-temps.csv", parse_dates=["date"])
    y = table.set_index("date").temp.asfreq("h")  # with the hour at which clocks change
    frame = as_series(y.to_numpy(), y.index)
    return Task(frame, "h", 48, 24, 24, 8, {"target_as": "seasonal_change"}, calendar=("hour", "month"))


def read_stocks(folder):
    table = pandas.read_csv(folder / "stocks.csv")
    parts = [as_series(part.price.to_numpy(), pandas.to_datetime(part.date.to_numpy()), name)
             for name, part in table.groupby("symbol")]
    return Task(pandas.concat(parts), "MS", 12, 1, 1, 40, {"target_as": "change", "scale_by": "series"})


def read_gdp(folder):
    table = pandas.read_csv(folder / "macrodata.csv")
    frame = as_series(table.realgdp, pandas.date_range("1959-01-01", periods=len(table), freq="QS"))
    return Task(frame, "QS", 8, 4, 4, 60, {"target_as": "change"})


def read_sales(folder):
    table = pandas.read_csv(folder / "sales.csv", parse_dates=["day"]).dropna(subset="sales")
    parts = [as_series(part.sales.to_numpy(), part.day.to_numpy(), name, holiday=part.holiday.to_numpy(),
                       price=part.price.to_numpy()) for name, part in table.groupby("store")]
    return Task(pandas.concat(parts), "D", 28, 7, 7, 20, {}, known=("holiday", "price"), calendar=("weekday", "month"))


FILES = {"co2": read_co2, "taylor": read_taylor, "sales": read_sales, "temps": read_temps, "stocks": read_stocks,
         "gdp": read_gdp}


def phases(times, name):
    """Returns where each time is in its day, week or year, from 0 to 1."""
    hour = times.dt.hour + times.dt.minute / 60
    if name == "hour":
        return hour / 24
    if name == "weekday":
        return (times.dt.dayofweek + hour / 24) / 7
    return (times.dt.dayofyear - 1 + hour / 24) / 366


def read_task(arguments, fold):
    """Returns the file with the rows until the end of the fold. The test parts of all folds are its last fifth."""
    task = FILES[arguments.file](arguments.data)
    shortest = min(len(part) for _, part in task.series())
    rows = int(0.2 * shortest / arguments.folds)
    left_out = (arguments.folds - fold) * rows
    task.frame = pandas.concat([part.iloc[:len(part) - left_out] for _, part in task.series()], ignore_index=True)
    task.valid_rows = task.test_rows = rows
    for phase in task.calendar:
        angle = 2 * numpy.pi * phases(task.frame.time, phase)
        task.frame[f"{phase}_sin"], task.frame[f"{phase}_cos"] = numpy.sin(angle), numpy.cos(angle)
    for setting in ("epochs", "units", "learning_rate"):
        if getattr(arguments, setting):
            setattr(task, setting, getattr(arguments, setting))
    return task


# The scores: a forecast has the columns series, row (its position in the series), horizon and prediction.

def part_rows(task, part, length):
    """Returns the first row of a part of a series, and the row after its last one."""
    end = length - task.test_rows
    return (end - task.valid_rows, end) if part == "valid" else (end, length)


def score(task, part, forecast):
    """Returns RMSE, MAE and MASE over all origins and horizons of a part; refuses a forecast that lacks one."""
    forecast = forecast.set_index(["series", "row", "horizon"]).prediction
    errors, scaled = [], []
    for name, rows in task.series():
        first, end = part_rows(task, part, len(rows))
        origins = numpy.arange(first, end - task.horizon + 1)
        targets = origins[:, None] + numpy.arange(task.horizon)
        keys = [(name, row, row - origin + 1) for origin, line in zip(origins, targets) for row in line]
        predictions = forecast.loc[keys].to_numpy(dtype=float)
        observed = rows.observed.to_numpy()[targets.ravel()]
        error = (predictions - rows.y.to_numpy()[targets.ravel()])[observed]
        training = rows.y.to_numpy()[:len(rows) - task.valid_rows - task.test_rows]
        errors.append(error)
        scaled.append(numpy.abs(error) / numpy.abs(training[task.season:] - training[:-task.season]).mean())
    assert len(forecast) == sum(part_origins(task, part)) * task.horizon, "the forecast has other rows than the part"
    error = numpy.concatenate(errors)
    assert numpy.isfinite(error).all(), "the forecast is not finite"
    return {"rmse": float(numpy.sqrt((error ** 2).mean())), "mae": float(numpy.abs(error).mean()),
            "mase": float(numpy.concatenate(scaled).mean())}


def part_origins(task, part):
    """Returns the number of origins of a part in each series."""
    rows = task.valid_rows if part == "valid" else task.test_rows
    return [rows - task.horizon + 1 for _ in task.series()]


# The sides: each has fit() and forecast(part), and reports steps, best and parameters.

class Naive:
    """The value some rows before, or the latest one that is a whole number of seasons before."""

    def __init__(self, task, season):
        self.task, self.season = task, season

    def fit(self):
        return {}

    def forecast(self, part):
        lines = []
        for name, rows in self.task.series():
            y, (first, end) = rows.y.to_numpy(), part_rows(self.task, part, len(rows))
            for origin in range(first, end - self.task.horizon + 1):
                for step in range(self.task.horizon):
                    back = self.season * (step // self.season + 1)
                    lines.append((name, origin + step, step + 1, y[origin + step - back]))
        return pandas.DataFrame(lines, columns=["series", "row", "horizon", "prediction"])


def keeper(monitor):
    """Returns a callback of Lightning that restores, after training, the weights with the least validation loss."""
    import pytorch_lightning

    class Keeper(pytorch_lightning.Callback):
        best_loss, best_step, weights = float("inf"), 0, None

        def on_validation_end(self, trainer, module):
            loss = float(trainer.callback_metrics.get(monitor, float("inf")))
            if not trainer.sanity_checking and loss < self.best_loss:
                self.best_loss, self.best_step = loss, trainer.global_step
                self.weights = copy.deepcopy(module.state_dict())

        def on_train_end(self, trainer, module):
            self.last_step = trainer.global_step
            module.load_state_dict(self.weights)

    return Keeper()


def quiet_trainer(callback):
    return {"accelerator": "cpu", "enable_progress_bar": False, "enable_model_summary": False, "logger": False,
            "enable_checkpointing": False, "callbacks": [callback]}


def count_of(module):
    return sum(parameter.numel() for parameter in module.parameters())


class Darts:
    def __init__(self, task, seed, recurrent=False, norm=False):
        import torch
        from darts.models import BlockRNNModel, RNNModel

        self.task = task
        self.keeper = keeper("val_loss")
        settings = dict(
            input_chunk_length=task.window, model="LSTM", hidden_dim=task.units, n_rnn_layers=1, batch_size=BATCH,
            n_epochs=task.epochs, random_state=seed, optimizer_kwargs={"lr": task.learning_rate},
            lr_scheduler_cls=torch.optim.lr_scheduler.CosineAnnealingLR,
            lr_scheduler_kwargs={"T_max": task.epochs * task.steps_per_epoch(), "interval": "step"},
            pl_trainer_kwargs=quiet_trainer(self.keeper))
        if recurrent:
            self.model = RNNModel(training_length=task.window + task.horizon - 1, **settings)
        else:
            self.model = BlockRNNModel(output_chunk_length=task.horizon, use_reversible_instance_norm=norm, **settings)

    def fit(self):
        from darts import TimeSeries
        from darts.dataprocessing.transformers import Scaler

        task = self.task
        rows = [part.set_index("time") for _, part in task.series()]
        whole = [TimeSeries.from_dataframe(part[["y"]].astype("float32"), freq=task.frequency) for part in rows]
        held = task.valid_rows + task.test_rows
        self.scaler = Scaler().fit([series[:-held] for series in whole])
        self.whole = self.scaler.transform(whole)
        self.covariates = None
        if task.covariates():
            values = [TimeSeries.from_dataframe(part[task.covariates()].astype("float32"), freq=task.frequency)
                      for part in rows]
            self.covariates = Scaler().fit([series[:-held] for series in values]).transform(values)
        self.model.fit(
            [series[:-held] for series in self.whole], future_covariates=self.covariates,
            val_series=[series[-held - task.window:-task.test_rows] for series in self.whole],
            val_future_covariates=self.covariates)
        return {"steps": self.keeper.last_step, "best": self.keeper.best_step, "parameters": count_of(self.model.model)}

    def forecast(self, part):
        task, pieces, places = self.task, [], []
        for index, series in enumerate(self.whole):
            first, end = part_rows(task, part, len(series))
            for origin in range(first, end - task.horizon + 1):
                pieces.append(series[origin - task.window:origin])
                places.append((index, origin))
        covariates = [self.covariates[index] for index, _ in places] if self.covariates else None
        forecasts = self.model.predict(task.horizon, series=pieces, future_covariates=covariates, batch_size=1024,
                                       verbose=False)
        names, lines = [name for name, _ in task.series()], []
        for index, name in enumerate(names):
            mine = [(origin, forecast) for (place, origin), forecast in zip(places, forecasts) if place == index]
            values = self.scaler.inverse_transform([[forecast for _, forecast in mine]], series_idx=[index])[0]
            for (origin, _), forecast in zip(mine, values):
                lines += [(name, origin + step, step + 1, value)
                          for step, value in enumerate(forecast.values(copy=False)[:, 0])]
        return pandas.DataFrame(lines, columns=["series", "row", "horizon", "prediction"])


class NeuralForecast:
    def __init__(self, task, seed, by_series=False):
        import torch
        from neuralforecast import NeuralForecast as Forecasts
        from neuralforecast.losses.pytorch import MSE
        from neuralforecast.models import LSTM

        self.task, self.by_series = task, by_series
        self.keeper = keeper("valid_loss")
        steps = task.epochs * task.steps_per_epoch()
        model = LSTM(
            h=task.horizon, input_size=task.window, encoder_n_layers=1, encoder_hidden_size=task.units, loss=MSE(),
            max_steps=steps, learning_rate=task.learning_rate, val_check_steps=task.steps_per_epoch(),
            batch_size=len(task.series()), windows_batch_size=BATCH, random_seed=seed,
            futr_exog_list=task.covariates() or None, scaler_type="identity" if by_series else "robust",
            lr_scheduler=torch.optim.lr_scheduler.CosineAnnealingLR, lr_scheduler_kwargs={"T_max": steps},
            alias="forecast", **quiet_trainer(self.keeper))
        self.forecasts = Forecasts(models=[model], freq=task.frequency)

    def fit(self):
        task = self.task
        self.scales = {}
        parts = []
        for name, rows in task.series():
            training = rows.y[:len(rows) - task.valid_rows - task.test_rows]
            self.scales[name] = (training.mean(), training.std()) if self.by_series else (0, 1)
            mean, deviation = self.scales[name]
            parts.append(pandas.DataFrame({"unique_id": name, "ds": rows.time, "y": (rows.y - mean) / deviation}
                                          | {column: rows[column] for column in task.covariates()}))
        self.parts = parts
        self.forecasts.fit(pandas.concat(part[:len(part) - task.test_rows] for part in parts), val_size=task.valid_rows)
        model = self.forecasts.models[0]
        callback = next(item for item in model.trainer_kwargs["callbacks"] if hasattr(item, "weights"))
        return {"steps": callback.last_step, "best": callback.best_step, "parameters": count_of(model)}

    def forecast(self, part):
        task = self.task
        rows = task.valid_rows if part == "valid" else task.test_rows
        until = [table[:part_rows(task, part, len(table))[1]] for table in self.parts]
        table = self.forecasts.cross_validation(pandas.concat(until), n_windows=None, val_size=0, test_size=rows,
                                                step_size=1, use_fitted=True)
        lines = []
        for name, series in task.series():
            places = pandas.Series(series.index, index=series.time)
            mine = table[table.unique_id == name]
            row, before = places.loc[mine.ds].to_numpy(), places.loc[mine.cutoff].to_numpy()
            mean, deviation = self.scales[name]
            lines.append(pandas.DataFrame({"series": name, "row": row, "horizon": row - before,
                                           "prediction": mine.forecast.to_numpy() * deviation + mean}))
        return pandas.concat(lines)


class Rnnlab:
    def __init__(self, task, seed, program, keys, furthest=False, model=None):
        self.task, self.program, self.furthest = task, program, furthest
        self.folder = tempfile.TemporaryDirectory()
        columns = ["series", "time", "y", *task.known]
        table = task.frame[columns].copy()
        table["time"] = table.time.dt.strftime("%Y-%m-%dT%H:%M:%S")
        table.to_csv(pathlib.Path(self.folder.name) / "series.csv", index=False)
        horizons = [task.horizon] if furthest else list(range(1, task.horizon + 1))
        data = {"source": "csv", "path": "series.csv", "time": "time", "group": "series", "id": ["series", "time"],
                "features": ["y"], "target": ["y"], "window": task.window, "horizon": horizons,
                "num_valid": task.valid_rows - len(horizons) + 1, "num_test": task.test_rows - len(horizons) + 1,
                **keys}
        if task.season > 1:
            data["season"] = task.season
        if task.known:
            data["known"] = list(task.known)
        if task.calendar:
            data["calendar"] = list(task.calendar)
        experiment = {
            "name": "forecast", "device": "cpu", "layer": "auto", "seed": seed, "data": data,
            "model": {"kind": "sequence_regressor", "cell": "lstm", "hidden_size": task.units} | (model or {}),
            "training": {"epochs": task.epochs, "batch_size": BATCH, "learning_rate": task.learning_rate,
                         "schedule": "cosine", "num_threads": 1}}
        (pathlib.Path(self.folder.name) / "forecast.yaml").write_text(json.dumps(experiment))

    def call(self, *words):
        done = subprocess.run([self.program, *words], cwd=self.folder.name, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"rnnlab {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")

    def fit(self):
        self.call("train", "forecast.yaml")
        run = next(pathlib.Path(self.folder.name).glob("runs/forecast/*/summary.json")).parent
        with open(run / "epochs.csv", newline="") as file:
            epochs = list(csv.DictReader(file))
        best = min(epochs, key=lambda line: float(line["valid_loss"]))
        steps = self.task.steps_per_epoch()
        return {"steps": len(epochs) * steps, "best": int(best["epoch"]) * steps,
                "train_seconds": sum(float(line["train_seconds"]) for line in epochs)}

    def forecast(self, part):
        self.call("predict", "forecast", "--part", part, "--long", "--out", "forecast.csv")
        table = pandas.read_csv(pathlib.Path(self.folder.name) / "forecast.csv", parse_dates=["time"])
        places = self.task.frame.assign(row=self.task.frame.groupby("series").cumcount())[["series", "time", "row"]]
        table = table.drop(columns="row").merge(places, on=["series", "time"])
        if self.furthest:
            table = self.at_each_horizon(table, part)
        return table[["series", "row", "horizon", "prediction"]]

    def at_each_horizon(self, table, part):
        """Returns the forecasts of the furthest horizon as those of the origins for which the part has all horizons."""
        lengths = {name: len(rows) for name, rows in self.task.series()}
        copies = pandas.concat(table.assign(horizon=horizon) for horizon in range(1, self.task.horizon + 1))
        origin = copies.row - copies.horizon + 1
        bounds = copies.series.map(lambda name: part_rows(self.task, part, lengths[name]))
        return copies[(origin >= bounds.str[0]) & (origin <= bounds.str[1] - self.task.horizon)]


def sides_of(program):
    """Returns for each side what makes it of a task and a seed."""
    return {
        "last": lambda task, seed: Naive(task, 1),
        "season": lambda task, seed: Naive(task, task.season),
        "darts-rnn": lambda task, seed: Darts(task, seed, recurrent=True),
        "darts-block-series": lambda task, seed: Darts(task, seed),
        "darts-block-norm": lambda task, seed: Darts(task, seed, norm=True),
        "neuralforecast-norm": lambda task, seed: NeuralForecast(task, seed),
        "neuralforecast-series": lambda task, seed: NeuralForecast(task, seed, by_series=True),
        "rnnlab-proposed": lambda task, seed: Rnnlab(task, seed, program, task.keys),
        "rnnlab-value": lambda task, seed: Rnnlab(task, seed, program, {}),
        "rnnlab-series": lambda task, seed: Rnnlab(task, seed, program, task.keys | {"scale_by": "series"}),
        "rnnlab-decoder": lambda task, seed: Rnnlab(task, seed, program, task.keys | {"scale_by": "series"},
                                                     model={"decoder": True}),
        "rnnlab-decoder-window": lambda task, seed: Rnnlab(
            task, seed, program, task.keys | {"scale_by": "series", "calendar_ahead": False}, model={"decoder": True}),
        "rnnlab-furthest": lambda task, seed: Rnnlab(task, seed, program, {"scale_by": "series"}, furthest=True),
        "rnnlab-norm": lambda task, seed: Rnnlab(task, seed, program, task.keys | {"scale_by": "window"}),
    }


def processor_seconds():
    """Returns the seconds of processors that this process and those it has waited for have used."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF,
                                                                                  resource.RUSAGE_CHILDREN)))


def measure(make, task, seed):
    """Returns the scores of one side, and its times."""
    side = make(task, seed)
    began, worked = time.perf_counter(), processor_seconds()
    found = side.fit()
    found |= {"fit_seconds": time.perf_counter() - began, "cpu_seconds": processor_seconds() - worked}
    for part in ("valid", "test"):
        found[part] = score(task, part, side.forecast(part))
    return found


def seeds_of(text):
    first, _, last = text.rpartition("-")
    return range(int(first or 1), int(last) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of the files")
    parser.add_argument("--file", choices=FILES, required=True)
    parser.add_argument("--sides", default="last,season,darts,neuralforecast,rnnlab", help="by default all")
    parser.add_argument("--seeds", type=seeds_of, default="5", help="5 for 1 to 5, which is the default, or 2-5")
    parser.add_argument("--folds", type=int, default=1, help="test parts, one after the other, in the last fifth (1)")
    parser.add_argument("--epochs", type=int, help="by default what fits the file")
    parser.add_argument("--units", type=int, help="of the LSTM layer (32)")
    parser.add_argument("--learning-rate", type=float, help="at the start of the schedule (0.006)")
    parser.add_argument("--rnnlab", default="build/release/rnnlab", help="the program (build/release/rnnlab)")
    arguments = parser.parse_args()

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    sides = sides_of(os.path.abspath(arguments.rnnlab))
    words = arguments.sides.split(",")
    wanted = [name for name in sides if any(name == word or name.startswith(f"{word}-") for word in words)]
    if any(name.startswith(("darts", "neuralforecast")) for name in wanted):
        import torch

        torch.set_num_threads(1)
    for fold in range(1, arguments.folds + 1):
        task = read_task(arguments, fold)
        for seed in arguments.seeds:
            for name in wanted:
                if name in ("last", "season") and seed != arguments.seeds[0]:
                    continue
                line = {"file": arguments.file, "fold": fold, "seed": seed, "side": name}
                print(json.dumps(line | measure(sides[name], task, seed)), flush=True)


if __name__ == "__main__":
    main()
