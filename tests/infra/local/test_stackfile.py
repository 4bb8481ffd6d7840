"""The stack file, which tools read to find the running stack."""

import os
from pathlib import Path
from typing import Any

import pytest

from chalicelib.foundation.settings import Settings
from infra.local import stackfile
from infra.repository import ROOT
from tests.kit.http import stack_health


def test_the_stack_file_has_mode_0600(tmp_path: Path) -> None:
    file = tmp_path / "local" / "stack.json"
    stackfile.write(file, {"pid": os.getpid()})

    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [entry.name for entry in file.parent.iterdir()] == ["stack.json"]


def test_find_running_returns_none_after_the_stack_has_stopped(tmp_path: Path) -> None:
    file = tmp_path / "stack.json"
    assert stackfile.find_running(file) is None
    with stack_health() as stack:
        stackfile.write(file, stack)
        assert stackfile.find_running(file) == stack
    assert stackfile.find_running(file) is None


@pytest.mark.parametrize(
    "other",
    [{"stack_id": "another-stack"}, {"stack_id": None}, {"server": "BaseHTTP/0.6"}],
    ids=["another stack", "a stack without an id", "another server"],
)
def test_another_server_at_the_port_of_a_stack_file_is_not_taken_for_a_running_stack(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    file = tmp_path / "stack.json"
    with stack_health(**other) as stack:
        stackfile.write(file, {**stack, "id": "the-stack", "pid": os.getpid()})

        assert stackfile.find_running(file) is None


def test_a_stack_with_health_status_503_is_running(tmp_path: Path) -> None:
    with stack_health(status=503) as stack:
        stackfile.write(tmp_path / "stack.json", stack)

        assert stackfile.find_running(tmp_path / "stack.json") == stack


def test_a_stack_file_without_an_id_identifies_a_running_stack(tmp_path: Path) -> None:
    with stack_health(stack_id=None) as stack:
        stackfile.write(tmp_path / "stack.json", stack)

        assert "id" not in stack
        assert stackfile.find_running(tmp_path / "stack.json") == stack


@pytest.mark.parametrize("environment", [None, [], {}, {"PORT": None}, {"PORT": "eighty"}, {"PORT": "1"}])
def test_a_stack_file_without_a_responding_port_is_not_a_running_stack(tmp_path: Path, environment: Any) -> None:
    stackfile.write(tmp_path / "stack.json", {"pid": os.getpid(), "environment": environment})

    assert stackfile.find_running(tmp_path / "stack.json") is None


MADE_UP = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}


def test_the_point_at_stack_function_replaces_all_aws_environment_variables() -> None:
    environ = {
        "HOME": "/home/ada",
        "AWS_PROFILE": "production",
        "AWS_SESSION_TOKEN": "real",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
        "AWS_ENDPOINT_URL_SQS": "http://another",
        "RESOURCE_PREFIX": "another",
        "PUBLIC_URL": "https://another.example",
    }
    stackfile.point_at_stack(environ, MADE_UP)

    assert environ == {"HOME": "/home/ada", **MADE_UP}


def test_point_at_stack_preserves_the_aws_profile_if_the_stack_has_no_credentials() -> None:
    environ = {"AWS_PROFILE": "emulator"}
    stackfile.point_at_stack(environ, {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"})

    assert environ == {"AWS_PROFILE": "emulator", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}


def test_the_stack_file_contains_every_setting_that_identifies_stored_records() -> None:
    asked: set[str] = set()

    class Environ(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            asked.add(name)
            return super().get(name, default)

    Settings.from_environment(Environ())

    others = {"STAGE", "PORT", "LOG_LEVEL", "MAIL_FROM", "MAIL_FOLDER", "OPERATOR_KEY"}
    others |= {"CLIENT_CALLS_PER_MINUTE", "CREDENTIAL_CALLS_PER_MINUTE", "CLOUDFRONT_SECRET_SHA256", "SECURITY_CONTACT"}
    assert asked - others == set(stackfile.SETTINGS)


def test_the_remove_own_function_removes_a_stack_file_only_if_it_belongs_to_the_calling_stack(tmp_path: Path) -> None:
    file = tmp_path / "stack.json"
    stackfile.write(file, {"pid": os.getpid(), "id": "another-stack"})
    stackfile.remove_own(file, "the-stack")
    assert file.exists(), "a file of another stack is not touched"
    stackfile.write(file, {"id": "the-stack"})
    stackfile.remove_own(file, "the-stack")
    assert not file.exists()


def test_a_damaged_stack_file_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "stack.json"
    file.write_text("{")
    assert stackfile.read(file) is None


def test_an_environment_variable_sets_the_location_of_the_stack_file() -> None:
    assert stackfile.location({}) == ROOT / ".local" / "stack.json"
    assert stackfile.location({"CAUSEWAY_STACK_FILE": "/elsewhere.json"}) == Path("/elsewhere.json")
