"""The audit trail: it has who did what, and nobody changes a line of it unnoticed."""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib import bootstrap
from chalicelib.foundation import log
from infra.admin import audit, connection, operator_log
from infra.admin.trace import LocalLog
from infra.local import logfile
from tests.cards.scenes import Scene
from tests.infra.admin.command_line import built, done, refused, run
from tests.source_code import MODULES, tree
from tests.world import World


@pytest.fixture(autouse=True)
def connected(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The commands work on the world, as they do on a stage, and its log is a file."""
    monkeypatch.setattr("typer.testing._get_command", built)
    monkeypatch.setattr(connection, "settings_of_local_stack", lambda environ: {})
    monkeypatch.setattr(bootstrap, "hub", lambda: world.hub)
    monkeypatch.setattr(operator_log, "caller", lambda hub: "arn:aws:iam::1:user/grace")
    world.clock.advance(time.time() - world.clock.time())  # as the lines of the log have it
    path = tmp_path / "stack.log.jsonl"
    handler = logfile.LogFile(path, log.Formatter())
    log.logger().addHandler(handler)
    monkeypatch.setattr("infra.admin.trace.open_log", lambda hub: LocalLog(path))
    yield world
    log.logger().removeHandler(handler)
    handler.close()


def export_trail(world: World, tmp_path: Path) -> tuple[Path, str, list[dict[str, Any]]]:
    """The exported file, its printed digest, and its lines."""
    file = tmp_path / "audit.jsonl"
    world.clock.advance(600)
    made = done("audit", "export", "--since", "1h", "--out", str(file))
    lines = [json.loads(text) for text in file.read_text("utf-8").splitlines()]
    assert made["lines"] == len(lines) - 1
    return file, made["digest"], lines


def test_every_command_that_changes_something_is_in_the_trail_with_its_author(world: World, tmp_path: Path) -> None:
    consent_id = world.tokens(1)["consent_id"]
    done("consents", "show", consent_id)
    done("consents", "revoke", consent_id)
    world.clock.advance(1)
    done("clients", "update", world.client.client_id, "--title", "Other")

    commands = [line for line in export_trail(world, tmp_path)[2] if line["kind"] == "command"]

    assert [(each["command"], each["arguments"], each["options"]) for each in commands] == [
        ("consents revoke", [consent_id], []),
        ("clients update", [world.client.client_id], ["--title"]),
    ]
    assert {each["by"] for each in commands} == {"arn:aws:iam::1:user/grace"}


def test_only_options_on_the_command_line_are_recorded_as_they_are_spelled_there(world: World, tmp_path: Path) -> None:
    bank = ["DEUTDEFF", "--name", "Example", "--country", "DE", "--api-version", "2", "--signature-optional"]
    run("banks", "add", *bank, "--domain", "https://b.example", "--authorization-url", "https://b.example/consent")
    world.clock.advance(1)
    run("banks", "update", "DEUTDEFF", "--inactive")

    commands = [line for line in export_trail(world, tmp_path)[2] if line["kind"] == "command"]

    assert [(each["command"], set(each["options"])) for each in commands] == [
        (
            "banks add",
            {"--name", "--country", "--api-version", "--signature-optional", "--domain", "--authorization-url"},
        ),
        ("banks update", {"--inactive"}),
    ]


def test_a_refused_command_is_in_the_trail_too(world: World, tmp_path: Path) -> None:
    refused("keys", "remove-data", "77")

    assert "keys remove-data" in [line.get("command") for line in export_trail(world, tmp_path)[2]]


def test_the_trail_has_changes_of_clients_and_revealed_card_data(world: World, tmp_path: Path) -> None:
    world.hub.openbanking.clients.update(world.client.client_id, owner="tpp@example.com", title="New title")
    Scene(world).card()

    lines = export_trail(world, tmp_path)[2]

    (change,) = (line for line in lines if line["kind"] == "client changed")
    assert (change["by"], change["client_id"]) == ("tpp@example.com", world.client.client_id)
    assert change["after"] == {"title": "New title"}
    assert {line["field"] for line in lines if line["kind"] == "card data revealed"} >= {"pan", "cvc2"}
    assert [line["at"] for line in lines[:-1]] == sorted(line["at"] for line in lines[:-1])


def test_the_trail_has_ended_consents_resent_deliveries_resolved_orders_and_new_passwords(
    world: World, tmp_path: Path
) -> None:
    for message in audit.LOGGED:
        log.audit(message, by="somebody")

    lines = export_trail(world, tmp_path)[2]

    assert {(line["kind"], line["by"]) for line in lines[:-1] if line["kind"] != "command"} == {
        (message, "somebody") for message in audit.LOGGED
    }


def test_the_lines_of_the_trail_are_logged_at_every_level() -> None:
    calls = [
        (ast.unparse(node.func), node.args[0].value)
        for module in MODULES
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
    ]

    for message in audit.LOGGED:
        assert {called for called, said in calls if said == message} == {"log.audit"}, message


def test_an_exported_file_is_verified_and_not_written_twice(world: World, tmp_path: Path) -> None:
    done("keys", "rotate-card")
    file, digest, lines = export_trail(world, tmp_path)

    assert done("audit", "verify", str(file), "--digest", digest) == {"lines": len(lines) - 1, "problem": None}
    assert refused("audit", "export", "--since", "1h", "--out", str(file)).endswith("cannot be written: File exists")
    assert run("audit", "verify", str(file), "--digest", "0" * 64).exit_code == 1


@pytest.mark.parametrize(
    ("alter", "problem"),
    [
        (lambda lines: [{**lines[0], "by": "nobody"}, *lines[1:]], "line 1 does not have its digest"),
        (lambda lines: lines[1:], "line 1 does not have its digest"),
        (lambda lines: [lines[1], lines[0], *lines[2:]], "line 1 does not have its digest"),
        (lambda lines: lines[:-1], "its last lines are missing"),
        (lambda lines: [*lines, lines[-1]], "line 4 does not have its digest"),
        (lambda lines: [], "its last lines are missing"),
    ],
)
def test_an_altered_line_is_found(alter: Any, problem: str) -> None:
    lines = list(audit.chain([{"at": 1, "by": "a"}, {"at": 2, "by": "b"}]))
    assert audit.find_problem(lines, lines[-1]["digest"]) is None

    assert audit.find_problem(alter(lines), None) == problem


def test_digests_that_were_computed_anew_differ_from_the_printed_one() -> None:
    printed = list(audit.chain([{"by": "a"}]))[-1]["digest"]

    assert audit.find_problem(list(audit.chain([{"by": "b"}])), printed) == "its digest is another"
