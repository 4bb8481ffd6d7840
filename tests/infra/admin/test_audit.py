"""The audit trail records each command with its author, and every change of an exported line is detected."""

import ast
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib import bootstrap
from chalicelib.foundation import log
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.moved_clock import MovedClock
from infra.admin import audit, connection, operator_log
from infra.admin.commands import program
from infra.admin.trace import LocalLog
from infra.local import logfile
from tests.cards.issuer import Issuer
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run
from tests.kit.source_code import MODULES, SOURCES, nodes

DAY = 24 * 3600


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Causeway]:
    """Connect the commands with the test service as on a deployed stage, with a log file."""
    monkeypatch.setattr(connection, "settings_of_local_stack", lambda environ: {})
    monkeypatch.setattr(bootstrap, "hub", lambda: causeway.hub)
    monkeypatch.setattr(operator_log, "caller", lambda hub: "arn:aws:iam::1:user/grace")
    causeway.clock.advance(time.time() - causeway.clock.time())  # as the lines of the log have it
    path = tmp_path / "stack.log.jsonl"
    handler = logfile.LogFile(path, log.Formatter())
    log.logger().addHandler(handler)
    monkeypatch.setattr("infra.admin.trace.open_log", lambda hub: LocalLog(path))
    yield causeway
    log.logger().removeHandler(handler)
    handler.close()


def export_trail(causeway: Causeway, tmp_path: Path) -> tuple[Path, str, list[dict[str, Any]]]:
    file = tmp_path / "audit.jsonl"
    causeway.clock.advance(600)
    made = done("audit", "export", "--since", "1h", "--out", str(file))
    lines = [json.loads(text) for text in file.read_text("utf-8").splitlines()]
    assert made["lines"] == len(lines) - 1
    return file, made["digest"], lines


def test_the_audit_trail_lists_every_changing_command_with_the_author(causeway: Causeway, tmp_path: Path) -> None:
    consent_id = causeway.tpp.tokens(1)["consent_id"]
    done("consents", "show", consent_id)
    done("consents", "revoke", consent_id)
    causeway.clock.advance(1)
    done("clients", "update", causeway.tpp.client_id, "--title", "Other")

    commands = [line for line in export_trail(causeway, tmp_path)[2] if line["kind"] == "command"]

    assert [(each["command"], each["arguments"], each["options"]) for each in commands] == [
        ("consents revoke", [consent_id], []),
        ("clients update", [causeway.tpp.client_id], ["--title"]),
    ]
    assert {each["by"] for each in commands} == {"arn:aws:iam::1:user/grace"}


def test_the_audit_trail_records_only_explicit_command_line_options(causeway: Causeway, tmp_path: Path) -> None:
    bank = ["DEUTDEFF", "--name", "Example", "--country", "DE", "--api-version", "2", "--signature-optional"]
    run("banks", "add", *bank, "--domain", "https://b.example", "--authorization-url", "https://b.example/consent")
    causeway.clock.advance(1)
    run("banks", "update", "DEUTDEFF", "--inactive")

    commands = [line for line in export_trail(causeway, tmp_path)[2] if line["kind"] == "command"]

    assert [(each["command"], set(each["options"])) for each in commands] == [
        (
            "banks add",
            {"--name", "--country", "--api-version", "--signature-optional", "--domain", "--authorization-url"},
        ),
        ("banks update", {"--inactive"}),
    ]


def test_audit_export_includes_client_changes_made_after_the_clock_was_moved(
    causeway: Causeway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = MovedClock(causeway.clock, lambda: 7 * DAY)
    hub = causeway.another_process(clock=moved)
    monkeypatch.setattr(bootstrap, "hub", lambda: hub)
    hub.openbanking.clients.update(causeway.tpp.client_id, owner="tpp@example.com", title="Later")
    changed_at = timestamp(moved.time())

    lines = export_trail(causeway, tmp_path)[2]

    assert [line["at"] for line in lines if line["kind"] == "client changed"] == [changed_at]
    period = ["--since", changed_at, "--until", timestamp(moved.time())]
    assert done("audit", "export", *period, "--out", str(tmp_path / "period.jsonl"))["lines"] == 1


def test_audit_export_excludes_changes_at_the_end_time_of_the_period(causeway: Causeway, tmp_path: Path) -> None:
    start = causeway.clock.time()
    causeway.clock.advance(60)
    middle = causeway.clock.time()
    done("keys", "rotate-card")
    causeway.hub.openbanking.clients.update(causeway.tpp.client_id, owner="tpp@example.com", title="New title")
    causeway.clock.advance(60)
    times = [timestamp(each) for each in (start, middle, causeway.clock.time())]

    counts = [
        done("audit", "export", "--since", first, "--until", end, "--out", str(tmp_path / first))["lines"]
        for first, end in itertools.pairwise(times)
    ]

    assert counts == [0, 2]
    assert log_lines_until(middle, tmp_path) == []


def log_lines_until(end: int, tmp_path: Path) -> list[Any]:
    """Return the log lines found in a period that ends in the same second as the only log line."""
    path = tmp_path / "other.jsonl"
    path.write_text(json.dumps({"message": "consent ended", "timestamp": timestamp(end)}), "utf-8")
    return list(LocalLog(path).search(["consent ended"], end - 60, end))


def test_audit_export_includes_a_change_of_the_current_second(causeway: Causeway, tmp_path: Path) -> None:
    done("keys", "rotate-card")

    assert done("audit", "export", "--since", "1h", "--out", str(tmp_path / "audit.jsonl"))["lines"] == 1


@pytest.mark.parametrize("until", ["1h", "2h"])
def test_an_audit_period_with_an_end_before_the_beginning_is_rejected(
    causeway: Causeway, tmp_path: Path, until: str
) -> None:
    out = tmp_path / "audit.jsonl"

    assert refused("audit", "export", "--since", "1h", "--until", until, "--out", str(out)) == (
        "--until must be later than --since"
    )
    assert not out.exists()


def test_the_audit_trail_lists_refused_commands(causeway: Causeway, tmp_path: Path) -> None:
    refused("keys", "remove-data", "77")

    assert "keys remove-data" in [line.get("command") for line in export_trail(causeway, tmp_path)[2]]


def test_the_audit_trail_lists_client_changes_and_revealed_card_data(causeway: Causeway, tmp_path: Path) -> None:
    causeway.hub.openbanking.clients.update(causeway.tpp.client_id, owner="tpp@example.com", title="New title")
    Issuer(causeway).card()

    lines = export_trail(causeway, tmp_path)[2]

    (change,) = (line for line in lines if line["kind"] == "client changed")
    assert (change["by"], change["client_id"]) == ("tpp@example.com", causeway.tpp.client_id)
    assert change["after"] == {"title": "New title"}
    assert {line["field"] for line in lines if line["kind"] == "card data revealed"} >= {"pan", "cvc2"}
    assert [line["at"] for line in lines[:-1]] == sorted(line["at"] for line in lines[:-1])


def test_the_audit_trail_lists_all_audit_log_lines_with_the_author(causeway: Causeway, tmp_path: Path) -> None:
    for message in audit.LOGGED:
        log.audit(message, by="somebody")

    lines = export_trail(causeway, tmp_path)[2]

    assert {(line["kind"], line["by"]) for line in lines[:-1] if line["kind"] != "command"} == {
        (message, "somebody") for message in audit.LOGGED
    }


def test_audit_messages_are_logged_only_by_log_audit() -> None:
    calls = [
        (ast.unparse(node.func), node.args[0].value)
        for module in MODULES
        if any(message in SOURCES[module].read_text("utf-8") for message in audit.LOGGED)
        for node in nodes(module)
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
    ]

    for message in audit.LOGGED:
        assert {called for called, said in calls if said == message} == {"log.audit"}, message


def test_audit_verify_accepts_an_export_and_audit_export_never_overwrites_a_file(
    causeway: Causeway, tmp_path: Path
) -> None:
    done("keys", "rotate-card")
    file, digest, lines = export_trail(causeway, tmp_path)

    assert done("audit", "verify", str(file), "--digest", digest) == {"lines": len(lines) - 1, "problem": None}
    assert refused("audit", "export", "--since", "1h", "--out", str(file)).endswith("cannot be written: File exists")
    assert run("audit", "verify", str(file), "--digest", "0" * 64).exit_code == 1


def broken_at(number: int) -> str:
    return f"line {number} was changed, or lines before it were added, moved or removed"


@pytest.mark.parametrize(
    ("alter", "problem"),
    [
        (lambda lines: [{**lines[0], "by": "nobody"}, *lines[1:]], broken_at(1)),
        (lambda lines: lines[1:], broken_at(1)),
        (lambda lines: [lines[1], lines[0], *lines[2:]], broken_at(1)),
        (lambda lines: [lines[0], *lines[2:]], broken_at(2)),
        (lambda lines: lines[:-1], "its last lines are missing"),
        (lambda lines: [*lines, lines[-1]], broken_at(4)),
        (lambda lines: [], "its last lines are missing"),
    ],
)
def test_audit_verify_finds_changed_removed_and_reordered_lines(alter: Any, problem: str) -> None:
    lines = list(audit.chain([{"at": 1, "by": "a"}, {"at": 2, "by": "b"}]))
    assert audit.find_problem(lines, lines[-1]["digest"]) is None

    assert audit.find_problem(alter(lines), None) == problem


def test_new_digests_of_a_changed_audit_file_differ_from_the_printed_digest() -> None:
    printed = list(audit.chain([{"by": "a"}]))[-1]["digest"]

    anew = list(audit.chain([{"by": "b"}]))
    assert audit.find_problem(anew, printed) == (f"the digest of this file is {anew[-1]['digest']}, not the one passed")


def exported_file(tmp_path: Path) -> tuple[Path, str]:
    lines = list(audit.chain([{"by": "a"}, {"by": "b", "title": "One\u2028two"}]))
    file = tmp_path / "audit.jsonl"
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return file, lines[-1]["digest"]


def test_audit_verify_accepts_line_separators_in_titles_and_uppercase_digests(tmp_path: Path) -> None:
    file, digest = exported_file(tmp_path)

    assert done("audit", "verify", str(file), "--digest", digest.upper())["problem"] is None


@pytest.mark.parametrize("digest", ["", "5f0c", "g" * 64, "0" * 65, "0" * 64 + "\n"])
def test_audit_verify_rejects_an_invalid_digest(tmp_path: Path, digest: str) -> None:
    assert refused("audit", "verify", str(exported_file(tmp_path)[0]), "--digest", digest) == (
        "a digest has 64 hexadecimal digits"
    )


@pytest.mark.parametrize("text", ["{", "[]", '"text"', "", "[" * 100_000])
def test_audit_verify_names_the_number_of_a_line_that_is_not_a_json_object(tmp_path: Path, text: str) -> None:
    file, _ = exported_file(tmp_path)
    lines = file.read_text("utf-8").split("\n")
    file.write_text("\n".join([lines[0], text, *lines[1:]]), "utf-8")

    assert refused("audit", "verify", str(file)) == f"line 2 of {file} is not a JSON object"


def test_audit_verify_names_the_number_of_a_line_that_is_not_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    file.write_bytes(b'{}\n{"by": "\xff"}\n')

    assert refused("audit", "verify", str(file)) == f"line 2 of {file} is not a JSON object"


def test_an_unreadable_audit_file_is_reported_with_path_and_reason(tmp_path: Path) -> None:
    missing = tmp_path / "missing.jsonl"

    assert refused("audit", "verify", str(missing)) == f"no such file: {missing}"
    assert refused("audit", "verify", str(tmp_path)) == f"{tmp_path} cannot be read: Is a directory"


def test_the_operator_log_records_all_commands_except_read_only_commands() -> None:
    """The name of a command determines whether it is recorded. Add each new read-only command to this test."""
    names = [command.name or "" for command in program.registered_commands]
    for group in (each.typer_instance for each in program.registered_groups):
        assert group is not None
        names += [f"{group.info.name} {command.name}" for command in group.registered_commands]

    assert sorted(name for name in names if not operator_log.Command(name).changes) == [
        *("audit export", "audit verify", "banks list", "banks show", "banks test"),
        *("certificates blocked", "certificates explain", "clients list", "clients show", "clock show"),
        *("consents show", "customers list", "deliveries list", "deliveries show", "doctor", "keys data"),
        *("keys show", "ledger show", "ledger verify", "payments unresolved", "programme show", "retention show"),
        *("statistics export", "statistics show", "trace", "users show"),
    ]
