"""Every command of AWS in the documents on deployment exists, takes the options that it is given, and lacks none."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

import pytest
from botocore import xform_name
from botocore.session import Session

from infra.deploy.runtime import STAGES
from tests.documents import DOCUMENTS, blocks, section
from tests.infra.policies import CONFIG

TEXT = DOCUMENTS["docs/deployment.md"] + DOCUMENTS["docs/domains.md"]
EVERYWHERE = {"query", "output"}
RENAMED = {("sns", "subscribe"): {"notification-endpoint": "endpoint"}}
"""What aws-cli calls otherwise than the service, since all of its commands have an option of that name."""
OWN = {
    ("s3", "mb"): set(),
    ("s3", "cp"): set(),
    ("cloudformation", "package"): {"template-file", "s3-bucket", "output-template-file", "use-json"},
    ("cloudformation", "deploy"): {
        *("template-file", "s3-bucket", "stack-name", "capabilities", "parameter-overrides", "tags")
    },
}
"""What aws-cli has besides the services' own operations, as far as it is used."""


def commands() -> Iterator[str]:
    """Every command of the documents, in blocks and among the text."""
    code = "\n".join(blocks(TEXT, "bash")).replace("\\\n", " ")
    inline = re.findall(r"`(?:until )?(aws [^`]+)`", TEXT)
    for line in [*code.splitlines(), *inline]:
        called = re.findall(r"\$\((aws .*)\)", line) or re.findall(r"^\s*(?:until )?(aws .*)", line)
        yield from (part.strip() for each in called for part in each.split(";") if part.strip().startswith("aws "))


def options_of(words: list[str]) -> set[str]:
    return {word.removeprefix("--") for word in words if word.startswith("--")}


COMMANDS = sorted(set(commands()))


@pytest.mark.parametrize("command", [each for each in COMMANDS if len(each.split()) > 3])
def test_a_command_of_aws_exists_with_its_options_and_lacks_none(command: str) -> None:
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


def test_there_are_commands_for_all_that_is_described() -> None:
    used = {tuple(command.split()[1:3]) for command in COMMANDS}

    assert len(used) > 30
    assert {("dynamodb", "restore-table-to-point-in-time"), ("wafv2", "create-web-acl")} <= used


def test_the_rules_of_the_firewall_are_what_it_takes() -> None:
    (rules,) = (json.loads(block) for block in blocks(section(TEXT, "## WAF"), "json"))
    members = Session().get_service_model("wafv2").shape_for("Rule").members.keys()

    assert all(rule.keys() <= members for rule in rules)
    assert [rule["VisibilityConfig"]["SampledRequestsEnabled"] for rule in rules] == [False, False]


@pytest.mark.parametrize("stage", STAGES)
def test_the_stages_of_the_interface_and_the_placeholders_are_the_configurations(stage: str) -> None:
    settings = CONFIG["stages"][stage]

    assert settings["api_gateway_stage"] == stage
    assert settings["environment_variables"]["PUBLIC_URL"] in TEXT
