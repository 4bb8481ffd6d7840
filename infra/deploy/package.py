"""Packages a stage: writes one template for the whole stage, and its zip files, to a folder.

The module merges Chalice's template and the resource template, so that one stack is deployed. It also corrects
Chalice's template: the names of functions and their logs, the tracing of the API, binary responses for any ``Accept``
header, and the batches from the queue. It prevents SAM from adding a second API stage and from retaining old layers.
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

from chalicelib.foundation.version import VERSION
from infra import command
from infra.deploy import api_stage, chalice_command, layer, lock, runtime, sbom, template
from infra.deploy.chalice_command import ChaliceFailed
from infra.deploy.lock import Pin
from infra.deploy.template import Parts, resolve_conditions
from infra.repository import ROOT

BATCH = 10
"""The maximum number of messages in a batch; a worker handles them in parallel."""

_FUNCTION = "AWS::Serverless::Function"
_API = "AWS::Serverless::Api"
_LAYER = "AWS::Serverless::LayerVersion"
_LOG = "AWS::Logs::LogGroup"
_QUEUE = "DeliveriesQueue"
_USED = (template.TABLE, template.QUEUE, template.SECRET, "AWS::KMS::Alias")
_TEMPLATE = "sam.json"
_BINARY = "x-amazon-apigateway-binary-media-types"


def package(stage: str, target: Path) -> list[Path]:
    """Write the package of ``stage`` to the folder ``target``. Returns its files. Raises: ChaliceFailed."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="causeway-package-") as place, chalice_command.project_copy() as project:
        out = Path(place) / "out"
        chalice_command.package(project, stage, out)
        made = json.loads((out / _TEMPLATE).read_text(encoding="utf-8"))
        _check_files(made, out)
        whole = merge_templates(made, template.load(), stage)
        (out / _TEMPLATE).write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        sbom.write(_pins(stage), VERSION, out)
        return [Path(shutil.move(file, target / file.name)) for file in sorted(out.iterdir())]


def _pins(stage: str) -> list[Pin]:
    """Return the pinned packages of the layer, and the pin of Chalice, whose modules are deployed with the function."""
    function = lock.read(ROOT / f"{lock.RUNTIME}.txt")[layer.FUNCTION]
    return [*layer.pinned(ROOT, chalice_command.stage_processor(stage)).values(), function]


def _check_files(made: dict[str, Any], folder: Path) -> None:
    for name, resource in made["Resources"].items():
        place = resource["Properties"].get("CodeUri") or resource["Properties"].get("ContentUri")
        if isinstance(place, str) and not (folder / place).is_file():
            raise ChaliceFailed(f"{name} refers to {place}, which was not written")


_LOG_KEY = {"Fn::If": ["HasStorageKey", {"Fn::GetAtt": ["StorageKey", "Arn"]}, {"Ref": "AWS::NoValue"}]}


class NotMergeable(Exception):
    """The two templates cannot be merged. The message contains the reason."""


def merge_templates(application: Mapping[str, Any], resources: Mapping[str, Any], stage: str) -> Parts:
    """Merge Chalice's template and the resources into one template for a stage.

    Args:
        application: the SAM template from ``chalice package``.
        resources: the template ``resources.yaml``.
        stage: the target stage, which is part of the names of functions.

    Raises:
        NotMergeable: a name occurs in both templates, or Chalice's template has an unexpected structure.
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
    for entry in (each for each in parts.values() if each["Type"] == _API):
        entry["Properties"] |= {"TracingEnabled": True, "OpenApiVersion": "2.0"}  # or SAM adds a public stage, "Stage"
        entry["Properties"] |= api_stage.sam_properties(ours["Outputs"][api_stage.LOG_OUTPUT]["Value"])
        entry["Properties"]["DefinitionBody"][_BINARY] = ["*/*"]  # or browsers would get logos as Base64
        entry["DependsOn"] = [api_stage.LOG_ACCOUNT]
    for properties in _properties(parts, _LAYER):
        properties["RetentionPolicy"] = "Delete"  # or every version is kept, of an account's 75 GB
    return {
        **ours,
        "Transform": theirs["Transform"],
        "Resources": _merge(ours["Resources"], parts),
        "Outputs": _merge(ours["Outputs"], theirs["Outputs"]),
    }


def functions(application: Mapping[str, Any]) -> Iterator[tuple[str, Parts]]:
    """Return the functions of a SAM template by logical name."""
    for name, entry in application["Resources"].items():
        if entry["Type"] == _FUNCTION:
            yield name, entry


def function_name(function: Mapping[str, Any], stage: str) -> str:
    """Return the name that ``chalice deploy`` gives a function and that the policies use."""
    handler: str = function["Properties"]["Handler"]
    return f"causeway-{stage}" + ("" if handler == "app.app" else f"-{handler.rpartition('.')[2]}")


def _properties(parts: Mapping[str, Any], kind: str) -> list[Parts]:
    return [entry["Properties"] for entry in parts.values() if entry["Type"] == kind]


def _name_log(parts: Parts, function: str, name: str) -> str:
    """Name a function's log and return the log's logical name.

    In Chalice's template, the log depends on the function; for the API's function, it depends on a missing resource.
    This function makes CloudFormation create the log before the function. Otherwise, the first log line of the function
    would create the log.
    """
    logs = [each for each in parts if each.lower() == f"{function}LogGroup".lower() and parts[each]["Type"] == _LOG]
    if len(logs) != 1:
        raise NotMergeable(f"the function {function} has {len(logs)} logs in Chalice's template")
    parts[logs[0]]["Properties"] |= {"LogGroupName": f"/aws/lambda/{name}", "KmsKeyId": _LOG_KEY}
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
    """Run the command. Returns its exit code."""
    parser = command.parser("infra.deploy.package", __doc__, runtime.INTERPRETER)
    parser.add_argument("stage", choices=runtime.STAGES)
    parser.add_argument("target", type=Path, nargs="?", default=Path("build"))
    options = parser.parse_args(arguments)
    try:
        written = package(options.stage, options.target)
    except (ChaliceFailed, NotMergeable) as error:
        print(f"causeway: the package could not be built.\n{error}", file=sys.stderr)
        return 1
    for file in written:
        print(f"{file}  {file.stat().st_size / 1e6:.1f} MB")
    if problem := chalice_command.find_placeholder(options.stage):
        print(
            f"causeway: warning: {problem}; all public URLs are built from it. "
            "Set the stage's address and package again before you deploy.",
            file=sys.stderr,
        )
    return 0


if __name__ == "__main__":
    command.run(main)
