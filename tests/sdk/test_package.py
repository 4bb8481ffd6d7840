"""The package as its users get it: generated modules are up to date, types hold, and importing takes little time."""

from __future__ import annotations

import ast
import importlib
import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from infra.render.sdk import __main__ as command
from infra.render.sdk import modules
from tests.sdk.user_programs import SOURCE, mypy

BUDGET = 0.150
"""The most seconds that an import may take on a machine that does nothing else."""
COMPARED, COMPARED_SECONDS = "import asyncio, email.message, http.client, logging, ssl, urllib.request", 0.047
"""An import of the standard library, and what it takes on such a machine: on a busy one both imports take longer."""
PROGRAM = """
from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal

from causeway.tpp import AccountReferenceV2, AccountV1, ApiError, AsyncTpp, BalancesAnswerV1, OutcomeUnknown, Psu
from causeway.tpp import InstructedAmountV2, PaymentAccountV2, SinglePaymentV2, Tokens, Tpp, parse_event
from causeway.tpp import ConsentAuthorisedEvent, PaymentStatusChangedEvent


def number(account: AccountV1 | AccountReferenceV2) -> str | None:
    match account:
        case AccountV1():
            return account.id
        case AccountReferenceV2():
            return account.iban


def total(tpp: Tpp, tokens: Tokens) -> Decimal:
    consent = tpp.consent(tokens, on_refresh=lambda pair: print(pair.expires_at))
    found = Decimal()
    for account in consent.accounts(psu=Psu(ip_address="203.0.113.7")):
        answer = consent.balances(number(account))
        if isinstance(answer, BalancesAnswerV1):
            found += answer.accounts[0].balance
        else:
            found += answer.balances[0].balance_amount.amount
    return found


def pay(tpp: Tpp, tokens: Tokens, currency: str) -> str:
    order = SinglePaymentV2(
        creditor_account=PaymentAccountV2(iban="DE12100999000005820011"),
        instructed_amount=InstructedAmountV2(amount=Decimal("1.10"), currency=currency),
        callback_url="https://tpp.example.com/callback",
    )
    try:
        return tpp.consent(tokens).pay(order, idempotency_key="order-1").payment_id
    except OutcomeUnknown as error:
        return error.order_id
    except ApiError as error:
        return error.advice


async def names(tpp: AsyncTpp, tokens: Tokens) -> AsyncIterator[str | None]:
    async for account in tpp.consent(tokens).accounts():
        yield account.name


def told(body: bytes) -> str:
    match parse_event(body):
        case ConsentAuthorisedEvent(data=data):
            return data.consent_id
        case PaymentStatusChangedEvent(data=data):
            return data.payment_id
        case event:
            return event.type
"""
MISTAKES = {
    "a scope that does not exist": 'tpp.authorize(bic="DEMODEF1", scopes=["account"])',
    "a float as amount": 'InstructedAmountV2(amount=1.1, currency="EUR")',
    "a member that does not exist": "[account.number for account in tpp.consent(tokens).accounts()]",
    "an answer of one version only": "tpp.consent(tokens).balances().balances",
    "no client id": 'Tpp("https://hub.example")',
}


def test_generated_modules_are_up_to_date() -> None:
    assert command.update(check=True) == []


def test_outdated_modules_and_those_without_a_source_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed, without_source = tmp_path / "changed.py", tmp_path / "without_source.py"
    changed.write_text("old")
    without_source.write_text("")
    monkeypatch.setattr(modules, "texts", lambda: {changed: "new"})
    monkeypatch.setattr(modules, "files_without_source", lambda: [without_source])

    assert command.main(["--check"]) == 1
    assert changed.read_text() == "old"
    assert command.main([]) == 0
    assert changed.read_text() == "new"
    assert not without_source.exists()
    monkeypatch.setattr(modules, "files_without_source", list)
    assert command.main(["--check"]) == 0


def test_the_package_imports_nothing_of_this_repository_and_only_what_it_declares() -> None:
    allowed = {*sys.stdlib_module_names, "causeway", "httpx", "joserfc", "cryptography", "starlette"}
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.split(".")[0] for name in names} <= allowed, file


def test_everything_that_users_need_is_documented() -> None:
    missing = [
        f"{file.name}: {node.name}"
        for package in ("tpp", "bank")
        for file in (SOURCE / "causeway" / package).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith("_")
        and ast.get_docstring(node) is None
    ]
    assert missing == []


def test_a_program_of_a_user_is_strictly_typed_and_mistakes_are_found(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    lines = "\n\n\n".join(
        f"def mistake_{number}(tpp: Tpp, tokens: Tokens) -> object:\n    return {mistake}"
        for number, mistake in enumerate(MISTAKES.values())
    )
    program.write_text(f"{PROGRAM}\n\n{lines}\n")
    found = mypy(program)
    first = len(PROGRAM.splitlines()) + 1
    wrong = {int(line) for line in re.findall(r"program\.py:(\d+): error", found)}

    assert "causeway/" not in found, found
    assert {line for line in wrong if line <= first} == set(), found
    assert len({line for line in wrong if line > first}) == len(MISTAKES), found


def seconds(statement: str) -> float:
    """The least processor time of a fresh interpreter for a statement."""
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {statement}"]

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    once()
    return min(once() for _ in range(5))


def loaded(statement: str) -> set[str]:
    """The modules that a statement imports."""
    command = [sys.executable, "-c", f"import sys; {statement}; print(*sys.modules)"]
    done = subprocess.run(command, env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "from causeway.tpp import Tpp",
        "from causeway.bank import Bank",
        "from causeway.bank import AccountReferenceV2, HubClient, Refused",
    ],
)
def test_an_import_takes_less_than_150_ms_on_a_machine_that_does_nothing_else(statement: str) -> None:
    nothing = seconds("pass")
    taken, compared = seconds(statement) - nothing, seconds(COMPARED) - nothing

    assert taken / compared < BUDGET / COMPARED_SECONDS, f"{taken:.3f} s, the standard library {compared:.3f} s"


def test_importing_the_client_imports_neither_httpx_nor_models() -> None:
    heavy = {"httpx", "asyncio", "causeway.tpp.models", "causeway.tpp.models_v1", "cryptography"}
    assert not loaded("from causeway.tpp import Tpp") & heavy


def test_importing_the_banks_application_imports_neither_httpx_nor_cryptography_nor_messages() -> None:
    heavy = {"httpx", "cryptography", "causeway.bank.models_v1", "causeway.bank.models_v2", "causeway.tpp"}
    assert not loaded("from causeway.bank import Bank, HubClient") & heavy


def test_importing_a_banks_messages_imports_no_server() -> None:
    heavy = {"httpx", "asyncio", "starlette", "cryptography", "causeway.tpp"}
    assert not loaded("from causeway.bank import AccountReferenceV2, HubError, Refused") & heavy


@pytest.mark.parametrize("name", ["causeway.tpp", "causeway.bank"])
def test_all_names_of_the_package_can_be_imported(name: str) -> None:
    package = importlib.import_module(name)

    assert all(getattr(package, name) is not None for name in package.__all__)
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="nothing_such"):
        package.nothing_such  # noqa: B018
    assert statistics.mean(len(name) for name in package.__all__) > 3
