"""Packages a stage: writes one template for all of it, and its zip files, into a folder.

Chalice's template and the resources become one stack. This module also corrects Chalice's template: the functions'
names, which policies use, the names of their logs, tracing of the API, an event source with batches; and what SAM would
add, a second stage and layers that are never deleted.
"""

from __future__ import annotations

import copy
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infra import command
from infra.deploy import chalice_command, layer, lock, sbom, template
from infra.deploy.chalice_command import ChaliceFailed
from infra.deploy.lock import Pin
from infra.deploy.template import Parts, resolve_conditions
from infra.openapi.document import version

BATCH = 10
"""The most messages of a batch; a worker handles them in parallel."""

_FUNCTION = "AWS::Serverless::Function"
_API = "AWS::Serverless::Api"
_LAYER = "AWS::Serverless::LayerVersion"
_LOG = "AWS::Logs::LogGroup"
_QUEUE = "DeliveriesQueue"
_USED = (template.TABLE, template.QUEUE, template.SECRET, "AWS::KMS::Alias")
_TEMPLATE = "sam.json"


def package(stage: str, target: Path) -> list[Path]:
    """Write the package of ``stage`` to the folder ``target``; returns its files. Raises: ChaliceFailed."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="causeway-package-") as place, chalice_command.project_copy() as project:
        out = Path(place) / "out"
        chalice_command.package(project, stage, out)
        made = json.loads((out / _TEMPLATE).read_text(encoding="utf-8"))
        _check_files(made, out)
        whole = merge_templates(made, template.load(), stage)
        (out / _TEMPLATE).write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        sbom.write(_pins(), version(), out)
        return [Path(shutil.move(file, target / file.name)) for file in sorted(out.iterdir())]


def _pins() -> list[Pin]:
    """The packages of the layer, and the one whose modules are in the function."""
    function = lock.read(chalice_command.ROOT / f"{lock.RUNTIME}.txt")[layer.FUNCTION]
    return [*layer.pinned(chalice_command.ROOT).values(), function]


def _check_files(made: dict[str, Any], folder: Path) -> None:
    """Check that every file that the template refers to was written."""
    for name, resource in made["Resources"].items():
        place = resource["Properties"].get("CodeUri") or resource["Properties"].get("ContentUri")
        if isinstance(place, str) and not (folder / place).is_file():
            raise ChaliceFailed(f"{name} refers to {place}, which was not written")


class NotMergeable(Exception):
    """The two templates cannot be merged; the message gives the reason."""


def merge_templates(application: Mapping[str, Any], resources: Mapping[str, Any], stage: str) -> Parts:
    """The template of a whole stage.

    Args:
        application: what ``chalice package`` writes, a SAM template.
        resources: the tables, queues, keys, alarms.
        stage: of the result, whose names of functions and policies are fixed.

    Raises:
        NotMergeable: both name something alike, or Chalice's template is not what it was when this was written.
    """
    ours, theirs = resolve_conditions(resources, stage), copy.deepcopy(dict(application))
    parts = theirs["Resources"]
    used = [name for name, entry in ours["Resources"].items() if entry["Type"] in _USED]
    source = _event_source(theirs)
    source["Queue"] = {"Fn::GetAtt": [_QUEUE, "Arn"]}
    source |= {"BatchSize": BATCH, "FunctionResponseTypes": ["ReportBatchItemFailures"]}
    for logical, entry in functions(theirs):
        name = function_name(entry, stage)
        entry["Properties"]["FunctionName"] = name
        log = _name_log(parts, logical, name)
        entry["DependsOn"] = sorted({*used, log} - set(template.references(entry)))
    for properties in _properties(parts, _API):
        properties |= {"TracingEnabled": True, "OpenApiVersion": "2.0"}  # without it SAM adds a public stage, "Stage"
    for properties in _properties(parts, _LAYER):
        properties["RetentionPolicy"] = "Delete"  # or every version is kept, of an account's 75 GB
    return {
        **ours,
        "Transform": theirs["Transform"],
        "Resources": _merge(ours["Resources"], parts),
        "Outputs": _merge(ours["Outputs"], theirs["Outputs"]),
    }


def functions(application: Mapping[str, Any]) -> Iterator[tuple[str, Parts]]:
    """The functions of a SAM template, by their logical names."""
    for name, entry in application["Resources"].items():
        if entry["Type"] == _FUNCTION:
            yield name, entry


def function_name(function: Mapping[str, Any], stage: str) -> str:
    """The name that ``chalice deploy`` gives a function, and the policies know it by."""
    handler: str = function["Properties"]["Handler"]
    return f"causeway-{stage}" + ("" if handler == "app.app" else f"-{handler.rpartition('.')[2]}")


def _properties(parts: Mapping[str, Any], kind: str) -> list[Parts]:
    return [entry["Properties"] for entry in parts.values() if entry["Type"] == kind]


def _name_log(parts: Parts, function: str, name: str) -> str:
    """Give a function's log its name; answers the log's logical name.

    Chalice has it depend on the function, and for the interface on one that does not exist. It comes first instead, so
    that the function's first line cannot make it.
    """
    logs = [each for each in parts if each.lower() == f"{function}LogGroup".lower() and parts[each]["Type"] == _LOG]
    if len(logs) != 1:
        raise NotMergeable(f"the function {function} has {len(logs)} logs in Chalice's template")
    parts[logs[0]]["Properties"]["LogGroupName"] = f"/aws/lambda/{name}"
    return logs[0]


def _event_source(application: Mapping[str, Any]) -> Parts:
    events = [
        each for _, function in functions(application) for each in function["Properties"].get("Events", {}).values()
    ]
    sources: list[Parts] = [event["Properties"] for event in events if event["Type"] == "SQS"]
    if len(sources) != 1 or "deliveries" not in str(sources[0]["Queue"]):
        raise NotMergeable(f"the queue of deliveries has {len(sources)} consumers in Chalice's template")
    return sources[0]


def _merge(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Parts:
    if common := ours.keys() & theirs.keys():
        raise NotMergeable(f"both templates have {', '.join(sorted(common))}")
    return {**ours, **theirs}


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = command.parser("infra.deploy.package", __doc__)
    parser.add_argument("stage", choices=chalice_command.STAGES)
    parser.add_argument("target", type=Path, nargs="?", default=Path("build"))
    options = parser.parse_args(arguments)
    try:
        written = package(options.stage, options.target)
    except (ChaliceFailed, NotMergeable) as error:
        print(f"causeway: the package could not be made.\n{error}", file=sys.stderr)
        return 1
    for file in written:
        print(f"{file}  {file.stat().st_size / 1e6:.1f} MB")
    if problem := chalice_command.find_placeholder(options.stage):
        print(
            f"causeway: warning: {problem}; all addresses that leave the service are built from it. "
            "Put the stage's address there, and package again, before you deploy.",
            file=sys.stderr,
        )
    return 0


if __name__ == "__main__":
    command.run(main)
