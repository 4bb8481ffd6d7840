"""Every AWS command in the documents on deployment exists and has valid and complete options."""

import json
import re
import shlex
from collections.abc import Iterator

import pytest
from botocore import xform_name
from botocore.session import Session

from infra.deploy.runtime import STAGES
from tests.infra.deployment import CONFIG
from tests.kit.documents import DOCUMENTS, blocks, section

TEXT = DOCUMENTS["docs/deployment.md"] + DOCUMENTS["docs/domains.md"]
EVERYWHERE = {"query", "output"}
RENAMED = {("sns", "subscribe"): {"notification-endpoint": "endpoint"}}
"""Options of aws-cli that have another name in the service API.

The names differ because every aws-cli command already has a general option with the name in the API.
"""
OWN = {
    ("s3", "mb"): set(),
    ("s3", "cp"): set(),
    ("cloudformation", "package"): {"template-file", "s3-bucket", "output-template-file", "use-json"},
    ("cloudformation", "deploy"): {
        *("template-file", "s3-bucket", "stack-name", "capabilities", "parameter-overrides", "tags")
    },
}
"""The documented aws-cli commands that are not operations of a service, with their options."""


def commands() -> Iterator[str]:
    code = "\n".join(blocks(TEXT, "bash")).replace("\\\n", " ")
    inline = re.findall(r"`(?:until )?(aws [^`]+)`", TEXT)
    for line in [*code.splitlines(), *inline]:
        called = re.findall(r"\$\((aws .*)\)", line) or re.findall(r"^\s*(?:until )?(aws .*)", line)
        yield from (part.strip() for each in called for part in each.split(";") if part.strip().startswith("aws "))


def options_of(words: list[str]) -> set[str]:
    return {word.removeprefix("--") for word in words if word.startswith("--")}


COMMANDS = sorted(set(commands()))


@pytest.mark.parametrize("command", [each for each in COMMANDS if len(each.split()) > 3])
def test_every_aws_command_in_docs_has_valid_and_complete_options(command: str) -> None:
    _, service, operation, *words = shlex.split(command.replace("…", ""))
    renamed = RENAMED.get((service, operation), {})
    given = {renamed.get(name, name) for name in options_of(words)} - EVERYWHERE
    if (service, operation) in OWN:
        assert given <= OWN[service, operation]
        return
    session = Session()
    model = session.get_service_model(service)
    if operation == "wait":
        waiter = session.get_waiter_model(service)
        names = {xform_name(name, "-"): waiter.get_waiter(name).operation for name in waiter.waiter_names}
        operation = xform_name(names[words[0]], "-")
    (found,) = [name for name in model.operation_names if xform_name(name, "-") == operation]
    shape = model.operation_model(found).input_shape
    members = {xform_name(name, "-"): member for name, member in shape.members.items()}
    switches = {f"no-{name}" for name, member in members.items() if member.type_name == "boolean"}

    assert given <= members.keys() | switches
    assert {xform_name(name, "-") for name in shape.required_members} <= given


def test_docs_have_more_than_30_aws_commands() -> None:
    used = {tuple(command.split()[1:3]) for command in COMMANDS}

    assert len(used) > 30
    assert {("dynamodb", "restore-table-to-point-in-time"), ("wafv2", "create-web-acl")} <= used


def test_the_waf_rules_in_docs_match_the_api_of_aws() -> None:
    (rules,) = (json.loads(block) for block in blocks(section(TEXT, "## WAF"), "json"))
    members = Session().get_service_model("wafv2").shape_for("Rule").members.keys()

    assert all(rule.keys() <= members for rule in rules)
    assert [rule["VisibilityConfig"]["SampledRequestsEnabled"] for rule in rules] == [False, False]


@pytest.mark.parametrize("stage", STAGES)
def test_docs_list_the_api_gateway_stage_and_public_url_of_each_stage(stage: str) -> None:
    settings = CONFIG["stages"][stage]

    assert settings["api_gateway_stage"] == stage
    assert settings["environment_variables"]["PUBLIC_URL"] in TEXT
