# SPDX-License-Identifier: Apache-2.0
"""Writes runs to Weights & Biases: to its server, or into a folder that `wandb sync` sends later."""

import os
import re
import shutil
from pathlib import Path

from export.common import EXIT_ENVIRONMENT, EXIT_USAGE, ExportError, need

DONE = "rnnlab.export"


class WandbStore:
    def __init__(self, options):
        if not options.project:
            raise ExportError("--to wandb needs --project PROJECT", EXIT_USAGE)
        for key, value in {"WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false"}.items():
            os.environ.setdefault(key, value)
        self.wandb = need("wandb")
        self.errors = need("wandb.errors").Error
        self.project, self.entity, self.group = options.project, options.entity, options.experiment
        self.folder = Path(options.dir)
        self.mode = options.mode or os.environ.get("WANDB_MODE") or ("online" if self.has_login() else "offline")
        if self.mode not in ("online", "offline"):
            raise ExportError(f"the mode is {self.mode}, expected online or offline: set --mode", EXIT_USAGE)

    def has_login(self):
        try:
            return bool(self.wandb.login(prompt=False, verify=False))
        except Exception:  # also for a login that is wrong, which the first run of --mode online will tell
            return False

    def place(self):
        if self.mode == "online":
            return f"Weights & Biases, project {self.project}"
        return f"{self.folder / 'wandb'}, to be sent by `wandb sync`"

    def is_there(self, run):
        """Whether the run was exported whole: the summary says so on the server, a marker file in a folder."""
        if self.mode == "offline":
            return self.marker(run).exists()
        path = "/".join(filter(None, (self.entity, self.project, run.run_id)))
        try:
            return bool(self.wandb.Api().run(path).summary.get(DONE))
        except (self.errors, ValueError) as error:
            if "could not find" in str(error).lower():  # the run, or its project
                return False
            raise self.failure(error) from error

    def failure(self, error):
        first = str(error).strip().partition("\n")[0] or type(error).__name__
        return ExportError(f"Weights & Biases: {first}", EXIT_ENVIRONMENT)

    def marker(self, run, state="exported"):
        project = re.sub(r"[^\w.-]", "_", "-".join(filter(None, (self.entity, self.project))))
        return self.folder / "wandb" / f"rnnlab-{project}-{run.run_id}.{state}"

    def remove_begun(self, run):
        """Removes what an offline export left that was cut off: `wandb sync` would send it."""
        begun = self.marker(run, "begun")
        if begun.exists():
            shutil.rmtree(begun.parent / Path(begun.read_text(encoding="utf-8")).name, ignore_errors=True)
            begun.unlink()

    def export(self, run):
        """Returns whether the run is new there."""
        if self.is_there(run):
            return False
        self.folder.mkdir(parents=True, exist_ok=True)
        self.remove_begun(run)
        try:
            self.write(run)
        except (self.errors, OSError) as error:
            raise self.failure(error) from error
        finally:
            self.remove_begun(run)
        return True

    def settings(self, run):
        """Nothing about the machine and the user: the client would add it."""
        more = {} if run.has_machine else {"host": "", "username": "", "email": ""}
        return self.wandb.Settings(
            console="off", disable_code=True, disable_git=True, save_code=False, program="export-runs",
            x_disable_meta=True, x_disable_machine_info=True, x_disable_stats=True,
            x_save_requirements=False, x_start_time=run.start, **more)

    def write(self, run):
        tags = run.tags()
        labels = [tags[key][:64] for key in ("rnnlab.layer", "rnnlab.device", "rnnlab.ending") if tags.get(key)]
        target = self.wandb.init(
            project=self.project, entity=self.entity, group=self.group or run.name, name=run.folder.name,
            id=run.run_id, config=run.params() | tags, tags=labels, mode=self.mode, dir=str(self.folder),
            resume="allow" if self.mode == "online" else None, settings=self.settings(run))
        if self.mode == "offline":
            self.marker(run, "begun").write_text(Path(target.dir).parent.name, encoding="utf-8")
        try:
            for epoch in run.epochs:
                target.log({"epoch": epoch.number, "_timestamp": epoch.time, **epoch.metrics}, step=epoch.number)
            target.summary.update(run.totals())
            self.add_files(target, run)
            target.summary[DONE] = "complete"
        except BaseException:
            target.finish(exit_code=1)
            raise
        target.finish(exit_code=1 if run.summary.get("ending") == "diverged" else 0)
        if self.mode == "offline":
            self.marker(run, "begun").rename(self.marker(run))

    def add_files(self, target, run):
        """Into a folder of the run's files, where the client has a config.yaml of its own."""
        folder = Path(target.dir) / "rnnlab"
        folder.mkdir()
        for name, text in run.files().items():
            (folder / name).write_text(text, encoding="utf-8")
            target.save(str(folder / name), base_path=target.dir, policy="now")

    def close(self):
        self.wandb.teardown()
