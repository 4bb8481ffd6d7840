"""A copy of the project whose stages can be deployed from this machine to the emulator."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.deploy import __main__, chalice_command, template
from infra.repository import ROOT
from tests.rehearsal.chalice import CALLS, FAILING

ADDRESSES = {"dev": "https://dev.rehearsed.example.com", "prod": "https://rehearsed.example.com"}
PROCESSORS = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}
TOPIC = "arn:aws:sns:eu-west-1:123456789012:alarms"
_REGISTERED = """
import json, app
from infra.local.event_runner import queue_name, schedule_expression
from chalice.app import SQSEventConfig
print(json.dumps({
    "routes": {path: sorted(methods) for path, methods in app.app.routes.items()},
    "handlers": {each.name: each.handler_string for each in app.app.event_sources},
    "consumers": {each.name: [queue_name(each), each.batch_size]
                  for each in app.app.event_sources if isinstance(each, SQSEventConfig)},
    "schedules": {each.name: schedule_expression(each)
                  for each in app.app.event_sources if not isinstance(each, SQSEventConfig)},
}))
"""


class Project:
    """A copy of the project with a public URL for each stage. The default processor architecture is this machine's."""

    def __init__(self, root: Path, processor: str | None = None) -> None:
        self.root, self.calls = root, root / "calls"
        chalice_command.copy(root)
        config = self.config
        config["lambda_architecture"] = processor or PROCESSORS[platform.machine().lower()]
        for stage, address in ADDRESSES.items():
            config["stages"][stage]["environment_variables"]["PUBLIC_URL"] = address
        self.write(config)

    @property
    def config(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.root / ".chalice/config.json").read_text(encoding="utf-8"))
        return found

    def write(self, config: dict[str, Any]) -> None:
        (self.root / ".chalice/config.json").write_text(json.dumps(config), encoding="utf-8")

    def settings(self, stage: str, function: str = "") -> dict[str, Any]:
        """Return the settings of ``config.json`` for a function of a stage; an empty name selects the REST API."""
        config = self.config
        there = config["stages"][stage]
        of_function = [part["lambda_functions"][function] if function else {} for part in (config, there)]
        return {**config, **of_function[0], **there, **of_function[1]}

    def policy(self, stage: str, function: str = "") -> dict[str, Any]:
        file = self.root / ".chalice" / self.settings(stage, function)["iam_policy_file"]
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found

    def packages(self, kind: str) -> list[Path]:
        """Return the zip files of one kind that Chalice has built. The kind is ``appcode`` or ``managed-layer``."""
        return sorted((self.root / ".chalice/deployments").glob(f"{kind}-*.zip"))

    def deploy(self, stage: str, *options: str, failing: str = "") -> list[str]:
        """Deploy a stage as ``make deploy`` does, and return the calls that Chalice made."""
        self.calls.unlink(missing_ok=True)
        with self._used() as patch:
            patch.setenv(FAILING, failing)
            assert __main__.main([stage, "--alarm-topic", TOPIC, *options]) == bool(failing)
        return self.calls.read_text(encoding="utf-8").splitlines()

    def refused(self, stage: str) -> None:
        """Check that ``make deploy`` fails before calling Chalice."""
        self.calls.unlink(missing_ok=True)
        with self._used():
            assert __main__.main([stage, "--only", "application"]) == 1
        assert not self.calls.exists()

    def tear_down(self, stage: str) -> None:
        with self._used():
            command = [*chalice_command.COMMAND, "--project-dir", str(self.root), "delete", "--stage", stage]
            subprocess.run(command, check=True)

    @contextmanager
    def _used(self) -> Iterator[pytest.MonkeyPatch]:
        """Make the tools use this copy, and make Chalice use the client of the deployment tests."""
        source = template.load()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(chalice_command, "ROOT", self.root)
            patch.setattr(chalice_command, "COMMAND", (sys.executable, "-B", "-m", "tests.rehearsal.chalice"))
            patch.setattr(template, "load", lambda: _understood(source))
            patch.setenv(CALLS, str(self.calls))
            yield patch


def _understood(source: dict[str, Any]) -> dict[str, Any]:
    """Return the resources without dashboards and alarms, because moto's CloudFormation does not support them."""
    for kind in ("AWS::CloudWatch::Dashboard", "AWS::CloudWatch::Alarm"):
        source = template.without_type(source, kind)
    return source


@cache
def registered(stage: str) -> dict[str, Any]:
    environ = {**os.environ, "STAGE": stage, "PUBLIC_URL": ADDRESSES[stage]}
    output = subprocess.run(
        [sys.executable, "-c", _REGISTERED], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, Any] = json.loads(output)
    return found
