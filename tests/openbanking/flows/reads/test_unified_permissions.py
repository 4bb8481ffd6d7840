"""Unified reads by consent and bank: version and scopes, switches of the bank, history, limits, and deferral."""

from typing import Any

import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import NotReached
from tests.causeway import Answer, Causeway
from tests.openbanking.accounts import ATTENDED, LIMIT, Aisp, change_bank, limit_reads
from tests.openbanking.kit import LATER, VERSIONS, accepted_id
from tests.openbanking.unified.transaction_lists import OWN, SHOP, answer, entry, ids
from tests.openbanking.unified_reads import ACCOUNT_ID, EVERY_READ, READS, UNIFIED, bank_list, query_of

BIC = {1: "ALPHGB21", 2: "BETADEF1"}


def webhook(version: int, read: str) -> str:
    return UNIFIED[version, read].webhook


def native_path(version: int, read: str) -> str:
    return {
        "balances": "account_balance",
        "transactions": {1: "account_payments", 2: "account_transactions"}[version],
    }.get(read, read)


def native_query(version: int, read: str) -> dict[str, Any]:
    return query_of(read) | ({"booking_status": "both"} if version == 2 and read == "transactions" else {})


def unified(aisp: Aisp, read: str, response: Any = None, headers: Any = None, **query: Any) -> Answer:
    """Make a unified read with a scripted response, by default the example."""
    if response is not None:
        aisp.bank_answers(response, webhook(aisp.version, read))
    return aisp.read(f"unified/{read}", headers, **query_of(read, **query))


def page(version: int, *entries: Any, **members: Any) -> dict[str, Any]:
    return ({"status": "success"} if version == 1 else {}) | answer(version, *entries, **members)


@EVERY_READ
def test_retrieved_at_is_the_time_of_the_bank_response(causeway: Causeway, version: int, read: str) -> None:
    aisp, row = Aisp(causeway, version), UNIFIED[version, read]

    def respond(_: object) -> Any:
        causeway.clock.advance(7)
        return row.answer

    aisp.bank.answers[row.webhook] = respond

    assert unified(aisp, read).body["retrieved_at"] == "2026-03-02T09:00:07+00:00"


# -- the consent

SCOPE = {
    1: {
        "accounts": "account.list",
        "account": "account.details",
        "balances": "account.balance",
        "transactions": "account.payments",
    },
    2: {
        "accounts": "accounts",
        "account": "accounts",
        "balances": "accounts.balances",
        "transactions": "accounts.transactions",
    },
}


@EVERY_READ
def test_consent_with_the_native_scope_of_a_read_allows_no_other_read(
    causeway: Causeway, version: int, read: str
) -> None:
    aisp = Aisp(causeway, version)
    aisp.bearer = causeway.tpp.tokens(version, scopes=[SCOPE[version][read]])["access_token"]

    statuses = {each: unified(aisp, each).status for each in READS}

    assert statuses == {each: 200 if SCOPE[version][each] == SCOPE[version][read] else 403 for each in READS}


@EVERY_READ
def test_version_is_the_one_in_which_the_consent_was_given(causeway: Causeway, version: int, read: str) -> None:
    aisp = Aisp(causeway, version)
    before = unified(aisp, read).body
    change_bank(causeway, version, api_version=3 - version)
    aisp.bank.received.clear()

    found = unified(aisp, read)

    assert (found.status, found.body) == (200, before)
    assert [sent.path for sent in aisp.bank.received] == [webhook(version, read)]


@EVERY_READ
def test_bic_is_spelled_as_in_the_consent(causeway: Causeway, version: int, read: str) -> None:
    aisp = Aisp(causeway, version)

    consent = causeway.tpp.call("GET", "/tpp/consent", bearer=aisp.bearer).body

    assert unified(aisp, read).body["bic"] == consent["bic"] == BIC[version]


# -- switches of the bank


def balance(version: int, **members: Any) -> Any:
    one = (
        {"id": "1", "name": "Main", "balance": "1", "currency": "EUR"}
        if version == 1
        else {"balance_amount": {"amount": "1", "currency": "EUR"}, "balance_type": "interimAvailable"}
    )
    return bank_list(version, "balances", [one | members])


@pytest.mark.parametrize("balance_type", ["booked", "available"])
def test_balance_type_switch_names_the_balance_of_version_1(causeway: Causeway, balance_type: str) -> None:
    change_bank(causeway, 1, balance_type=balance_type)

    (found,) = unified(Aisp(causeway, 1), "balances", balance(1)).body["balances"]

    assert (found["type"], found["native_type"]) == (balance_type, None)


@VERSIONS
@pytest.mark.parametrize(
    ("switch", "sent", "found"),
    [(None, None, None), (None, True, True), (None, False, False), (True, False, True), (False, True, False)],
)
def test_credit_limit_switch_precedes_the_balance(
    causeway: Causeway, version: int, switch: bool | None, sent: bool | None, found: bool | None
) -> None:
    change_bank(causeway, version, credit_limit_included=switch)

    body = unified(Aisp(causeway, version), "balances", balance(version, credit_limit_included=sent)).body

    assert body["balances"][0]["credit_limit_included"] is found


@VERSIONS
def test_unsigned_amounts_switch_takes_the_direction_from_the_parties(causeway: Causeway, version: int) -> None:
    own = {**OWN, "internal_account_id": ACCOUNT_ID, "currency": "EUR"}
    sides = [{"sender_data": own, "receiver_data": {**SHOP, "currency": "EUR"}}]
    row = entry(version, amount="12.50", **({"additional_data": sides} if version == 1 else {}))
    aisp = Aisp(causeway, version)

    (signed,) = unified(aisp, "transactions", page(version, row)).body["transactions"]
    change_bank(causeway, version, unsigned_amounts=True)
    (found,) = unified(aisp, "transactions").body["transactions"]

    assert (signed["direction"], found["direction"], found["amount"]["value"]) == ("credit", "debit", "12.50")
    assert found["counterparty"]["name"] == "Corner Shop"


def dated(day: str | None) -> dict[str, Any]:
    amount = {"amount": "-1", "currency": "EUR", "booking_date": day}
    return entry(2, f"T-{day}", transaction_amount=amount)


def test_bank_without_date_to_is_not_asked_for_it_and_the_hub_leaves_out_later_entries(causeway: Causeway) -> None:
    aisp, query = Aisp(causeway, 2), {"from": "2026-01-01", "to": "2026-01-30"}
    rows = page(2, *(dated(each) for each in ("2026-01-31", "2026-01-30", None, "2025-12-31")))

    assert len(unified(aisp, "transactions", rows, **query).body["transactions"]) == 4
    change_bank(causeway, 2, no_date_to=True)
    body = unified(aisp, "transactions", **query).body

    assert ids(body["transactions"]) == ["T-2026-01-30", "T-None", "T-2025-12-31"]
    requests = [jsontext.loads(sent.body) for sent in aisp.bank.received]
    assert [each.get("date_to") for each in requests] == ["2026-01-30", None]
    assert [each["date_from"] for each in requests] == ["2026-01-01"] * 2


def test_bank_without_date_to_keeps_the_cursor_of_the_query(causeway: Causeway) -> None:
    change_bank(causeway, 2, no_date_to=True)
    aisp, query = Aisp(causeway, 2), {"to": "2026-01-30"}
    first = unified(aisp, "transactions", page(2, dated("2026-01-31"), page_key="n-2"), **query).body
    assert first["transactions"] == []

    body = unified(aisp, "transactions", page(2, dated("2026-01-30")), cursor=first["next_cursor"], **query).body

    assert ids(body["transactions"]) == ["T-2026-01-30"]
    assert unified(aisp, "transactions", cursor=first["next_cursor"]).status == 400


# -- the bank's history


@VERSIONS
def test_from_before_the_history_of_the_bank_is_refused_with_the_earliest_day(causeway: Causeway, version: int) -> None:
    change_bank(causeway, version, history_days=30)
    aisp = Aisp(causeway, version)  # on 2 March 2026

    refused = unified(aisp, "transactions", **{"from": "2026-01-30"})

    assert (refused.status, refused.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")
    assert refused.body["title"].startswith("from must not be before 2026-01-31")
    assert aisp.calls == 0
    assert unified(aisp, "transactions", **{"from": "2026-01-31"}).status == 200
    assert unified(aisp, "transactions", to="2020-01-01").status == 200


@VERSIONS
def test_history_of_the_bank_ends_by_the_utc_day(causeway: Causeway, version: int) -> None:
    change_bank(causeway, version, history_days=30)
    aisp = Aisp(causeway, version)
    causeway.clock.advance(15 * 3600 - 1)
    aisp.refresh()
    assert unified(aisp, "transactions", **{"from": "2026-01-31"}).status == 200

    causeway.clock.advance(1)
    refused = unified(aisp, "transactions", **{"from": "2026-01-31"})
    assert (refused.status, "2026-02-01" in refused.body["title"]) == (400, True)


@VERSIONS
def test_bank_without_a_known_history_is_asked_for_every_day(causeway: Causeway, version: int) -> None:
    aisp = Aisp(causeway, version)

    assert unified(aisp, "transactions", **{"from": "1970-01-01"}).status == 200


@VERSIONS
def test_cursor_does_not_check_the_history_again(causeway: Causeway, version: int) -> None:
    change_bank(causeway, version, history_days=30)
    aisp, query = Aisp(causeway, version), {"from": "2026-01-31", "limit": 1}
    more = {"page_key": "n-2"} if version == 2 else {}
    first = unified(aisp, "transactions", page(version, entry(version), **more), **query).body
    causeway.clock.advance(3 * 24 * 3600)
    aisp.refresh()

    assert unified(aisp, "transactions", page(version), cursor=first["next_cursor"], **query).status == 200
    assert unified(aisp, "transactions", **query).status == 400


# -- unattended reads


def exceeded(found: Answer) -> bool:
    return found.status == 429 and found.body["code"] == "ACCESS_EXCEEDED"


@EVERY_READ
def test_unified_and_native_reads_share_one_count(causeway: Causeway, version: int, read: str) -> None:
    limit_reads(causeway, version)
    aisp = Aisp(causeway, version)
    native = native_path(version, read)
    for _ in range(LIMIT // 2):
        assert unified(aisp, read).status == 200
        assert aisp.read(native, **native_query(version, read)).status == 200

    assert exceeded(unified(aisp, read))
    assert exceeded(aisp.read(native, **native_query(version, read)))
    assert unified(aisp, read, headers=ATTENDED).status == 200
    assert (len(aisp.items()), aisp.counted()) == (1, LIMIT)


@VERSIONS
def test_read_with_a_cursor_is_not_counted(causeway: Causeway, version: int) -> None:
    limit_reads(causeway, version, 1)
    aisp = Aisp(causeway, version)
    more = {"page_key": "n-2"} if version == 2 else {}
    first = unified(aisp, "transactions", page(version, entry(version), **more), limit=1).body
    last = page(version)

    for _ in range(3):
        assert unified(aisp, "transactions", last, cursor=first["next_cursor"], limit=1).status == 200

    assert aisp.counted() == 1
    assert exceeded(unified(aisp, "transactions", limit=1))


@EVERY_READ
def test_unified_read_that_never_reached_its_bank_releases_its_count(
    causeway: Causeway, version: int, read: str
) -> None:
    limit_reads(causeway, version)
    aisp = Aisp(causeway, version)

    assert unified(aisp, read, NotReached("no connection could be made")).status == 502
    assert aisp.counted() == 0


@VERSIONS
def test_refused_unified_reads_are_not_counted(causeway: Causeway, version: int) -> None:
    change_bank(causeway, version, history_days=30)
    limit_reads(causeway, version)
    aisp = Aisp(causeway, version)
    for query in ({"from": "2020-01-01"}, {"limit": 0}, {"cursor": "x"}, {"account_id": "x" * 256}, {"colour": "red"}):
        assert unified(aisp, "transactions", **query).status == 400

    assert aisp.items() == []


# -- deferred reads


@EVERY_READ
def test_deferred_unified_read_returns_the_immediate_response(causeway: Causeway, version: int, read: str) -> None:
    aisp = Aisp(causeway, version)
    query = {"limit": "50", "from": "2026-01-01"} if read == "transactions" else {}
    waited = unified(aisp, read, native="1", **query)

    request_id = accepted_id(unified(aisp, read, headers=LATER, native="1", **query))
    assert aisp.calls == 1
    causeway.hub.delivery.worker.attempt(request_id)

    outcome = causeway.tpp.look_up(request_id, aisp.bearer)
    body = jsontext.dumps(outcome.body["body"])
    assert (outcome.body["state"], outcome.body["status"]) == ("done", 200)
    assert body == jsontext.dumps(waited.body)
    one, two = (sent.body for sent in aisp.bank.received)
    assert one == two


@VERSIONS
def test_deferred_unified_reads_follow_a_cursor(causeway: Causeway, version: int) -> None:
    aisp = Aisp(causeway, version)
    more = {"page_key": "n-2"} if version == 2 else {}
    rows = [entry(version, f"E-{number}") for number in range(3)]

    def deferred(response: Any, **query: Any) -> Any:
        request_id = accepted_id(unified(aisp, "transactions", response, LATER, limit=2, **query))
        causeway.hub.delivery.worker.attempt(request_id)
        return causeway.tpp.outcome(request_id, aisp.bearer)["body"]

    first = deferred(page(version, *rows[:2], **more))
    second = deferred(page(version, *rows[1:]), cursor=first["next_cursor"])

    assert [ids(each["transactions"]) for each in (first, second)] == [["E-0", "E-1"], ["E-2"]]


def test_deferred_read_at_a_bank_without_date_to_leaves_out_later_entries(causeway: Causeway) -> None:
    change_bank(causeway, 2, no_date_to=True)
    aisp = Aisp(causeway, 2)
    rows = page(2, dated("2026-01-31"), dated("2026-01-30"))

    request_id = accepted_id(unified(aisp, "transactions", rows, LATER, to="2026-01-30"))
    causeway.hub.delivery.worker.attempt(request_id)

    body = causeway.tpp.outcome(request_id, aisp.bearer)["body"]
    assert ids(body["transactions"]) == ["T-2026-01-30"]
    assert "date_to" not in jsontext.loads(aisp.bank.received[-1].body)


@pytest.mark.parametrize(
    ("no_date_to", "listed"), [(True, ["T-2026-01-30"]), (False, ["T-2026-01-31", "T-2026-01-30"])]
)
def test_deferred_read_compares_the_days_that_its_request_does_not_have(
    causeway: Causeway, no_date_to: bool, listed: list[str]
) -> None:
    change_bank(causeway, 2, no_date_to=no_date_to)
    aisp = Aisp(causeway, 2)
    rows = page(2, dated("2026-01-31"), dated("2026-01-30"))

    request_id = accepted_id(unified(aisp, "transactions", rows, LATER, to="2026-01-30"))
    change_bank(causeway, 2, no_date_to=not no_date_to)
    causeway.hub.delivery.worker.attempt(request_id)

    assert ids(causeway.tpp.outcome(request_id, aisp.bearer)["body"]["transactions"]) == listed
    assert ("date_to" in jsontext.loads(aisp.bank.received[-1].body)) is not no_date_to


def test_deferred_read_of_unusable_pages_fails_with_a_reason_code(causeway: Causeway) -> None:
    aisp = Aisp(causeway, 2)
    long = page(2, entry(2), page_key="k" * 1025)

    request_id = accepted_id(unified(aisp, "transactions", long, LATER))
    for _ in range(20):
        causeway.hub.delivery.worker.attempt(request_id)
        causeway.clock.advance(PLANS["relay"].lifetime // 10)
    aisp.refresh()

    outcome = causeway.tpp.outcome(request_id, aisp.bearer)
    assert (outcome["state"], outcome["status"], outcome["body"]["reason_code"]) == ("failed", 502, "page_key_too_long")


@VERSIONS
def test_invalid_unified_read_is_refused_before_it_is_deferred(causeway: Causeway, version: int) -> None:
    change_bank(causeway, version, history_days=30)
    aisp = Aisp(causeway, version)

    for query in ({"cursor": "x"}, {"from": "2020-01-01"}, {"account_id": "x" * 256}):
        assert unified(aisp, "transactions", headers=LATER, **query).status == 400

    assert causeway.recorded() == []


@EVERY_READ
def test_deferred_and_immediate_unified_reads_share_one_count(causeway: Causeway, version: int, read: str) -> None:
    limit_reads(causeway, version, 2)
    aisp = Aisp(causeway, version)

    request_id = accepted_id(unified(aisp, read, headers=LATER))
    causeway.hub.delivery.worker.attempt(request_id)
    assert unified(aisp, read).status == 200

    assert exceeded(unified(aisp, read, headers=LATER))
    assert exceeded(aisp.read(native_path(version, read), **native_query(version, read)))
