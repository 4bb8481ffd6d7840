"""Random responses of banks: a unified read says what the native read says, and nothing else.

The strategies follow the models of the messages.
"""

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.foundation.fields.decimal_rules import NumberRule
from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.number_rules import IdRule
from chalicelib.foundation.jsontext import Number
from chalicelib.openbanking.flows.consent import permissions
from chalicelib.openbanking.protocol import v1_account_messages, v2_account_messages
from tests.openbanking.examples import BY_WEBHOOK, Row
from tests.openbanking.kit import IBAN
from tests.openbanking.relay import Relay
from tests.openbanking.unified.bodies import RECEIVER, Json
from tests.openbanking.unified.message_members import members_of
from tests.openbanking.unified.native_oracle import check_read, identifier
from tests.openbanking.unified_reads import ACCOUNT_ID, UNIFIED, bank_list, read

ABSENT: Any = ...
BLANK = st.sampled_from(["", " ", "\u00a0 "])
TEXT = st.text("aZé7 '\u00a0", min_size=1, max_size=12)
PRINTABLE = st.text("aZé7-/", min_size=1, max_size=12)
DIGITS = st.text("0123456789", min_size=1, max_size=8)
NUMBERS = st.one_of(
    st.from_regex(r"-?(0|[0-9]{1,8})(\.[0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"-?(0|[1-9][0-9]{0,7})\.[0-9]{1,3}", fullmatch=True).map(Number),
    st.sampled_from(["1E+2", "-5e-3", "-0", "-2.50E1"]).map(Number),
    st.integers(-(10**9), 10**9),
)
IBANS = st.sampled_from([IBAN, RECEIVER, "gb33 buKB 2020 1555 5555 55", "GB33BUKB2020155555555X", "x 1"])
DAYS = st.sampled_from(["2026-01-30", "2026-01-30T08:00:00Z", "2026-02-30", "30.01.2026", "2026-01-3"])
ODD_VALUE = st.sampled_from([ABSENT, None, "", " ", True, {"x": "y"}, ["x"]])
ODD_OBJECT = st.sampled_from([ABSENT, None, "", True, 7, "x"])
"""What a bank may send for an optional member: nothing, blank text or another type."""
EXTRA_OF_BALANCES: dict[str, st.SearchStrategy[Any]] = {
    "last_change_date_time": DAYS | ODD_VALUE,
    "reference_date": DAYS | ODD_VALUE,
    "credit_limit_included": st.booleans() | ODD_VALUE,
}
"""Members that no model of a balance has."""
MODELS: dict[tuple[int, str], type[Message]] = {
    (1, "accounts"): v1_account_messages.Account,
    (2, "accounts"): v2_account_messages.AccountReference,
    (1, "account"): v1_account_messages.Account,
    (2, "account"): v2_account_messages.AccountReference,
    (1, "balances"): v1_account_messages.Balance,
    (2, "balances"): v2_account_messages.Balance,
    (1, "transactions"): v1_account_messages.ListedPayment,
    (2, "transactions"): v2_account_messages.Transaction,
}
"""The model of an entry, by version and read."""


def native_value(name: str, rule: Any) -> st.SearchStrategy[Any]:
    """Return the values that a bank may send for a mandatory member."""
    if name == "status":
        return st.sampled_from([1, 2, 3, 4, "4", "2", 0, 7])
    if name == "balance_type":
        return st.sampled_from([*v2_account_messages.BALANCE_TYPES, "closingBooked", " "])
    if isinstance(rule, NumberRule):
        return st.integers(0, 10**12) | DIGITS if rule.named else NUMBERS
    if isinstance(rule, IdRule):
        return (DIGITS if rule.digits else PRINTABLE) | st.integers(0, 999_999)
    named = IBANS if name == "iban" else DAYS if "date" in name else TEXT
    return named | BLANK.filter(bool)


@st.composite
def natives(draw: st.DrawFn, model: type[Message]) -> Json:
    """Draw a message for which the native call does not refuse the response.

    An optional member may be absent, null, blank or of the wrong type.
    """
    message = {}
    for name, model_inside, rule, is_list, is_required in members_of(model):
        values = natives(model_inside) if model_inside else native_value(name, rule)
        values = st.lists(values, max_size=3) if is_list else values
        odd = ODD_OBJECT if model_inside else ODD_VALUE
        value = draw(odd if not is_required and draw(st.integers(0, 3)) == 0 else values)
        if value is not ABSENT:
            message[name] = value
    return message


@st.composite
def entries_of(draw: st.DrawFn, version: int, name: str) -> Json:
    """Draw an entry of a bank's list."""
    extra = {member: draw(values) for member, values in EXTRA_OF_BALANCES.items()} if name == "balances" else {}
    entry = draw(natives(MODELS[version, name])) | extra
    return {member: value for member, value in entry.items() if value is not ABSENT}


@st.composite
def responses(draw: st.DrawFn, version: int, name: str) -> Json:
    """Draw a bank's response with any number of entries, in both lists of a version 2 bank."""
    if name == "account":
        return {"status": "success", "account": draw(entries_of(version, name))}
    lists = st.lists(entries_of(version, name), max_size=4)
    answer = bank_list(version, name, draw(lists))
    if (version, name) == (2, "transactions"):
        answer["transactions"]["pending"] = draw(lists)
    return answer


@pytest.mark.parametrize(("version", "name"), MODELS)
def test_a_unified_read_says_exactly_what_the_native_read_says(relay: Relay, version: int, name: str) -> None:
    row, most_entries = UNIFIED[version, name], 0

    @settings(max_examples=60, derandomize=True)
    @given(data=st.data())
    def compare(data: st.DataObject) -> None:
        nonlocal most_entries
        response = data.draw(responses(version, name))
        account_id = data.draw(st.sampled_from([ACCOUNT_ID, *listed_ids(version, name, response)]))

        query = {} if name == "accounts" else {"account_id": account_id}
        status = data.draw(st.sampled_from(["all", "all", "booked", "pending"])) if name == "transactions" else "all"
        query |= {} if status == "all" else {"status": status}

        with patch.object(permissions, "is_approved", return_value=True):  # or accounts of other ids would be withheld
            native = relay.call(BY_WEBHOOK[row.webhook], native_request(row, status), response)
            body = read(relay, version, name, response, native="1", **query)

        assert native.status == 200, native
        check_read(version, name, native.body, body, account_id, status=status)
        most_entries = max(most_entries, len(body.get(name, ())))

    compare()

    assert name == "account" or most_entries >= 2


def native_request(row: Row, status: str) -> Json:
    """Return the native request for transactions of a status, or the example of another request."""
    native = {"all": "both"}.get(status, status)
    return row.request | ({"booking_status": native} if "booking_status" in row.request else {})


def listed_ids(version: int, name: str, response: Json) -> list[str]:
    """Return the accounts of a version 1 bank's balances, of which a read requests one."""
    if (version, name) != (1, "balances"):
        return []
    return [found for each in response["accounts"] if (found := identifier(each["id"]))]
