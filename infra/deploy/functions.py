"""The table of Lambda functions, with the trigger, resources and alarms of each function.

To add a scheduled job, write a function in the ``jobs`` module of its package, add a row to this table, and add the
function's rights to ``policies``. This command then writes ``.chalice/config.json`` and the policy files in the same
folder. These files are in git because Chalice reads them. ``tests/infra/test_functions.py`` reports missing alarms and
documents.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra import command
from infra.deploy import policies
from infra.deploy.runtime import DEMONSTRATION_STAGES, STAGES
from infra.repository import ROOT

CONFIG = ROOT / ".chalice" / "config.json"


@dataclass(frozen=True, slots=True)
class Function:
    """A Lambda function with its own policy, ``.chalice/policy-<stage>-<name>.json``.

    Attributes:
        name: the name of the handler and the end of ``causeway-<stage>-<name>``; empty for the function behind API
        Gateway.
        trigger: a schedule expression, a queue's name without the stage prefix, or ``API Gateway``.
        memory: in MB.
        timeout: in seconds.
        alarms: the names, without the stage prefix, of the alarms for failures or missing runs.
        stages: the deployed stages that include the function.
    """

    name: str
    trigger: str
    memory: int
    timeout: int
    alarms: Sequence[str]
    stages: Sequence[str] = STAGES

    @property
    def is_scheduled(self) -> bool:
        return self.trigger.startswith(("rate(", "cron("))

    def policy(self, stage: str) -> str:
        """Return the name of the function's policy file."""
        return f"policy-{stage}{self.name and f'-{self.name}'}.json"


FUNCTIONS = (
    Function("", "API Gateway", 1024, 29, ("server-errors", "function-errors", "function-throttles")),
    Function("deliver", "deliveries", 512, 30, ("deliveries-waiting", "function-errors", "function-throttles")),
    Function("sweep", "rate(1 minute)", 512, 55, ("deliveries-overdue",)),
    Function("expire", "rate(5 minutes)", 512, 55, ("function-errors",)),
    Function("finish", "rate(1 minute)", 512, 55, ("claims-stuck",)),
    Function("ingest", "cron(10 1 * * ? *)", 1024, 900, ("ingest-missing", "function-errors")),
    Function("prove", "rate(1 hour)", 1769, 900, ("ledger-not-proved", "function-errors")),
    Function("reseal", "rate(5 minutes)", 512, 55, ("function-errors",)),
    Function("settle", "rate(1 minute)", 512, 55, (), stages=DEMONSTRATION_STAGES),
)
API = FUNCTIONS[0]
API_HANDLER = "api_handler"
"""Chalice's name for the function behind API Gateway."""
BY_NAME: Mapping[str, Function] = {each.name: each for each in FUNCTIONS}


def configure(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return Chalice's configuration with the functions of the table. All other settings remain unchanged."""
    sizes = {
        each.name: {"lambda_memory_size": each.memory, "lambda_timeout": each.timeout}
        for each in FUNCTIONS
        if each.name
    }
    changed = {
        **config,
        "lambda_memory_size": API.memory,
        "lambda_timeout": API.timeout,
        "lambda_functions": _update(config, sizes),
        "stages": dict(config["stages"]),
    }
    for stage in STAGES:
        there = [each for each in FUNCTIONS if each.name and stage in each.stages]
        files = {each.name: {"iam_policy_file": each.policy(stage)} for each in there}
        before = config["stages"][stage]
        own = {"iam_policy_file": API.policy(stage), "lambda_functions": _update(before, files)}
        changed["stages"][stage] = before | own
    return changed


def _update(place: Mapping[str, Any], settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    before = place.get("lambda_functions", {})
    named = {name: {**before.get(name, {}), **own} for name, own in settings.items()}
    api = {API_HANDLER: before[API_HANDLER]} if API_HANDLER in before else {}
    return dict(sorted({**named, **api}.items()))


def written_files(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of ``.chalice/`` that this command writes, by name: the configuration and the policies."""
    files = {"config.json": json.dumps(configure(config), indent=2) + "\n"}
    for each in FUNCTIONS:
        files |= {each.policy(stage): _format_policy(policies.render(each.name, stage)) for stage in each.stages}
    return files


def _format_policy(policy: Mapping[str, Any]) -> str:
    """Format a policy as JSON with one line per statement, so that a change of one right changes one line."""
    statements = ",\n    ".join(map(json.dumps, policy["Statement"]))
    return f'{{\n  "Version": "{policy["Version"]}",\n  "Statement": [\n    {statements}\n  ]\n}}\n'


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns its exit code."""
    command.parser("infra.deploy.functions", __doc__).parse_args(arguments)
    for name, text in written_files(json.loads(CONFIG.read_text(encoding="utf-8"))).items():
        (CONFIG.parent / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    command.run(main)
