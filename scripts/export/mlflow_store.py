# SPDX-License-Identifier: Apache-2.0
"""Writes runs to MLflow, by its client alone: that adds no user, host or script of its own accord."""

import os
from importlib.util import find_spec

from export.common import EXIT_ENVIRONMENT, INSTALL, ExportError, need

MOST_PARAMS, MOST_METRICS, MOST_TAGS = 100, 1000, 100  # that MLflow takes at once
STATUS = {"complete": "FINISHED", "interrupted": "KILLED", "diverged": "FAILED"}
ENVIRONMENT = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
               "GIT_PYTHON_REFRESH": "quiet", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true"}
ID, DONE = "rnnlab.id", "rnnlab.export"


def milliseconds(seconds):
    return int(round(seconds * 1000))


def pieces(items, most):
    return [items[begin:begin + most] for begin in range(0, len(items), most)]


class MlflowStore:
    def __init__(self, options):
        for key, value in ENVIRONMENT.items():
            os.environ.setdefault(key, value)
        mlflow = need("mlflow")
        self.entities = need("mlflow.entities")
        self.failures = (need("mlflow.exceptions").MlflowException, OSError)
        self.experiment = options.experiment
        self.uri = options.uri or mlflow.get_tracking_uri()
        try:
            self.client = mlflow.MlflowClient(tracking_uri=self.uri)
            self.client.search_experiments(max_results=1)
        except Exception as error:  # each store has exceptions of its own
            if "://" in self.uri and not self.uri.startswith("http") and not find_spec("sqlalchemy"):
                raise ExportError(f"{self.uri}: mlflow-skinny has no such store; install mlflow in a virtual "
                                  f"environment: {INSTALL} mlflow", EXIT_ENVIRONMENT) from error
            raise self.failure(error) from error

    def failure(self, error):
        first = str(error).strip().partition("\n")[0] or type(error).__name__
        return ExportError(f"MLflow at {self.uri}: {first}", EXIT_ENVIRONMENT)

    def place(self):
        return f"MLflow at {self.uri}"

    def experiment_id(self, name):
        found = self.client.get_experiment_by_name(name)
        if found is not None and found.lifecycle_stage == "deleted":
            raise ExportError(f"MLflow at {self.uri}: the experiment {name} was deleted there: restore it, or choose "
                              "another with --experiment", EXIT_ENVIRONMENT)
        return found.experiment_id if found else self.client.create_experiment(name)

    def export(self, run):
        """Returns whether the run is new there."""
        try:
            experiment = self.experiment_id(self.experiment or run.name)
            for found in self.client.search_runs([experiment], f"tags.`{ID}` = '{run.run_id}'"):
                if found.data.tags.get(DONE) == "complete":
                    return False
                self.client.delete_run(found.info.run_id)  # an export that was cut off
            self.write(run, experiment)
        except self.failures as error:
            raise self.failure(error) from error
        return True

    def write(self, run, experiment):
        client, made = self.client, self.entities
        run_id = client.create_run(experiment, milliseconds(run.start), {ID: run.run_id, DONE: "begun"},
                                   run.folder.name).info.run_id
        params = [made.Param(key, value) for key, value in run.params().items()]
        for some in pieces(params, MOST_PARAMS):
            client.log_batch(run_id, params=some)
        tags = [made.RunTag(key, value) for key, value in run.tags().items()]
        for some in pieces(tags, MOST_TAGS):
            client.log_batch(run_id, tags=some)
        for some in pieces(self.metrics(run), MOST_METRICS):
            client.log_batch(run_id, metrics=some)
        for name, text in run.files().items():
            client.log_text(run_id, text, name)
        client.set_terminated(run_id, STATUS.get(run.summary.get("ending"), "FINISHED"), milliseconds(run.end))
        client.set_tag(run_id, DONE, "complete")  # last: without it the export is done again

    def metrics(self, run):
        last = run.epochs[-1].number if run.epochs else 0
        return [self.entities.Metric(key, value, milliseconds(epoch.time), epoch.number)
                for epoch in run.epochs for key, value in epoch.metrics.items()] + [
                    self.entities.Metric(key, value, milliseconds(run.end), last)
                    for key, value in run.totals().items()]

    def close(self):
        pass
