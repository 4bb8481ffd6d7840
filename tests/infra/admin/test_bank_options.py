"""The options of ``banks add`` and ``banks update`` for the switches of the unified API."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib.foundation.crypto import signatures
from chalicelib.openbanking.records.banks import UnknownBank
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run

BIC = "GAMMGB2L"
DEFAULTS = {"unsigned_amounts": False, "balance_type": "booked", "credit_limit_included": None, "no_date_to": False}
CHANGES: dict[str, tuple[int, str, dict[str, Any]]] = {
    "unsigned amounts": (1, "--unsigned-amounts", {"unsigned_amounts": True}),
    "signed amounts": (1, "--signed-amounts", {"unsigned_amounts": False}),
    "available": (1, "--balance-type available", {"balance_type": "available"}),
    "booked": (1, "--balance-type booked", {"balance_type": "booked"}),
    "included": (1, "--credit-limit-included", {"credit_limit_included": True}),
    "excluded": (1, "--credit-limit-excluded", {"credit_limit_included": False}),
    "unstated": (1, "--credit-limit-unstated", {"credit_limit_included": None}),
    "unsigned amounts in version 2": (2, "--unsigned-amounts", {"unsigned_amounts": True}),
    "included in version 2": (2, "--credit-limit-included", {"credit_limit_included": True}),
    "no date_to": (2, "--no-date-to", {"no_date_to": True}),
    "date_to": (2, "--date-to", {"no_date_to": False}),
}


@pytest.fixture(autouse=True)
def removed(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Connect the commands with the test service, and remove the bank afterwards, because other tests count banks."""
    monkeypatch.setattr("infra.admin.connection.connect", lambda: causeway.hub)
    yield
    with contextlib.suppress(UnknownBank):
        causeway.hub.openbanking.banks.remove(BIC)


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "bank.pem"
    path.write_text(signatures.public_pem(signatures.load_private_key(signatures.generate_private_pem()).public_key()))
    return path


def new_bank(key_file: Path, *more: str, version: int = 1) -> list[str]:
    """Return the arguments that register a bank."""
    arguments = ["banks", "add", BIC, "--name", "Gamma", "--country", "GB", "--api-version", str(version)]
    arguments += ["--domain", "http://127.0.0.1:9/bank", "--authorization-url", "http://127.0.0.1:9/bank/authorize"]
    return [*arguments, "--public-key", str(key_file), *more]


def switches() -> dict[str, Any]:
    """Return the switches that ``banks show`` prints."""
    shown = done("banks", "show", BIC)["bank"]
    return {name: shown[name] for name in DEFAULTS}


@pytest.mark.parametrize(("version", "option", "changed"), CHANGES.values(), ids=CHANGES)
def test_a_switch_of_banks_add_is_stored_and_shown(
    key_file: Path, version: int, option: str, changed: dict[str, Any]
) -> None:
    assert done(*new_bank(key_file, *option.split(), version=version))["bank"].items() >= (DEFAULTS | changed).items()

    assert switches() == DEFAULTS | changed


@pytest.mark.parametrize(("version", "option", "changed"), CHANGES.values(), ids=CHANGES)
def test_banks_update_changes_one_switch_and_keeps_the_others(
    key_file: Path, version: int, option: str, changed: dict[str, Any]
) -> None:
    before = {1: ("--balance-type", "available"), 2: ("--no-date-to",)}[version]
    made = done(*new_bank(key_file, "--unsigned-amounts", "--credit-limit-included", *before, version=version))["bank"]

    assert done("banks", "update", BIC, *option.split())["bank"] == made | changed
    assert switches() == {name: made[name] for name in DEFAULTS} | changed


def test_other_changes_of_a_bank_keep_its_switches(key_file: Path) -> None:
    done(*new_bank(key_file, "--unsigned-amounts", "--balance-type", "available", "--credit-limit-excluded"))

    done("banks", "update", BIC, "--name", "Delta")

    changed = {"unsigned_amounts": True, "balance_type": "available", "credit_limit_included": False}
    assert switches() == DEFAULTS | changed


def test_banks_show_prints_the_switches_as_text(key_file: Path) -> None:
    done(*new_bank(key_file, "--unsigned-amounts"))

    lines = [line.split("  ") for line in run("banks", "show", BIC).stdout.splitlines()]
    shown = {line[0]: line[-1].strip() for line in lines}

    assert [shown[name.replace("_", " ")] for name in DEFAULTS] == ["yes", "booked", "-", "no"]


@pytest.mark.parametrize(
    ("version", "option", "sentence"),
    [
        (2, "--balance-type available", "balance_type applies to banks of version 1 only"),
        (1, "--no-date-to", "no_date_to applies to banks of version 2 only"),
    ],
)
def test_a_switch_without_effect_in_the_bank_version_is_refused(
    key_file: Path, version: int, option: str, sentence: str
) -> None:
    assert refused(*new_bank(key_file, *option.split(), version=version)) == sentence
    done(*new_bank(key_file, version=version))

    assert refused("banks", "update", BIC, *option.split()) == sentence
    assert switches() == DEFAULTS


@pytest.mark.parametrize("option", ["--credit-limit-included", "--credit-limit-excluded"])
def test_two_options_for_the_credit_limit_are_refused(key_file: Path, option: str) -> None:
    done(*new_bank(key_file))

    assert refused("banks", "update", BIC, option, "--credit-limit-unstated").startswith("use only one of --credit-")


def test_an_unknown_balance_type_exits_with_code_2(key_file: Path) -> None:
    assert run(*new_bank(key_file, "--balance-type", "expected")).exit_code == 2


@pytest.mark.parametrize(
    ("version", "option"), [(1, ("--balance-type", "available")), (2, ("--no-date-to",))], ids=["1 to 2", "2 to 1"]
)
def test_a_changed_api_version_resets_only_the_switches_of_the_old_version(
    key_file: Path, version: int, option: tuple[str, ...]
) -> None:
    done(*new_bank(key_file, "--unsigned-amounts", "--credit-limit-included", *option, version=version))

    done("banks", "update", BIC, "--api-version", str(3 - version))

    assert switches() == DEFAULTS | {"unsigned_amounts": True, "credit_limit_included": True}
