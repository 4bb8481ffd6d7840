"""Tests of the status query for consents: the status of each consent, and protection of consents at other banks."""

import uuid
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.openbanking.flows.consent.tokens import end_consent
from chalicelib.openbanking.records.consents import Consent, consent_key
from tests.causeway import Answer, Causeway
from tests.kit.storage import record_calls
from tests.openbanking.kit import CONSENT_IDS, TOKEN, TOKENS, VERSIONS, error_code
from tests.openbanking.payments import Pisp

DAY = 24 * 3600
FIELD = {1: (400, 4001), 2: (400, "INVALID_MODEL_TYPE")}
SECRET = "x" * 43
NONE = {"scopes": None, "valid_until": None, "ended_at": None, "ended_by": None}


def ask(causeway: Causeway, version: int, tokens: Any = None, consent_ids: Any = None, **headers: str) -> Answer:
    lists = {TOKENS[version]: tokens, CONSENT_IDS[version]: consent_ids}
    members = {name: value for name, value in lists.items() if value is not None}
    return causeway.banks[version].call("/consents/status", members, headers=headers)


def told(causeway: Causeway, version: int, tokens: Any = None, consent_ids: Any = None) -> list[Any]:
    """Return the entries of a status response, with the member names of version 1."""
    answer = ask(causeway, version, tokens, consent_ids)
    assert answer.status == 200, answer
    assert set(answer.body) == {"consents"}
    names = {"consentId": "consent_id", "validUntil": "valid_until", "endedAt": "ended_at", "endedBy": "ended_by"}
    entries: list[Any] = answer.body["consents"]
    assert version == 1 or all(set(names) <= set(entry) for entry in entries)
    return [{names.get(name, name): value for name, value in entry.items()} for entry in entries]


def approved(causeway: Causeway, version: int) -> tuple[str, str]:
    token = causeway.psu.approve(version).bank_token
    return token, token.partition(".")[0]


def unknown(consent_id: str | None) -> dict[str, Any]:
    return {"consent_id": consent_id, "status": "unknown", **NONE}


# -- states


@VERSIONS
@pytest.mark.parametrize("by", ["token", "id"])
def test_a_bank_can_query_the_status_of_a_consent_by_token_or_by_consent_id(
    causeway: Causeway, version: int, by: str
) -> None:
    token, consent_id = approved(causeway, version)

    found = told(causeway, version, [token]) if by == "token" else told(causeway, version, None, [consent_id])

    assert found == [
        {
            "consent_id": consent_id,
            "status": "authorised",
            "scopes": causeway.banks[version].scopes,
            "valid_until": "2026-08-29T09:00:00+00:00",
            "ended_at": None,
            "ended_by": None,
        }
    ]


@VERSIONS
def test_the_status_of_a_revoked_consent_shows_who_revoked_the_consent_and_when(
    causeway: Causeway, version: int
) -> None:
    by_tpp, by_bank, by_operator = (causeway.psu.approve(version) for _ in range(3))
    bearer = causeway.tpp.call("POST", "/tpp/token", {"code": by_tpp.query["code"]}).body["access_token"]
    causeway.clock.advance(60)
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": bearer})
    causeway.banks[version].call("/token/revoke", {TOKEN[version]: by_bank.bank_token})
    item = causeway.hub.store.get(*consent_key(by_operator.bank_token.partition(".")[0]))
    assert item is not None
    causeway.hub.openbanking.call(end_consent, Consent.from_item(item), by="operator")

    found = told(causeway, version, [each.bank_token for each in (by_tpp, by_bank, by_operator)])

    assert [(each["status"], each["ended_by"]) for each in found] == [
        ("revoked", "tpp"),
        ("revoked", "bank"),
        ("revoked", "operator"),
    ]
    assert {each["ended_at"] for each in found} == {"2026-03-02T09:01:00+00:00"}


@VERSIONS
def test_expiry_changes_the_status_of_an_authorised_consent_but_not_of_a_used_consent(
    causeway: Causeway, version: int
) -> None:
    token, _ = approved(causeway, version)
    pisp = Pisp(causeway, version, consent_type="one_time")
    pisp.pay()
    spent = str(pisp.bearer).partition("~")[0]

    before = [each["status"] for each in told(causeway, version, [token], [spent])]
    causeway.clock.advance(180 * DAY - 1)
    last = [each["status"] for each in told(causeway, version, [token], [spent])]
    causeway.clock.advance(1)
    after = [each["status"] for each in told(causeway, version, [token], [spent])]

    assert (before, last, after) == (["authorised", "spent"], ["authorised", "spent"], ["expired", "spent"])


def test_revoked_consent_without_a_stored_time_has_the_status_revoked(causeway: Causeway) -> None:
    token, consent_id = approved(causeway, 1)
    causeway.banks[1].call("/token/revoke", {"access_token": token})
    causeway.hub.store.update(*consent_key(consent_id), remove=["ended_at", "ended_by", "last_used_on"])

    (found,) = told(causeway, 1, [token])

    assert (found["status"], found["ended_at"], found["ended_by"]) == ("revoked", None, None)


# -- what is unknown


@VERSIONS
def test_consents_of_other_banks_and_nonexistent_consents_have_the_status_unknown(
    causeway: Causeway, version: int
) -> None:
    token, consent_id = approved(causeway, version)
    foreign, foreign_id = approved(causeway, 3 - version)
    bearer = causeway.tpp.tokens(version)["access_token"]

    by_token = told(causeway, version, [f"{consent_id}.{SECRET}", foreign, f"{'0' * 22}.{SECRET}", bearer, "nonsense"])
    by_id = told(causeway, version, None, [foreign_id, "0" * 22, "grant"])

    assert by_token == [unknown(consent_id), unknown(foreign_id), unknown("0" * 22), unknown(None), unknown(None)]
    assert by_id == [unknown(foreign_id), unknown("0" * 22), unknown("grant")]
    assert told(causeway, version, [token])[0]["status"] == "authorised"


@VERSIONS
def test_responses_to_status_queries_contain_no_token_or_secret(causeway: Causeway, version: int) -> None:
    token, consent_id = approved(causeway, version)
    sent = [token, f"{consent_id}.{SECRET}", f"hunter2.{SECRET}", "hunter2-hunter2"]

    answers = [ask(causeway, version, sent), ask(causeway, version, None, [token]), ask(causeway, version, ["y" * 513])]

    assert [answer.status for answer in answers] == [200, 400, 400]
    for answer in answers:
        for secret in (token.partition(".")[2], SECRET, "hunter2-hunter2", "y" * 20):
            assert secret not in answer.text


# -- order and number


@VERSIONS
def test_a_status_response_lists_tokens_before_ids_in_request_order_with_duplicates(
    causeway: Causeway, version: int
) -> None:
    (first, first_id), (second, second_id) = approved(causeway, version), approved(causeway, version)

    found = told(causeway, version, [second, "nonsense", first, second], [first_id, "0", second_id, first_id])

    assert [each["consent_id"] for each in found] == [
        *(second_id, None, first_id, second_id),
        *(first_id, "0", second_id, first_id),
    ]
    assert [each["status"] for each in found] == ["authorised", "unknown", *["authorised"] * 3, "unknown"] + [
        "authorised"
    ] * 2


@VERSIONS
@pytest.mark.parametrize(("tokens", "consent_ids"), [(100, 0), (0, 100), (60, 40)])
def test_a_status_query_for_100_consents_makes_one_storage_read(
    causeway: Causeway, version: int, tokens: int, consent_ids: int
) -> None:
    token, consent_id = approved(causeway, version)
    others = [f"{number:022x}" for number in range(99)]
    asked = ([token] + [f"{each}.{SECRET}" for each in others])[:tokens]
    ids = [consent_id, *others][:consent_ids]
    causeway.hub.openbanking.banks.find(causeway.banks[version].bic)

    with record_calls(causeway) as calls:
        found = told(causeway, version, asked or None, ids or None)

    assert calls == ["BatchGetItem"]
    assert len(found) == 100
    assert [each["status"] for each in found].count("authorised") == bool(tokens) + bool(consent_ids)


@VERSIONS
@pytest.mark.parametrize(("tokens", "consent_ids"), [(101, 0), (0, 101), (60, 41), (0, 0)])
def test_a_status_query_with_an_empty_list_or_with_more_than_100_entries_returns_400(
    causeway: Causeway, version: int, tokens: int, consent_ids: int
) -> None:
    answer = ask(causeway, version, [f"{'0' * 22}.{SECRET}"] * tokens, ["0" * 22] * consent_ids)

    assert error_code(answer, version) == FIELD[version]


@VERSIONS
def test_a_status_query_with_only_malformed_tokens_returns_unknown_without_a_storage_read(
    causeway: Causeway, version: int
) -> None:
    causeway.hub.openbanking.banks.find(causeway.banks[version].bic)

    with record_calls(causeway) as calls:
        assert told(causeway, version, ["nonsense", "too"]) == [unknown(None)] * 2

    assert calls == []


@VERSIONS
def test_a_list_with_the_value_null_is_treated_as_missing(causeway: Causeway, version: int) -> None:
    token, _ = approved(causeway, version)

    answer = causeway.banks[version].call("/consents/status", {TOKENS[version]: [token], CONSENT_IDS[version]: None})
    neither = causeway.banks[version].call("/consents/status", {TOKENS[version]: None, CONSENT_IDS[version]: None})

    assert (answer.status, len(answer.body["consents"])) == (200, 1)
    assert error_code(neither, version) == FIELD[version]


WRONG: dict[str, Any] = {
    "a text": "x",
    "an object": {},
    "a number": 7,
    "true": True,
    "a number inside": [7],
    "null inside": [None],
    "a list inside": [["x"]],
    "empty inside": [""],
    "too long inside": ["x" * 513],
}


@VERSIONS
@pytest.mark.parametrize("which", [TOKENS, CONSENT_IDS], ids=["tokens", "ids"])
@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_a_status_query_with_an_invalid_value_in_a_list_returns_400(
    causeway: Causeway, version: int, which: dict[int, str], value: Any
) -> None:
    _, consent_id = approved(causeway, version)
    other = CONSENT_IDS if which is TOKENS else TOKENS
    answer = causeway.banks[version].call("/consents/status", {which[version]: value, other[version]: [consent_id]})

    assert error_code(answer, version) == FIELD[version]


@VERSIONS
@pytest.mark.parametrize("value", ["a.b", "a~b", "a b", "é", "x" * 65, "a\n"])
def test_a_malformed_consent_id_returns_400(causeway: Causeway, version: int, value: str) -> None:
    assert error_code(ask(causeway, version, None, [value]), version) == FIELD[version]


@VERSIONS
def test_a_status_query_with_unknown_members_or_names_of_another_version_returns_400(
    causeway: Causeway, version: int
) -> None:
    other = TOKENS[3 - version]
    expected = (400, 4001 if version == 1 else "EXTRA_FIELDS_PROVIDED")

    for members in ({"tokens": ["x"]}, {other: ["x"]}):
        answer = causeway.banks[version].call("/consents/status", {CONSENT_IDS[version]: ["0"], **members})
        assert error_code(answer, version) == expected


# -- a read


@VERSIONS
def test_a_retried_status_query_returns_the_current_status_and_stores_nothing(causeway: Causeway, version: int) -> None:
    token, consent_id = approved(causeway, version)
    request_id, stored = str(uuid.uuid4()), len([*causeway.hub.store.scan("idempotency")])

    first = ask(causeway, version, [token], **{"x-request-id": request_id})
    item = causeway.hub.store.get(*consent_key(consent_id))
    causeway.banks[version].call("/token/revoke", {TOKEN[version]: token}, headers={"x-request-id": request_id})
    again = ask(causeway, version, [token], **{"x-request-id": request_id})
    other = ask(causeway, version, None, [consent_id], **{"x-request-id": request_id})

    statuses = [answer.body["consents"][0]["status"] for answer in (first, again, other)]
    assert statuses == ["authorised", "revoked", "revoked"]
    assert item is not None
    assert "last_used_on" not in item
    assert len([*causeway.hub.store.scan("idempotency")]) == stored + 1  # the revocation's


# -- who gets in


@VERSIONS
def test_a_status_query_is_checked_in_the_same_order_as_other_bank_calls(causeway: Causeway, version: int) -> None:
    token, _ = approved(causeway, version)
    body = {TOKENS[version]: [token]}
    other = causeway.banks[3 - version]

    def refused(**headers: str | None) -> tuple[int, Any]:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return error_code(causeway.banks[version].call("/consents/status", body, headers=sent), version)

    codes = {
        1: [(401, 4201), (401, 4200), (403, 4004), (401, 4204), (401, 4200)],
        2: [
            (401, "AUTHENTICATION_REQUIRED"),
            (401, "WRONG_CREDENTIALS"),
            (403, "SERVICE_BLOCKED"),
            (401, "REQUEST_ID_NOT_UUID"),
            (400, "HEADERS_ERROR"),
        ],
    }
    assert [
        refused(x_api_key=None, x_request_id="1"),
        refused(x_api_key="nobody", x_request_id="1"),
        refused(x_api_key=other.api_key, x_request_id="1"),
        refused(x_request_id="1", x_signature="bm8="),
        refused(x_signature="bm8="),
    ] == codes[version]


@VERSIONS
def test_a_body_that_is_not_json_returns_400(causeway: Causeway, version: int) -> None:
    answer = causeway.banks[version].call("/consents/status", raw=b"{")

    assert answer.status == 400
    assert error_code(answer, version) == (400, 4003 if version == 1 else "FORMAT_ERROR")


@VERSIONS
def test_an_inactive_bank_returns_401(causeway: Causeway, version: int) -> None:
    token, _ = approved(causeway, version)
    bic, banks = causeway.banks[version].bic, causeway.hub.openbanking.banks

    banks.change(bic, active=False)
    answer = ask(causeway, version, [token])
    banks.change(bic, active=True)

    assert error_code(answer, version) == (401, 4200 if version == 1 else "WRONG_CREDENTIALS")


def test_a_version_2_status_response_has_camel_case_member_names(causeway: Causeway) -> None:
    token, _ = approved(causeway, 2)

    (entry,) = jsontext.loads(ask(causeway, 2, [token]).text)["consents"]

    assert set(entry) == {"consentId", "status", "scopes", "validUntil", "endedAt", "endedBy"}
