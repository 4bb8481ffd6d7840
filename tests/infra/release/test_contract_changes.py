"""The release check fails if the changelog does not name an API contract change since the last release."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.release import contract_changes as command
from infra.release.contract_changes import APIS, find_unnamed, main, unnamed_changes
from infra.render.contract.lines import contract
from infra.render.openapi.documents import DOCUMENTS

RELEASE = [
    "POST /pay",
    "POST /pay request body  object, application/json",
    "POST /pay request body.amount  string, length 1..10, required",
    'POST /pay request body.mode  value "fast"',
    'POST /pay response 400.code  value "BUSY"',
    "GET /list",
    "GET /list request query limit  integer, optional",
    "POST /api request body(createCard).pin  string, optional",
    "Account.iban  string, length 1..34, required",
    "GET /list security  clientId and mutualTLS",
    'Country  value "DE", "FR"',
    "POST /pay response 503  Error, application/json",
    "POST /pay request body.debtor  Account, optional",
    "POST /pay response 200.balance  Balance, optional",
    "POST /pay request body.debtor.bic  string, optional",
    "Account.note  string, optional",
    "webhook accounts",
]


def unnamed(removed: str, *notes: str, added: str = "") -> list[str]:
    present = [line for line in RELEASE if line != removed] + ([added] if added else [])
    return unnamed_changes("tpp", RELEASE, present, notes)


@pytest.mark.parametrize("line", RELEASE)
def test_a_removed_api_contract_line_must_be_named_in_the_changelog(line: str) -> None:
    assert f"- {line}" in unnamed(line)


def test_a_changed_api_contract_line_must_be_named_in_the_changelog() -> None:
    changed = "POST /pay request body.amount  string, length 1..9, required"

    assert f"- {RELEASE[2]}" in unnamed(RELEASE[2], added=changed)
    assert unnamed(RELEASE[2], "`amount` of `POST /pay` has at most 9 characters.", added=changed) == []


@pytest.mark.parametrize(
    ("line", "note"),
    [
        (RELEASE[2], "`POST /pay` no longer takes `amount`."),
        (RELEASE[2], "TPP API: `amount` is gone everywhere."),
        (RELEASE[3], "`POST /pay`: the mode `fast` is gone."),
        (RELEASE[4], "`POST /pay` no longer answers `BUSY`."),
        (RELEASE[6], "`GET /list` has no `limit`."),
        (RELEASE[7], "`createCard` makes every PIN itself; `pin` is refused."),
        (RELEASE[8], "TPP API: `iban` may be missing."),
        (RELEASE[9], "`GET /list` takes no certificate (`clientId and mutualTLS`)."),
        (RELEASE[10], "TPP API: `Country` lacks France."),
        (RELEASE[11], "`POST /pay` never answers `503`."),
    ],
)
def test_a_changelog_note_that_names_a_member_and_its_operation_or_api_covers_a_contract_line(
    line: str, note: str
) -> None:
    assert unnamed(line, note) == []


@pytest.mark.parametrize("note", ["`amount` is gone.", "`POST /pay` takes less.", "amount of `POST /pay` is gone.", ""])
def test_a_changelog_note_that_names_no_member_or_no_operation_covers_no_contract_line(note: str) -> None:
    assert unnamed(RELEASE[2], note) == [f"- {RELEASE[2]}"]


def test_a_removed_operation_must_be_named_only_once_in_the_changelog() -> None:
    present = [line for line in RELEASE if not line.startswith("GET /list")]

    assert unnamed_changes("tpp", RELEASE, present, ["`GET /list` is gone."]) == []
    assert len(unnamed_changes("tpp", RELEASE, present, [])) == 3


@pytest.mark.parametrize(
    ("demand", "note"),
    [
        ("POST /pay request body.creditor  string, required", "`POST /pay` demands `creditor`."),
        ("GET /list request header DPoP  string, required", "`GET /list` demands a `DPoP` proof."),
        ("Account.name  string, required", "TPP API: accounts need a `name`."),
        ("webhook accounts response 200.page  string, required", "Banks answer `accounts` with `page`."),
        ('POST /pay request body  rule {"not":{"required":["a"]}}', "`POST /pay` refuses `a`."),
        ('POST /pay request body.debtor.bic  value "A"', "`POST /pay` takes only one `bic`."),
        ('POST /pay request body.debtor.name  value "A"', "`POST /pay`: the debtor's `name` is `A`."),
        ('Account.note  value "A"', "TPP API: accounts have few values of `note`."),
        ('Account  rule {"not":{"required":["a"]}}', "TPP API: accounts have no `a`."),
        ("POST /api request body(createCard)  object, required", "`POST /api`: `createCard` has a `body`."),
    ],
)
def test_a_new_obligation_in_existing_operations_must_be_named_in_the_changelog(demand: str, note: str) -> None:
    assert unnamed("", added=demand) == [f"+ {demand}"]
    assert unnamed("", note, added=demand) == []


@pytest.mark.parametrize(
    "line",
    [
        "POST /pay request body.note  string, optional",
        "POST /pay response 200.id  string, required",
        "POST /new request body.amount  string, required",
        'POST /pay response 400.code  value "LATE"',
        "Balance.amount  string, required",
        "webhook accounts request body.scope  string, required",
        'POST /pay request body.mode  value "slow"',
        'POST /pay response 200.balance  value "slow"',
        "POST /api request body(closeCard).id  string, required",
        'Balance  rule {"not":{"required":["a"]}}',
    ],
)
def test_a_new_contract_line_without_an_obligation_for_callers_needs_no_note(line: str) -> None:
    assert unnamed("", added=line) == []


@pytest.mark.parametrize("content", ['value "A"', 'rule {"not":{"required":["a"]}}'])
def test_the_values_and_rules_of_a_new_optional_member_need_no_changelog_note(content: str) -> None:
    place = "POST /pay request body.note"

    assert unnamed_changes("tpp", RELEASE, [*RELEASE, f"{place}  string, optional", f"{place}  {content}"], []) == []


def _add_values(operation: Any, schema: Any) -> None:
    schema["properties"]["bic"]["enum"] = ["ALPHGB21"]


def _add_any_of(operation: Any, schema: Any) -> None:
    schema["anyOf"] = [{"required": ["state"]}, {"required": ["redirect_uri"]}]


def _add_not(operation: Any, schema: Any) -> None:
    schema["not"] = {"required": ["state", "redirect_uri"]}


def _require_body(operation: Any, schema: Any) -> None:
    operation["requestBody"]["required"] = True


@pytest.fixture(scope="module")
def tpp_api() -> Any:
    document, path = DOCUMENTS["tpp"](), "/tpp/authorize"
    return document | {"paths": {path: document["paths"][path]}}


@pytest.mark.parametrize("change", [_add_values, _add_any_of, _add_not, _require_body])
def test_a_narrowed_request_of_the_tpp_api_must_be_named_in_the_changelog(
    tpp_api: Any, change: Callable[[Any, Any], None]
) -> None:
    document = copy.deepcopy(tpp_api)
    operation = document["paths"]["/tpp/authorize"]["post"]
    operation["requestBody"]["required"] = False
    before = contract(document)
    change(operation, _body_schema(document, operation))

    assert any(each.startswith("+ ") for each in unnamed_changes("tpp", before, contract(document), []))


def _body_schema(document: Any, operation: Any) -> Any:
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


# -- this repository's


@pytest.mark.parametrize("name", APIS)
def test_the_changelog_names_all_contract_changes_since_the_last_release(name: str) -> None:
    assert find_unnamed(name) == []


def test_the_command_prints_the_changes_missing_in_the_changelog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tpp.txt").write_text("- GET /list\n+ GET /accounts\n", "utf-8")
    (tmp_path / "CHANGELOG.md").write_text("## Next version\n\nNo changes yet.\n", "utf-8")
    monkeypatch.setattr(command, "PLACE", tmp_path)
    monkeypatch.setattr(command, "CHANGELOG", tmp_path / "CHANGELOG.md")
    monkeypatch.setattr(command, "APIS", {"tpp": "TPP API"})

    assert main([]) == 0
    assert "tpp: - GET /list\n" in capsys.readouterr().out
    (tmp_path / "CHANGELOG.md").write_text("## Next version\n\n- TPP API: `GET /list` is gone.\n", "utf-8")
    main([])
    assert capsys.readouterr().out == ""
