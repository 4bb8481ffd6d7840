"""``make package`` of both stages writes a valid CloudFormation template, and zip files for Lambda's processor."""

import copy
import io
import json
import re
import subprocess
import sys
import zipfile
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from elftools.elf.elffile import ELFFile
from packaging.utils import canonicalize_name
from samtranslator.translator.transform import transform

from chalicelib.delivery.receiver_slots import WORKERS
from infra.deploy import layer, package, runtime, shared_objects, template
from infra.deploy.api_stage import LOG_FORMAT
from infra.deploy.limits import REQUEST_BURST, REQUESTS_PER_SECOND
from infra.deploy.runtime import STAGES
from infra.repository import ROOT
from tests.infra.deployment import resources

pytestmark = pytest.mark.rehearsal
each_stage = pytest.mark.parametrize("stage", STAGES)
MEGABYTE = 1024 * 1024
ZIPPED, UNZIPPED = 50 * MEGABYTE, 250 * MEGABYTE
"""The size limits of Lambda: for a zip file that is uploaded directly, and for unzipped function and layer together."""
LAYER = 16_000_000
"""The project's own size limit for the layer's zip file, in bytes."""
CACHE_TAG = f"cpython-{runtime.PYTHON.replace('.', '')}"
MAGIC = (3571).to_bytes(2, "little") + b"\r\n"
"""The first bytes of a compiled module of Python 3.13, which does not load compiled modules with other first bytes."""
UNCHECKED_HASH = (1).to_bytes(4, "little")
"""The flags of a compiled module that Python loads without checking the source (PEP 552)."""
GLIBC = (2, 34)
"""The glibc version of Amazon Linux 2023."""


@cache
def packaged_template(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "sam.json").read_text(encoding="utf-8"))
    return found


class ManagedPolicies:
    """AWS's managed policies by name. All policies are empty, because the application's functions use no managed
    policies.
    """

    def load(self) -> dict[str, str]:
        return {}


@cache
def transformed(folder: Path) -> dict[str, Any]:
    """Return the template after CloudFormation's SAM transform, which SAM's own code performs."""
    source = copy.deepcopy(packaged_template(folder))
    for entry in source["Resources"].values():
        for place in ("CodeUri", "ContentUri"):  # as `aws cloudformation package` does
            if place in entry.get("Properties", {}):
                entry["Properties"][place] = "s3://bucket/key.zip"
    made: dict[str, Any] = transform(source, {}, ManagedPolicies())
    return made


def of_kind(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [each["Properties"] for each in transformed(folder)["Resources"].values() if each["Type"] == kind]


def awaited_by(entry: dict[str, Any]) -> set[str]:
    before = entry.get("DependsOn", [])
    in_texts = re.findall(r"\$\{(\w+)[.}]", json.dumps(entry))
    return {*([before] if isinstance(before, str) else before), *template.references(entry), *in_texts}


def roles(folder: Path) -> dict[str, dict[str, Any]]:
    found = packaged_template(folder)["Resources"].items()
    return {name: each["Properties"] for name, each in found if each["Type"] == "AWS::IAM::Role"}


@each_stage
def test_the_template_passes_cfn_lint_before_and_after_the_transform(
    packaged: Path, stage: str, tmp_path: Path
) -> None:
    result = tmp_path / "transformed.json"
    result.write_text(json.dumps(transformed(packaged / stage)), encoding="utf-8")
    done = subprocess.run(
        [str(Path(sys.executable).with_name("cfn-lint")), str(packaged / stage / "sam.json"), str(result)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "")


@each_stage
def test_the_rest_api_has_only_its_own_stage(packaged: Path, stage: str) -> None:
    stages = [each["StageName"] for each in of_kind(packaged / stage, "AWS::ApiGateway::Stage")]
    deployments = of_kind(packaged / stage, "AWS::ApiGateway::Deployment")

    assert stages == [stage]
    assert ["StageName" in each for each in deployments] == [False]


@each_stage
def test_resources_have_no_circular_dependencies(packaged: Path, stage: str) -> None:
    parts = transformed(packaged / stage)["Resources"]
    awaited = {name: awaited_by(entry) & parts.keys() for name, entry in parts.items()}

    assert len(list(TopologicalSorter(awaited).static_order())) == len(parts)


@each_stage
def test_the_layer_version_has_the_deletion_policy_delete(packaged: Path, stage: str) -> None:
    parts = transformed(packaged / stage)["Resources"].values()

    assert [each["DeletionPolicy"] for each in parts if each["Type"] == "AWS::Lambda::LayerVersion"] == ["Delete"]


@each_stage
def test_the_worker_receives_message_batches_from_the_queue_of_the_stage(packaged: Path, stage: str) -> None:
    (source,) = of_kind(packaged / stage, "AWS::Lambda::EventSourceMapping")

    assert source["EventSourceArn"] == {"Fn::GetAtt": ["DeliveriesQueue", "Arn"]}
    assert (source["BatchSize"], source["FunctionResponseTypes"]) == (package.BATCH, ["ReportBatchItemFailures"])
    assert source["ScalingConfig"] == {"MaximumConcurrency": WORKERS}


@each_stage
def test_the_stage_of_the_rest_api_is_throttled_and_logged(packaged: Path, stage: str) -> None:
    (made,) = of_kind(packaged / stage, "AWS::ApiGateway::Stage")
    (settings,) = made["MethodSettings"]

    assert made["AccessLogSetting"]["Format"] == LOG_FORMAT
    assert (settings["ThrottlingRateLimit"], settings["ThrottlingBurstLimit"]) == (REQUESTS_PER_SECOND, REQUEST_BURST)


@each_stage
def test_every_resource_named_in_a_policy_is_in_the_template(packaged: Path, stage: str) -> None:
    source = packaged_template(packaged / stage)
    made = template.Template(source, Stage=stage)
    tables = made.resources(template.TABLE).values()
    there = {f"table/{table['TableName']}" for table in tables}
    for table in tables:
        indexes = table.get("GlobalSecondaryIndexes", [])
        there |= {f"table/{table['TableName']}/index/{index['IndexName']}" for index in indexes}
    there |= {queue["QueueName"] for queue in made.resources(template.QUEUE).values()}
    there |= {f"secret:{secret['Name']}-??????" for secret in made.resources(template.SECRET).values()}
    there |= {f"log-group:{log['LogGroupName']}" for log in made.resources("AWS::Logs::LogGroup").values()}
    aliases = [alias["AliasName"] for alias in made.resources("AWS::KMS::Alias").values()]

    statements = [
        each
        for role in roles(packaged / stage).values()
        for policy in role.get("Policies", [])
        for each in policy["PolicyDocument"]["Statement"]
    ]
    named = {
        resource.split(":", 5)[-1].removesuffix(":log-stream:*") for each in statements for resource in resources(each)
    }
    by_the_operator = f"causeway-{stage}-truststore-*/*"  # a bucket, if TPPs use certificates
    assert named - there == {"*", "key/*", "identity/*", by_the_operator}, (
        "SES has the account's identities, whoever made them"
    )
    assert {
        each["Condition"]["ForAnyValue:StringEquals"]["kms:ResourceAliases"]
        for each in statements
        if resources(each) == ["arn:aws:kms:*:*:key/*"]
    } == set(aliases)


@each_stage
def test_every_function_depends_on_its_log_group_tables_and_secrets(packaged: Path, stage: str) -> None:
    parts = packaged_template(packaged / stage)["Resources"]
    stored = {name for name, each in parts.items() if each["Type"] in (template.TABLE, template.SECRET)}

    for name, function in package.functions(packaged_template(packaged / stage)):
        logs = [each for each in function["DependsOn"] if parts[each]["Type"] == "AWS::Logs::LogGroup"]
        group = f"/aws/lambda/{function['Properties']['FunctionName']}"
        assert [parts[each]["Properties"]["LogGroupName"] for each in logs] == [group], name
        assert stored <= set(function["DependsOn"])


@each_stage
def test_the_template_has_a_fixed_stage_and_a_parameter_for_the_alarm_topic(packaged: Path, stage: str) -> None:
    parameters = packaged_template(packaged / stage)["Parameters"]

    assert (parameters["Stage"]["AllowedValues"], parameters["Stage"]["Default"]) == ([stage], stage)
    assert parameters["AlarmTopicArn"]["Default"] == ""


@pytest.mark.parametrize("processor", runtime.MACHINES)
def test_the_runtime_can_load_every_shared_object_of_the_layer(packaged: Path, tmp_path: Path, processor: str) -> None:
    built = packaged / "prod" / "layer-deployment.zip"
    if processor != "arm64":
        built = tmp_path / "layer.zip"
        layer.build(ROOT, processor, built)
    with zipfile.ZipFile(built) as file:
        file.extractall(tmp_path / "layer")

    objects = shared_objects.find(tmp_path / "layer")
    parts = {part for each in objects for part in re.split(r"[/.]", each.relative_to(tmp_path).as_posix())}
    assert {"pydantic_core", "cryptography", "_cffi_backend"} <= parts
    assert list(shared_objects.problems(tmp_path / "layer", processor)) == []
    assert {
        version
        for each in objects
        for version in shared_objects.needed_glibc(ELFFile(io.BytesIO(each.read_bytes())))
        if tuple(map(int, version.removeprefix("GLIBC_").split("."))) > GLIBC
    } == set()


def test_the_layer_has_exactly_the_locked_distributions_of_the_functions(packaged: Path) -> None:
    with zipfile.ZipFile(packaged / "prod" / "layer-deployment.zip") as file:
        folders = {match[1] for name in file.namelist() if (match := re.search(r"/([^/]+)\.dist-info/", name))}

    found = {canonicalize_name(name): version for name, _, version in (each.partition("-") for each in folders)}
    assert found == {pin.name: pin.version for pin in layer.pinned(ROOT, "arm64").values()}


@pytest.mark.parametrize(
    ("name", "folder"), [("deployment.zip", ""), ("layer-deployment.zip", f"python/lib/python{runtime.PYTHON}/")]
)
def test_every_packaged_module_has_a_compiled_file_with_an_unchecked_hash(
    packaged: Path, name: str, folder: str
) -> None:
    with zipfile.ZipFile(packaged / "prod" / name) as file:
        names = set(file.namelist())
        modules = {each for each in names if each.endswith(".py")}
        compiled = {re.sub(r"([^/]+)\.py$", rf"__pycache__/\1.{CACHE_TAG}.pyc", each): each for each in modules}
        headers = {file.read(each)[:8] for each in compiled}

    assert {each for each in names if each.endswith(".pyc")} == compiled.keys()
    assert headers == {MAGIC + UNCHECKED_HASH}
    assert all(each.startswith(folder) for each in names)


def test_the_layers_of_different_stages_and_of_a_second_build_are_identical(packaged: Path, tmp_path: Path) -> None:
    again = tmp_path / "layer.zip"
    layer.build(ROOT, "arm64", again)

    assert {(packaged / stage / "layer-deployment.zip").read_bytes() for stage in STAGES} == {again.read_bytes()}


@each_stage
def test_zip_files_are_within_the_size_limits_of_lambda(
    packaged: Path, stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {}
    for name in ("deployment.zip", "layer-deployment.zip"):
        file = packaged / stage / name
        with zipfile.ZipFile(file) as content:
            sizes[name] = (file.stat().st_size, sum(each.file_size for each in content.infolist()))
    with capsys.disabled():
        for name, (zipped, unzipped) in sizes.items():
            print(f"\n{stage} {name}: {zipped / MEGABYTE:.1f} MB, unzipped {unzipped / MEGABYTE:.1f} MB", end="")

    assert all(zipped <= ZIPPED for zipped, _ in sizes.values())
    assert sizes["layer-deployment.zip"][0] <= LAYER
    assert sum(unzipped for _, unzipped in sizes.values()) <= UNZIPPED


def test_the_function_package_contains_only_the_application_and_chalice(packaged: Path) -> None:
    with zipfile.ZipFile(packaged / "dev" / "deployment.zip") as content:
        names = content.namelist()

    assert {name.partition("/")[0] for name in names} == {"__pycache__", "app.py", "chalice", "chalicelib"}
    assert {name for name in names if name.startswith("chalice/") and name.endswith(".py")} == {
        "chalice/__init__.py",
        "chalice/app.py",
    }


@each_stage
def test_the_sbom_is_valid_and_lists_the_packaged_distributions(packaged: Path, stage: str) -> None:
    bill = json.loads((packaged / stage / "sbom.json").read_text(encoding="utf-8"))

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)) is None
    assert {each["name"] for each in bill["components"]} == {*layer.pinned(ROOT, "arm64"), layer.FUNCTION}
