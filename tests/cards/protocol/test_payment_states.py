"""Tests of the states of external payment addresses, mandates and payments."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from chalicelib.cards.actions import ACTIONS
from chalicelib.cards.protocol.payment_states import ADDRESS_RULES, MANDATE_RULES, PAYMENT_RULES
from tests.cards import request_records, stored_money, whole_requests
from tests.cards.action_checks import OK, call, state_table
from tests.cards.issuer import LEFT_OUT, UK, Issuer
from tests.cards.whole_requests import Members, Records

FUNDS = 10_000
NAMED = {"directDebitReturn": "returned_epm_transaction_id"}

# -- the tables, typed in by hand from the documentation: what an action answers from each state

ADDRESS = state_table(
    """
                                         A    S    B
    transferToExternalPayment           ok 4008 4008
    simulateMandate                     ok 4008 4008
    inboundReturn                       ok   ok   ok
    directCreditReturn                  ok   ok   ok
    directDebitReturn                   ok   ok   ok
    getExternalPaymentAddress           ok   ok   ok
    getAccountExternalPaymentAddresses  ok   ok   ok
    """
)
ADDRESS_MOVES = state_table(
    """
         A    S    B
    A   ok   ok   ok
    S   ok   ok   ok
    B 4002 4002 4002
    """
)

MANDATE = state_table(
    """
                                    A    C
    cancelExternalPaymentMandate   ok 4005
    """
)

PAYMENT = state_table(
    """
                                out.P out.S out.J out.R in.S in.J in.R debit.P debit.S debit.J debit.R return.P return.S
  inboundReturn                  4008  4008  4008  4004   ok 4008 4004    4008    4008    4008    4004     4008     4008
  directCreditReturn             4008  4008  4008  4004   ok 4008 4004    4008    4008    4008    4004     4008     4008
  directDebitReturn              4008  4008  4008  4004 4008 4008 4004    4008      ok    4008    4004     4008     4008
  changeDDExternalPaymentStatus  4008  4008  4008  4004 4008 4008 4004      ok    4008    4008    4004     4008     4008
  simulateDirectDebit            4008  4008  4008  4004 4008 4008 4004      ok    4008    4008    4004     4008     4008
    """
)
"""The expected status code by action, payment kind and payment state. ``in`` has a scheme that the action can return.
"""
RESULTS = state_table(
    """
                out.P out.S out.J out.R in.S in.J in.R debit.P debit.S debit.J debit.R return.P return.S
    settled        ok    ok  4008  4004 4008 4008 4008    4008    4008    4008    4008     4008     4008
    rejected       ok  4008    ok  4004 4008 4008 4008    4008    4008    4008    4008     4008     4008
    returned     4008    ok  4008    ok 4008 4008 4008    4008    4008    4008    4008     4008     4008
    """
)
"""The expected status code of simulateOutboundResult by reported result and payment. A known result can be repeated."""


def address_in(issuer: Issuer, state: str) -> Any:
    address = issuer.funded_address(FUNDS)
    if state != "A":
        issuer.data("changeExternalPaymentAddressStatus", epm_address_id=address["id"], status=state)
    return address


def address_record(issuer: Issuer, address: Mapping[str, Any]) -> Any:
    return issuer.data("getExternalPaymentAddress", epm_address_id=address["id"])


# -- the tables


def test_the_implemented_state_rules_match_the_specified_state_tables() -> None:
    for action, row in ADDRESS_RULES.items():
        expected = {"A": OK, "S": OK, "B": 4002} if action == "changeExternalPaymentAddressStatus" else ADDRESS[action]
        assert {state: int(code or OK) for state, code in row.items()} == expected
    assert {
        action: {state: int(code or OK) for state, code in row.items()} for action, row in MANDATE_RULES.items()
    } == MANDATE
    assert PAYMENT_RULES.keys() == PAYMENT.keys()
    for action, rule in PAYMENT_RULES.items():
        found = {f"{kind}.{state}": int(code or OK) for (kind, state), code in rule.items()}
        assert {name: found[name] for name in PAYMENT[action]} == PAYMENT[action]


def test_the_state_tables_cover_every_action_on_addresses_mandates_and_payments() -> None:
    def naming(*members: str) -> set[str]:
        return {name for name, each in ACTIONS.items() if set(members) & each.request.model_fields.keys()}

    assert naming("epm_address_id") | {"changeExternalPaymentAddressStatus"} <= {*ADDRESS, *ADDRESS_RULES}
    assert naming("epm_mandate_id") == set(MANDATE)
    assert naming("epm_transaction_id", "returned_epm_transaction_id") == set(PAYMENT) - {"simulateDirectDebit"}


# -- addresses


@pytest.mark.parametrize("action", ADDRESS)
def test_an_action_on_an_address_returns_the_specified_code_in_each_address_state(issuer: Issuer, action: str) -> None:
    for state, expected in ADDRESS[action].items():
        records = request_records.create_records(issuer, action)
        issuer.data("changeExternalPaymentAddressStatus", epm_address_id=records.address_id, status=state)

        answer = call(issuer, action, whole_requests.whole(action, records)[0])

        assert (answer.status_code or OK) == expected, (state, answer.raw)
        assert issuer.data("getExternalPaymentAddress", epm_address_id=records.address_id)["status"] == state


@pytest.mark.parametrize("state", ADDRESS_MOVES)
def test_a_status_change_of_an_address_follows_the_state_table(issuer: Issuer, state: str) -> None:
    for asked, expected in ADDRESS_MOVES[state].items():
        address = address_in(issuer, state)
        why = {"reason_code": 9, "note": f"to {asked}"}

        answer = issuer.do("changeExternalPaymentAddressStatus", epm_address_id=address["id"], status=asked, **why)

        assert (answer.status_code or OK) == expected
        found = address_record(issuer, address)
        assert found["status"] == (asked if expected == OK else state)
        assert found.get("status_change_note") == (f"to {asked}" if expected == OK else None)
        assert found.get("status_change_reason_code") == (9 if expected == OK else None)


@pytest.mark.parametrize(("state", "active"), [("A", 1), ("S", 0), ("B", 0)])
def test_an_address_receives_payments_only_while_active(issuer: Issuer, state: str, active: int) -> None:
    address = address_in(issuer, state)

    found = address_record(issuer, address)
    came = issuer.inbound(address, 50)

    enabled = ("active", "direct_debit_enabled", "inbound_enabled", "outbound_enabled")
    assert {found[name] for name in enabled} == {active}
    assert came["state"] == ("S" if active else "J")
    assert issuer.balances(address["account_id"])[0] == FUNDS + 50 * active


def test_a_status_change_without_a_reason_removes_the_previous_reason(issuer: Issuer) -> None:
    address = address_in(issuer, "A")
    asked = {"epm_address_id": address["id"], "status": "S"}
    issuer.data("changeExternalPaymentAddressStatus", **asked, **whole_requests.WHY)
    issuer.data("changeExternalPaymentAddressStatus", **asked)

    assert not {"status_change_reason_code", "status_change_note"} & address_record(issuer, address).keys()


# -- mandates


@pytest.mark.parametrize("state", MANDATE["cancelExternalPaymentMandate"])
def test_a_mandate_is_cancelled_once_and_rejects_later_direct_debits(issuer: Issuer, state: str) -> None:
    address = issuer.funded_address(FUNDS)
    mandate = issuer.mandate(address)
    if state == "C":
        issuer.data("cancelExternalPaymentMandate", epm_mandate_id=mandate, reason=2)

    collected = issuer.debit(mandate, 50)
    answer = issuer.do("cancelExternalPaymentMandate", epm_mandate_id=mandate, reason=2)

    assert (answer.status_code or OK) == MANDATE["cancelExternalPaymentMandate"][state]
    assert collected["state"] == ("P" if state == "A" else "J")
    assert issuer.debit(mandate, 50)["state"] == "J"


# -- payments


def _out(*results: str) -> Callable[[Issuer], int]:
    def create(issuer: Issuer) -> int:
        payment = issuer.pending_payment(issuer.funded_address(FUNDS), 50)
        for result in results:
            issuer.result(payment, result)
        return payment

    return create


def _in(scheme: str, *, state: str = "A", returned: bool = False) -> Callable[[Issuer], int]:
    def create(issuer: Issuer) -> int:
        came = int(issuer.inbound(address_in(issuer, state), 50, scheme=scheme)["epm_transaction_id"])
        if returned:
            issuer.data(RETURNS[scheme], epm_transaction_id=came)
        return came

    return create


def _debit(*, passed: bool = False, cancelled: bool = False, returned: bool = False) -> Callable[[Issuer], int]:
    def create(issuer: Issuer) -> int:
        mandate = issuer.mandate(issuer.funded_address(FUNDS))
        if cancelled:
            issuer.data("cancelExternalPaymentMandate", epm_mandate_id=mandate, reason=2)
        debit = int(issuer.debit(mandate, 50, passed=passed)["epm_transaction_id"])
        if returned:
            issuer.data("directDebitReturn", returned_epm_transaction_id=debit, reason="MD06")
        return debit

    return create


def _return(sender_name: str) -> Callable[[Issuer], int]:
    """Return a function that returns an inbound payment to the sender.

    The function reads the id of the return from storage.
    """

    def create(issuer: Issuer) -> int:
        came = issuer.inbound(issuer.funded_address(FUNDS), 50, sender_name=sender_name)["epm_transaction_id"]
        answer = issuer.do("inboundReturn", epm_transaction_id=came)
        rows = issuer.hub.store.scan("external-payments")
        sent_back = next(row["id"] for row in rows if row.get("returns") == came)
        assert answer.status_code == 8001 or answer.data["id"] == sent_back
        return int(sent_back)

    return create


RETURNS = {"FPS": "inboundReturn", "BACS": "directCreditReturn"}
PLACES: Mapping[str, Callable[[Issuer], int]] = {
    "out.P": _out(),
    "out.S": _out("settled"),
    "out.J": _out("rejected"),
    "out.R": _out("settled", "returned"),
    "in.S": _in("FPS"),
    "in.J": _in("FPS", state="S"),
    "in.R": _in("FPS", returned=True),
    "debit.P": _debit(),
    "debit.S": _debit(passed=True),
    "debit.J": _debit(cancelled=True),
    "debit.R": _debit(passed=True, returned=True),
    "return.P": _return("Silent Bob"),
    "return.S": _return("Bob"),
}
DIRECT_CREDITS = {"in.S": _in("BACS"), "in.J": _in("BACS", state="S"), "in.R": _in("BACS", returned=True)}
"""Functions that create a payment in each state. directCreditReturn accepts only the payments of ``DIRECT_CREDITS``."""


@pytest.fixture(scope="module")
def standing(issuer: Issuer) -> Mapping[str, int]:
    """Return a payment in each state, for actions that are rejected and change nothing."""
    return {place: made(issuer) for place, made in PLACES.items()}


def request(action: str, payment: int) -> Members:
    whole = whole_requests.whole(action, Records(epm_transaction_id=payment))[-1]
    return whole | {NAMED.get(action, "epm_transaction_id"): payment}


@pytest.mark.parametrize("action", PAYMENT)
def test_an_action_on_a_payment_returns_the_specified_code_for_each_payment_kind_and_state(
    issuer: Issuer, standing: Mapping[str, int], action: str
) -> None:
    ways = {**PLACES, **DIRECT_CREDITS} if action == "directCreditReturn" else PLACES
    for place, expected in PAYMENT[action].items():
        fresh = expected == OK or ways[place] is not PLACES[place]
        payment = ways[place](issuer) if fresh else standing[place]

        answer = call(issuer, action, request(action, payment))

        assert (answer.status_code or OK) == expected, (place, answer.raw)
        if expected != OK:
            assert stored_money.state(issuer, payment) == place[-1]


@pytest.mark.parametrize("result", RESULTS)
def test_a_provider_result_changes_an_outbound_payment_only_to_allowed_states(
    issuer: Issuer, standing: Mapping[str, int], result: str
) -> None:
    letter = {"settled": "S", "rejected": "J", "returned": "R"}[result]
    for place, expected in RESULTS[result].items():
        payment = PLACES[place](issuer) if expected == OK else standing[place]

        answer = issuer.sim("simulateOutboundResult", epm_transaction_id=payment, result=result)

        assert (answer.status_code or OK) == expected, (place, answer.raw)
        assert stored_money.state(issuer, payment) == (letter if expected == OK else place[-1])


@pytest.mark.parametrize(("action", "scheme"), [("inboundReturn", "BACS"), ("directCreditReturn", "FPS")])
def test_direct_credits_can_be_returned_only_by_direct_credit_return(issuer: Issuer, action: str, scheme: str) -> None:
    payment = _in(scheme)(issuer)

    assert issuer.do(action, epm_transaction_id=payment).status_code == 4008
    assert issuer.do(RETURNS[scheme], epm_transaction_id=payment).status == "success"


@pytest.mark.parametrize(("method", "code"), [(1, None), (2, 2006)])
def test_a_sepa_return_requires_a_reason(issuer: Issuer, method: int, code: int | None) -> None:
    came = issuer.inbound(issuer.address(method=method), 50)["epm_transaction_id"]

    assert issuer.do("inboundReturn", epm_transaction_id=came, reason=LEFT_OUT).status_code == code
    if method != UK:
        assert issuer.do("inboundReturn", epm_transaction_id=came, reason=1).status == "success"


def test_a_rejected_return_can_be_requested_again(issuer: Issuer) -> None:
    address = issuer.funded_address(FUNDS)
    came = issuer.inbound(address, 50, sender_name="Refuse me")["epm_transaction_id"]

    answers = [issuer.do("inboundReturn", epm_transaction_id=came) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [7001, 7001]
    assert stored_money.state(issuer, came) == "S"
    assert issuer.balances(address["account_id"])[0] == FUNDS + 50


def test_a_second_return_of_a_payment_with_a_pending_return_returns_code_4004(issuer: Issuer) -> None:
    came = issuer.inbound(issuer.funded_address(FUNDS), 50, sender_name="Silent Bob")["epm_transaction_id"]

    answers = [issuer.do("inboundReturn", epm_transaction_id=came) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [8001, 4004]


def test_a_direct_debit_accepts_repeated_decisions_until_its_cut_off(issuer: Issuer) -> None:
    address = issuer.funded_address(FUNDS)
    debit = issuer.debit(issuer.mandate(address), 50)
    decided = {"epm_transaction_id": debit["epm_transaction_id"], "reason": 7}
    just_before = issuer.with_own_clock(days=(debit["cut_off"] - issuer.clock.time() - 1) / 86400)
    at_it = issuer.with_own_clock(days=(debit["cut_off"] - issuer.clock.time()) / 86400)

    for should_pay in (0, 1, 0, 0):
        issuer.data("changeDDExternalPaymentStatus", should_pay=should_pay, **decided)
    assert just_before.do("changeDDExternalPaymentStatus", should_pay=0, **decided).status == "success"
    assert at_it.do("changeDDExternalPaymentStatus", should_pay=1, **decided).status_code == 4008
    assert issuer.data("simulateDirectDebit", epm_transaction_id=decided["epm_transaction_id"])["state"] == "J"
