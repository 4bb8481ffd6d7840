"""Random orders of TPPs: an accepted one is sent unchanged, and a refused one names what the version cannot carry.

The strategies follow the models of the bodies. The expected requests and refusals are those of the contract, read here
without the rows of the mapping.
"""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.fields.registries import alpha_3_countries
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.unified.bank_requests import read_request
from chalicelib.openbanking.unified.payment_messages import BODIES
from tests.openbanking.kit import IBAN
from tests.openbanking.unified.bodies import KINDS, RECEIVER, Json, payment_table, refused_members
from tests.openbanking.unified.message_members import members_of
from tests.openbanking.unified.native_oracle import inner, leaves

BANKS = pytest.mark.parametrize("version", [1, 2])
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
ABSENT: Any = ...
CHOICES: dict[str, st.SearchStrategy[Any]] = {
    "iban": st.sampled_from([RECEIVER, IBAN]),
    "sort_code": st.just("202015"),
    "account_number": st.just("55555555"),
    "building_number": st.sampled_from(["12", "12 a"]),
    "town_name": st.sampled_from(["Köln", "O"]),
    "country": st.sampled_from(["DE", "GB", "FI"]),
    "currency": st.just("EUR"),
    "value": st.from_regex(r"0{0,2}[1-9][0-9]{0,3}(\.[0-9]{1,2}0{0,2})?", fullmatch=True),
    "callback_url": st.sampled_from(["https://tpp.example.com/paid", "http://127.0.0.1:8000/a?b=c"]),
    "scheme": st.sampled_from(["SCT", "SCTI", "FPS"]),
    "reference_type": st.sampled_from(["SCOR", "QRR"]),
    "bic": st.just("NDEAFIHH"),
}
"""The values of members that have their own form, by name."""
ODD: dict[str, Any] = {
    "sort_code": "20-20",
    "account_number": "123456789",
    "building_number": "12 abc",
    "town_name": "Köln 7",
    "value": "12345678901",
}
"""Values that some versions refuse, beside texts that are as long as any version allows."""
LIKELY = {"iban": 7, "bank": 1}
"""How often of eight times an optional member is sent, if it is not half of the times."""


@st.composite
def orders(draw: st.DrawFn, model: type[Message]) -> Json:
    """Draw a body that most banks take. An optional member may be absent or null."""
    body = {}
    for name, model_inside, rule, is_list, is_required in members_of(model):
        values: Any = orders(model_inside) if model_inside else order_values(name, rule)
        values = st.lists(values, min_size=1, max_size=3) if is_list else values
        is_sent = is_required or (name != "total" and draw(st.integers(0, 7)) < LIKELY.get(name, 4))
        value = draw(values if is_sent else st.sampled_from([ABSENT, None]))
        if value is not ABSENT:
            body[name] = value
    return body


@st.composite
def order_values(draw: st.DrawFn, name: str, rule: Any) -> Any:
    values = CHOICES[name] if name in CHOICES else st.text("é7 ", max_size=4).map(lambda text: f"a{text}")
    is_odd = name not in CHOICES or name in ODD
    return ODD.get(name, "a" * rule.longest) if is_odd and draw(st.integers(0, 15)) == 0 else draw(values)


def payee_of_1(native: Json) -> Json:
    """Return the payee, the amount and the remittance that a request to a version 1 bank says."""
    address = native.get("receiver_address", {})
    two = {three: code for code, three in alpha_3_countries().items()}
    return {
        "creditor": {
            "name": native["receiver_name"],
            **{each: native.get(f"receiver_{each}") for each in ("iban", "sort_code", "account_number")},
            "address": {
                **{each: address.get(each) for each in ("street_name", "building_number", "town_name")},
                "postal_code": address.get("post_code"),
                "country": two.get(address.get("country"), address.get("country")),
            },
        },
        "amount": {"value": native["amount"], "currency": native["currency"]},
        "remittance": {"unstructured": native.get("message_for_receiver"), "reference": native.get("reference")},
    }


def order_1(native: Json) -> Json:
    """Return what a request to a version 1 bank says."""
    order = {"callback_url": native["callback_url"], "debtor": {"iban": native.get("sender_iban")}}
    if "payments" not in native:
        return {**order, "scheme": native.get("payment_scheme"), **payee_of_1(native)}
    (scheme,) = {each.get("payment_scheme") for each in native["payments"]}
    (total,) = native["totals"]
    total = {"value": total["amount"], "currency": total["currency"]}
    return {**order, "scheme": scheme, "total": total, "payments": [payee_of_1(each) for each in native["payments"]]}


def payee_of_2(native: Json) -> Json:
    """Return the payee, the amount and the remittance that a request to a version 2 bank says."""
    amount, bank = native["instructed_amount"], native.get("creditor_bank")
    creditor = {"name": native["creditor_name"], **native["creditor_account"]}
    return {
        "creditor": {**creditor, "address": native.get("creditor_address"), "bank": bank},
        "amount": {"value": amount["amount"], "currency": amount["currency"]},
        "remittance": {
            "unstructured": native.get("remittance_information_unstructured"),
            **native.get("remittance_information_structured", {}),
        },
    }


def order_2(native: Json) -> Json:
    """Return what a request to a version 2 bank says."""
    debtor = {"name": native.get("debtor_name"), **native.get("debtor_account", {})}
    order = {"callback_url": native["callback_url"], "debtor": debtor, "scheme": native.get("payment_scheme")}
    if "payments" not in native:
        return {**order, **payee_of_2(native)}
    total = {"value": native["instructed_totals"]["amount"], "currency": native["instructed_totals"]["currency"]}
    return {**order, "total": total, "payments": [payee_of_2(each) for each in native["payments"]]}


LEFT_OUT = ("debtor.name", "debtor.bban", "debtor.sort_code", "debtor.account_number", "creditor.bban")
LEFT_OUT_1 = (*LEFT_OUT, "remittance.reference_type")
"""The members that version 1 does not have and that never change where money goes."""


def expected_order(version: int, body: Json) -> Json:
    """Return the members of a unified order that the request to a bank of a version must say."""
    members = dict(leaves(body))
    if version == 1:
        return {path: value for path, value in members.items() if not path.endswith(LEFT_OUT_1)}
    references = [path for path in members if path.endswith("remittance.reference")]
    return {**{f"{path}_type": "SCOR" for path in references}, **members}


def total_of(body: Json) -> Json:
    """Return the sum that is computed for a bulk payment."""
    values = [Decimal(each["amount"]["value"]) for each in body.get("payments", ())]
    return {"total.value": f"{sum(values):f}", "total.currency": "EUR"} if values else {}


# -- refusals

MOST_DIGITS = 10
LONGEST_1 = {
    "creditor.name": 40,
    "creditor.address.street_name": 50,
    "creditor.address.building_number": 5,
    "creditor.address.town_name": 50,
    "creditor.address.postal_code": 10,
    "remittance.unstructured": 35,
    "remittance.reference": 18,
}
"""The longest texts of version 1. Those of version 2 are the longest of any version."""


def refused_members_of(version: int, kind: Kind, body: Json) -> set[str]:
    """Return the paths of the members that banks of a version cannot carry."""
    refused = {*_refused_of_debtor(version, kind, inner(body, "debtor"))}
    if kind != "bulk":
        return refused | {*_refused_of_payment(version, kind, body)}
    for place, payment in enumerate(body["payments"]):
        refused |= {f"payments.{place}.{each}" for each in _refused_of_payment(version, kind, payment)}
    if _count_digits(total_of(body)["total.value"]) > MOST_DIGITS:
        refused.add("payments")
    return refused


def _refused_of_debtor(version: int, kind: Kind, debtor: Json) -> Iterator[str]:
    if version == 2:
        yield from (f"debtor.{each}" for each in _odd_numbers(debtor))
    elif kind == "direct" and debtor.get("iban"):
        yield "debtor.iban"
    elif not debtor.get("iban"):
        yield from (f"debtor.{each}" for each in ("bban", "sort_code", "account_number") if debtor.get(each))
        if kind == "bulk":
            yield "debtor.iban"


def _refused_of_payment(version: int, kind: Kind, payment: Json) -> Iterator[str]:
    creditor = payment["creditor"]
    if creditor.get("bank") and (version, kind) != (2, "single"):
        yield "creditor.bank"
    if version == 2:
        yield from (f"creditor.{each}" for each in _odd_numbers(creditor))
        return
    members = dict(leaves(payment))
    yield from (path for path, longest in LONGEST_1.items() if len(members.get(path, "")) > longest)
    if "7" in members.get("creditor.address.town_name", ""):  # a name has no digits
        yield "creditor.address.town_name"
    if creditor.get("bban") and not creditor.get("iban") and not creditor.get("account_number"):
        yield "creditor.bban"
    if _count_digits(payment["amount"]["value"]) > MOST_DIGITS:
        yield "amount.value"


def _odd_numbers(holder: Json) -> Iterator[str]:
    """Yield the British identifiers of an account that have another form than those of version 2."""
    for name, most in (("sort_code", 6), ("account_number", 8)):
        given = holder.get(name) or ""
        if len(given) > most or not (given or "0").isdecimal():
            yield name


def _count_digits(value: str) -> int:
    return len(value.replace(".", ""))


@BANKS
@EVERY_KIND
def test_an_accepted_order_is_sent_unchanged_and_a_refused_one_names_its_members(version: int, kind: Kind) -> None:
    counts: Counter[str] = Counter()

    @settings(max_examples=80, derandomize=True)
    @given(given_body=orders(BODIES[kind]))
    def send(given_body: Json) -> None:
        try:
            body = BODIES[kind].read(given_body).members()
        except InvalidMessage:
            assume(False)
        expected = refused_members_of(version, kind, given_body)
        counts["refused" if expected else "accepted"] += 1

        model = VERSIONS[version].payments[kind].request
        if expected:
            with pytest.raises(Refusal) as caught:
                read_request(payment_table(version, kind), model, body, version)
            assert {*refused_members(caught.value)} == expected
            return
        native = read_request(payment_table(version, kind), model, body, version)
        said = order_1(native) if version == 1 else order_2(native)
        assert dict(leaves(said)) == {**expected_order(version, given_body), **total_of(given_body)}

    send()

    assert min(counts["accepted"], counts["refused"]) >= 5, counts
