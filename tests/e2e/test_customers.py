"""The TPP API of the whole stack returns the data of each customer in the documented customer file."""

import calendar
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from chalicelib import bootstrap
from chalicelib.foundation.settings import Settings
from infra import yaml_file
from infra.admin.commands import program
from infra.repository import ROOT
from tests.e2e.parties import Tpp, bearer, initiate, pay

pytestmark = pytest.mark.e2e

FILE = ROOT / "docs" / "guides" / "customers.yaml"
CUSTOMERS: Mapping[str, Any] = {
    each["id"]: each for each in yaml_file.parse_yaml(FILE.read_text(encoding="utf-8"))["customers"]
}
PLACES = [(name, bic) for name, each in CUSTOMERS.items() for bic in each["banks"]]
DECIMALS = {"KWD": 3, "JPY": 0, "EUR": 2, "PLN": 2, "GBP": 2}
_PRESENT = {"PSU-IP-Address": "192.0.2.7"}


def admin(*arguments: str) -> Any:
    return CliRunner().invoke(program, ["customers", *arguments])


@pytest.fixture(scope="module")
def loaded(stack: dict[str, Any]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in stack["environment"].items():
            patch.setenv(name, value)
        bootstrap.use(bootstrap.Hub(Settings.from_environment(stack["environment"])))
        result = admin("load", str(FILE))
        assert result.exit_code == 0, result.output
        yield
        left = {each["id"] for each in json.loads(admin("list", "--json").stdout)["customers"]}
        assert not left or admin("delete", *left).exit_code == 0
        bootstrap.use(None)


@pytest.fixture(scope="module")
def tokens(stack: dict[str, Any], loaded: None) -> Mapping[tuple[str, str], str]:
    tpp = Tpp(stack["base_url"], stack["client"]["client_id"], stack["client"]["callback_url"])
    return {(name, bic): bearer(tpp, _bank(stack, bic), name) for name, bic in PLACES}


def _bank(stack: Mapping[str, Any], bic: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(bank for bank in stack["banks"] if bank["bic"] == bic)
    return found


class Reader:
    def __init__(self, tpp: Tpp, access_token: str, version: int) -> None:
        self.tpp, self.access_token, self.version = tpp, access_token, version

    def get(self, path: str) -> Any:
        answer = self.tpp.call("GET", f"/tpp/{path}", bearer=self.access_token, headers=_PRESENT)
        assert answer.status_code == 200, answer.text
        return answer.json(parse_float=Decimal)

    def accounts(self) -> list[Any]:
        found: list[Any] = self.get("accounts")["accounts"]
        return found

    def id(self, account: Any) -> str:
        return str(account["id"] if self.version == 1 else account["resource_id"])

    def balance(self, account: Any) -> str:
        found = self.get(f"account_balance?account_id={self.id(account)}")
        if self.version == 1:
            return str(found["accounts"][0]["balance"])
        return next(
            str(each["balance_amount"]["amount"])
            for each in found["balances"]
            if each["balance_type"] == "interimBooked"
        )

    def booked(self, account: Any) -> list[tuple[str, str]]:
        return [row[:2] for row in self.transactions(account) if not row[2]]

    def transactions(self, account: Any) -> list[tuple[str, str, bool]]:
        return self._payments(account) if self.version == 1 else self._transactions(account)

    def _payments(self, account: Any) -> list[tuple[str, str, bool]]:
        rows: list[tuple[str, str, bool]] = []
        for page in range(1, 99):
            query = f"account_id={self.id(account)}&record_count=50&current_page={page}"
            found = self.get(f"account_payments?{query}")["payments"]
            rows += [(str(row["amount"]), row["description"], row["status"] == 1) for row in found]
            if len(found) < 50:
                break
        return rows

    def _transactions(self, account: Any) -> list[tuple[str, str, bool]]:
        rows: list[tuple[str, str, bool]] = []
        query = f"account_transactions?account_id={self.id(account)}&booking_status=both&page_size=50"
        path = query
        while True:
            page = self.get(path)
            for kind in ("booked", "pending"):
                for row in page["transactions"].get(kind) or ():
                    text = row.get("remittance_information_unstructured", "")
                    rows.append((str(row["transaction_amount"]["amount"]), text, kind == "pending"))
            if not page.get("page_key"):
                return rows
            path = f"{query}&page_key={page['page_key']}"


def today() -> date:
    return datetime.now(UTC).date()


def expected(account: Mapping[str, Any]) -> tuple[Decimal, Decimal]:
    """Return the lowest and the highest balance that the customer file allows on the current day.

    Compute the balances day by day.
    """
    lowest = highest = Decimal(account["balance"])
    day = date.fromisoformat(account["balance_on"])
    while day <= today():
        amounts = [[each["amount"]] * 2 for each in account.get("transactions", ()) if each["date"] == day.isoformat()]
        amounts += [
            each.get("between") or [each["amount"]] * 2 for each in account.get("rules", ()) if applies(each, day)
        ]
        lowest += sum(Decimal(least) for least, _ in amounts)
        highest += sum(Decimal(most) for _, most in amounts)
        day += timedelta(days=1)
    return lowest, highest


def applies(rule: Mapping[str, str], day: date) -> bool:
    if not rule.get("from", "") <= day.isoformat() <= rule.get("until", "9999"):
        return False
    if rule["every"] == "month":
        return day.day == min(int(rule["day"]), calendar.monthrange(day.year, day.month)[1])
    return rule["every"] == "day" or day.strftime("%A").lower() == rule["weekday"]


@pytest.fixture(params=PLACES, ids=" at ".join)
def place(request: pytest.FixtureRequest) -> tuple[str, str]:
    found: tuple[str, str] = request.param
    return found


@pytest.fixture
def reader(stack: dict[str, Any], tpp: Tpp, tokens: Mapping[tuple[str, str], str], place: tuple[str, str]) -> Reader:
    return Reader(tpp, tokens[place], _bank(stack, place[1])["api_version"])


def test_the_accounts_match_the_customer_file(reader: Reader, place: tuple[str, str]) -> None:
    wanted = CUSTOMERS[place[0]]["accounts"]
    found = reader.accounts()
    assert [(each["name"], each["currency"]) for each in found] == [(each["name"], each["currency"]) for each in wanted]
    assert all(each["iban"] == said["iban"] for each, said in zip(found, wanted, strict=True) if "iban" in said)
    assert all(reader.get(f"account?account_id={reader.id(each)}")["account"] == each for each in found)


def test_the_balances_match_the_customer_file(reader: Reader, place: tuple[str, str]) -> None:
    for account, said in zip(reader.accounts(), CUSTOMERS[place[0]]["accounts"], strict=True):
        written = reader.balance(account)
        lowest, highest = expected(said)
        assert lowest <= Decimal(written) <= highest
        assert len(written.partition(".")[2]) == DECIMALS[said["currency"]]


def test_the_transactions_match_the_customer_file_and_add_up_to_the_balance(
    reader: Reader, place: tuple[str, str]
) -> None:
    for account, said in zip(reader.accounts(), CUSTOMERS[place[0]]["accounts"], strict=True):
        booked = reader.booked(account)
        assert sum(Decimal(amount) for amount, _ in booked) == Decimal(reader.balance(account))
        first = date(today().year - 1, today().month, 1)
        for each in said.get("transactions", ()):
            if first <= date.fromisoformat(each["date"]) <= today():
                assert [1 for amount, text in booked if amount == each["amount"] and each["text"] in text]
        for rule in said.get("rules", ()):
            start = max(first, date.fromisoformat(said["balance_on"]))
            days = [start + timedelta(days=n) for n in range((today() - start).days + 1)]
            made = [amount for amount, text in booked if rule["text"] in text and "Refund" not in text]
            others = [each for each in said.get("transactions", ()) if rule["text"] in each["text"]]
            assert len(made) == sum(applies(rule, day) for day in days) + len(others)


def test_a_customer_loaded_from_a_file_can_pay(
    stack: dict[str, Any], tpp: Tpp, tokens: Mapping[tuple[str, str], str]
) -> None:
    for name, bic in (("imogen", "DEMOGB21"), ("piotr", "DEMODEF1")):
        bank, access_token = _bank(stack, bic), tokens[name, bic]
        started = initiate(tpp, bank, access_token)
        assert started.status_code == 200, started.text
        assert pay(tpp, started.json()["confirmation_url"], name)["status"] in ("4", "ACSP")
        reader = Reader(tpp, access_token, bank["api_version"])
        (account, *_) = reader.accounts()
        assert "-12.50" in [amount for amount, _, _ in reader.transactions(account)]


@pytest.mark.parametrize(("currency", "amount"), [("JPY", "1500"), ("KWD", "12.505")])
def test_a_customer_loaded_from_a_file_can_pay_in_yen_and_dinars(
    stack: dict[str, Any], tpp: Tpp, tokens: Mapping[tuple[str, str], str], currency: str, amount: str
) -> None:
    reader = Reader(tpp, tokens["noor", "DEMODEF1"], 2)
    account = next(each for each in reader.accounts() if each["currency"] == currency)
    order = {
        "payment_scheme": "SWIFT",
        "debtor_account": {"iban": account["iban"]},
        "creditor_account": {"iban": "FR1420041010050500013M02606"},
        "creditor_name": "Oak Street Books",
        "creditor_bank": {"name": "Bank 24", "country": "FR"},
        "remittance_information_unstructured": "Order 1042",
        "instructed_amount": {"amount": amount, "currency": currency},
        "callback_url": f"{tpp.base}/payments/callback",
    }
    started = tpp.call("POST", "/tpp/payment_initiation", order, reader.access_token)
    assert started.status_code == 200, started.text
    assert pay(tpp, started.json()["confirmation_url"], "noor")["status"] == "ACSP"
    assert f"-{amount}" in [each for each, _, _ in reader.transactions(account)]


def test_an_invalid_customer_file_is_rejected_with_the_location_of_every_error(loaded: None, tmp_path: Any) -> None:
    bad = tmp_path / "customers.yaml"
    text = FILE.read_text(encoding="utf-8")
    bad.write_text(text.replace("currency: KWD", "currency: XXX").replace('"1104.25"', '"1104.255"'), encoding="utf-8")
    before = admin("list", "--json").stdout
    result = admin("load", str(bad))
    assert result.exit_code == 1
    assert "customers.0.accounts.0.currency must be" in result.stderr
    bad.write_text(text.replace('"1104.25"', '"1104.255"').replace("id: noor", "id: ada"), encoding="utf-8")
    said = admin("load", str(bad)).stderr
    assert "customers.0.id is the name of a built-in customer" in said
    assert "customers.2.accounts.0.rules.0.amount must have at most 2 decimal places" in said
    assert admin("list", "--json").stdout == before


@pytest.mark.parametrize("bic", CUSTOMERS["noor"]["banks"])
def test_the_consent_of_a_deleted_customer_requires_a_new_authorization(
    stack: dict[str, Any], tpp: Tpp, loaded: None, tmp_path: Path, bic: str
) -> None:
    [account, *_] = CUSTOMERS["noor"]["accounts"]
    customer = {**CUSTOMERS["noor"], "id": "leila", "accounts": [{**account, "number": "71000001"}]}
    file = tmp_path / "customers.yaml"
    file.write_text(json.dumps({"customers": [customer]}, default=str), "utf-8")
    made = admin("load", str(file))
    assert made.exit_code == 0, made.output
    access_token = bearer(tpp, _bank(stack, bic), "leila")
    admin("delete", "leila")

    refused = tpp.call("GET", "/tpp/accounts", bearer=access_token, headers=_PRESENT)

    assert refused.status_code == 502, refused.text
    assert "authorize again" in refused.json()["title"]
