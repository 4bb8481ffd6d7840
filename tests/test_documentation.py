"""What the documents say is what the code has: codes, routes, settings, targets, links, and the examples themselves."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from app import app
from chalicelib.delivery.worker import SCHEDULE
from chalicelib.foundation import fields, signatures
from chalicelib.foundation.fields import InvalidMessage, Message
from chalicelib.foundation.jsontext import DEPTH
from chalicelib.foundation.settings import Settings
from chalicelib.foundation.web import ALL_METHODS, BODY_BYTES
from chalicelib.openbanking.bank_record import LONGEST_CONSENT_DAYS
from chalicelib.openbanking.protocol.bank_calls import SaveConsent
from chalicelib.openbanking.protocol.errors import ADDITIONAL, VERSION_1, VERSION_2, Fault
from chalicelib.openbanking.protocol.scopes import SCOPES
from chalicelib.openbanking.protocol.tpp_calls import AuthorizeRequest, TokenRequest
from chalicelib.openbanking.protocol.webhooks import RELAYED
from infra.admin.commands import program
from infra.tour.browser import Browser, approve

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted(ROOT.glob("docs/*.md"))}
README = (ROOT / "README.md").read_text("utf-8")
EVERYTHING = "\n".join([README, *DOCUMENTS.values()])
TPP, BANK, OPERATIONS = (DOCUMENTS[f"docs/{name}.md"] for name in ("tpp-api", "bank-api", "operations"))
VECTOR = json.loads((ROOT / "tests/foundation/vector.json").read_text("utf-8"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of one language."""
    return [content for kind, content in BLOCK.findall(text) if kind == language]


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows, without the signs of code."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines]


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next of the same or a higher level."""
    level = heading.index(" ")
    found = re.search(
        rf"^{re.escape(heading)}$(.*?)(?=^#{{1,{level}}} |\Z)",
        BLOCK.sub(lambda block: re.sub("^#", " ", block[0], flags=re.MULTILINE), text),
        re.DOTALL | re.MULTILINE,
    )
    assert found, f"there is no heading {heading}"
    return found[1]


def longest(model: type[Message], member: str, value: Any) -> int:
    """How much a member of a message may hold, as the refusal of ``value``, which is too long, says it."""
    with pytest.raises(InvalidMessage) as refused:
        model.read({member: value})
    (reason,) = [problem.reason for problem in refused.value.problems if problem.field == member]
    return int(re.findall("[0-9]+", reason)[0])


def named(text: str, name: str) -> bool:
    """Whether ``name`` stands in ``text`` as a whole word."""
    return bool(re.search(rf"(?<![\w/]){re.escape(name)}(?![\w/{{])", text))


def anchors(text: str) -> set[str]:
    """The names that GitHub gives to the headings."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


# -- Errors and scopes


def test_the_banks_document_has_the_error_table_of_version_1() -> None:
    table = {row[0]: row[1] for row in rows(section(BANK, "### Version 1")) if row[0].isdigit()}

    assert table == {str(code): str(row.status) for code, row in VERSION_1.items()}


def test_the_banks_document_has_the_error_tables_of_version_2() -> None:
    found = rows(section(BANK, "### Version 2"))

    assert {row[0]: row[1] for row in found if len(row) == 3 and row[1].isdigit()} == {
        code: str(row.status) for code, row in VERSION_2.items()
    }
    assert {row[0] for row in found if len(row) == 2 and row[0].isupper()} == ADDITIONAL.keys()


def test_the_tpps_document_gives_its_codes_the_right_status() -> None:
    table = {row[0]: row[1] for row in rows(section(TPP, "## Errors")) if row[0] in VERSION_2}

    assert table == {code: str(VERSION_2[code].status) for code in VERSION_2 if code in table}
    unused = {"PAYMENT_SCHEME_INVALID", "SSL_CREDENTIALS_NOT_FOUND"}
    assert VERSION_2.keys() - table.keys() == unused


def test_every_pairing_that_is_documented_is_a_fault() -> None:
    pairs = [row[1:] for row in rows(section(BANK, "### Pairing of the two versions")) if row[1].isdigit()]
    faults = {(str(fault.value.v1), fault.value.v2, fault.value.additional or "") for fault in Fault}

    assert {tuple(pair) for pair in pairs} <= faults


def test_every_version_1_code_that_a_bank_can_get_is_paired() -> None:
    paired = {row[1] for row in rows(section(BANK, "### Pairing of the two versions"))}

    assert {str(code) for code in VERSION_1} - paired == {"4000"}


def test_both_scope_tables_are_complete() -> None:
    table = [row[:4] for row in rows(section(TPP, "## Scopes")) if row[0] in ("1", "2")]

    assert table == [
        [str(version), scope.name, scope.service, scope.meaning]
        for version, scopes in SCOPES.items()
        for scope in scopes.values()
    ]


# -- Routes, messages, webhooks


def documented_routes() -> Iterator[tuple[str, str]]:
    """Methods and paths of the service, without catch-alls, the demonstration banks, and files."""
    for path, methods in app.routes.items():
        if not path.startswith(("/demo-bank", "/static")) and methods.keys() != set(ALL_METHODS):
            yield from ((method, path) for method in methods)


@pytest.mark.parametrize(("method", "path"), list(documented_routes()))
def test_every_route_is_documented(method: str, path: str) -> None:
    page = [row[0] for row in rows(section(OPERATIONS, "## The local stack"))]

    assert named(EVERYTHING, f"{method} {path}") or path in page


@pytest.mark.parametrize("call", RELAYED, ids=lambda call: call.name)
def test_every_relayed_call_and_its_webhooks_are_documented(call: Any) -> None:
    row = next(row for row in rows(section(BANK, "## Webhooks to the bank")) if row[0] == f"{call.method} {call.path}")

    assert row[1:3] == [call.webhooks[1].path, call.webhooks[2].path]
    for webhook in call.webhooks.values():
        assert named(section(TPP, f"### `{call.method} {call.path}`"), webhook.scope)


@pytest.mark.parametrize(
    ("heading", "model"), [("### `POST /tpp/authorize`", AuthorizeRequest), ("### `POST /tpp/token`", TokenRequest)]
)
def test_every_member_of_a_request_is_documented(heading: str, model: Any) -> None:
    text = section(TPP, heading)

    assert [name for name in model.model_fields if not named(text, name)] == []


def test_the_retry_schedule_is_the_workers() -> None:
    (waits,) = [row[1:] for row in rows(OPERATIONS) if row[0].startswith("Wait,")]
    units = {"s": 1, "min": 60, "h": 3600}

    assert [int(number) * units[unit] for number, unit in map(str.split, waits)] == list(SCHEDULE)


# -- Operations


class Recorder(dict[str, str]):
    """An environment that remembers what it was asked for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


def test_every_setting_is_documented_and_no_other() -> None:
    environ = Recorder({"STAGE": "dev", "PUBLIC_URL": "https://causeway.example"})
    Settings.from_environment(environ)

    assert {row[0] for row in rows(section(OPERATIONS, "## Settings")) if row[0].isupper()} == environ.asked


@pytest.mark.parametrize(
    ("row", "value"),
    [
        ("Request body", BODY_BYTES),
        ("JSON, of requests and of banks' answers", DEPTH),
        ("Address that a PSU came by (request_url)", longest(SaveConsent, "request_url", "a" * 99999)),
        ("Scopes of a request or a consent", longest(SaveConsent, "scopes", ["a"] * 9999)),
        ("Scopes of a request or a consent", longest(AuthorizeRequest, "scopes", ["a"] * 9999)),
        ("Account identifiers in a consent", longest(SaveConsent, "account_ids", ["a"] * 9999)),
        ("Length of a consent", LONGEST_CONSENT_DAYS),
        ("Problems told in one answer", fields._PROBLEMS),
    ],
)
def test_the_limits_are_the_codes(row: str, value: int) -> None:
    limits = {cells[0]: cells[1] for cells in rows(section(OPERATIONS, "## Limits"))}

    assert re.findall(r"[0-9]+", limits[row])[0] == str(value)


def test_every_log_line_is_documented_and_no_other() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "chalicelib").rglob("*.py")]
    written = {event for source in sources for event in re.findall(r"log\.\w+\(\s*\"([^\"]+)\"", source)}
    cells = [row[0] for row in rows(section(OPERATIONS, "## Logs"))[2:]]

    assert {re.sub("^demo bank: .*", "demo bank: …", event) for event in written} == {
        event for cell in cells for event in cell.split(", ")
    }


def test_every_make_target_is_documented_and_no_other() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    code = "\n".join([*blocks(EVERYTHING, "sh"), *blocks(EVERYTHING, "bash"), *re.findall(r"`(.+?)`", EVERYTHING)])

    assert set(re.findall(r"\bmake ([a-z-]+)", code)) == targets


def test_every_command_of_the_operator_is_documented_and_no_other() -> None:
    commands = {
        f"{group.name} {command.name}"
        for group in program.registered_groups
        for command in group.typer_instance.registered_commands
    }
    cells = [row[0] for row in rows(section(OPERATIONS, "## The operator's command line"))]

    assert {" ".join(part.split()[:2]) for cell in cells for part in cell.split(", ")} - {"Command", "---"} == commands


# -- Links and examples


@pytest.mark.parametrize("name", ["README.md", *DOCUMENTS])
def test_links_lead_somewhere(name: str) -> None:
    text = README if name == "README.md" else DOCUMENTS[name]
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", BLOCK.sub("", text)):
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), target
        assert not anchor or anchor in anchors(file.read_text("utf-8")), target


def test_no_placeholder_is_left() -> None:
    folders = [folder for folder in ROOT.iterdir() if folder.is_dir() and not folder.name.startswith(".")]
    files = [*ROOT.glob("*.md"), *(file for folder in folders for file in folder.rglob("*.md"))]

    assert {"README.md", "CHANGELOG.md"} <= {file.name for file in files}
    assert [file.name for file in files if "@@" in file.read_text("utf-8")] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_examples_can_be_read(name: str) -> None:
    for example in blocks(DOCUMENTS[name], "json"):
        json.loads(example)
    for example in blocks(DOCUMENTS[name], "python"):
        compile(example, name, "exec")
    for example in blocks(DOCUMENTS[name], "bash"):
        subprocess.run(["bash", "-n"], input=example, text=True, check=True)


def test_the_signature_vector_is_the_one_of_the_tests_and_verifies() -> None:
    (example,) = [block for block in blocks(BANK, "bash") if "BEGIN PUBLIC KEY" in block]
    body, signature = re.findall(r"^printf '%s' '(.*)' > ", example, re.MULTILINE)
    public_key = example.partition("<<'END'\n")[2].partition("END\nprintf")[0]

    assert (body, signature, public_key) == (VECTOR["body"], VECTOR["signature"], VECTOR["public_key"])
    assert VECTOR["key_id"] in BANK
    assert signatures.verify([signatures.load_public_key(public_key)], body.encode(), signature)


def test_the_commands_that_verify_the_vector_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl on this machine")
    files, verify = [block for block in blocks(BANK, "bash") if "signature.b64" in block]
    (python,) = blocks(BANK, "python")
    printed: list[str] = []

    done = subprocess.run(
        ["bash", "-e"], input=files + verify, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    monkeypatch.chdir(tmp_path)
    exec(compile(python, "docs/bank-api.md", "exec"), {"print": printed.append})  # noqa: S102 - our own document

    assert (done.returncode, done.stdout) == (0, "Verified OK\n")
    assert printed == ["Verified OK"]


@pytest.mark.e2e
@pytest.mark.parametrize("library", ["authlib", "requests_oauthlib"])
def test_the_examples_with_oauth_libraries_complete_the_flow(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from infra.local.background import started

    (example,) = [block for block in blocks(TPP, "python") if f"from {library}" in block]
    printed: list[Any] = []

    def show(*values: Any) -> None:
        printed.append(values[-1])

    def be_the_psu(_: str) -> str:
        return approve(Browser(stack["client"]["callback_url"], lambda *_: None), printed[-1])

    for variable in ("AUTHLIB_INSECURE_TRANSPORT", "OAUTHLIB_INSECURE_TRANSPORT"):
        monkeypatch.setenv(variable, "")
    with started() as stack:
        (tmp_path / ".local").mkdir()
        (tmp_path / ".local" / "stack.json").write_text(json.dumps(stack), "utf-8")
        monkeypatch.chdir(tmp_path)
        exec(compile(example, "docs/tpp-api.md", "exec"), {"print": show, "input": be_the_psu})  # noqa: S102 - our own document

    assert len(printed[-1]["accounts"]) > 1
