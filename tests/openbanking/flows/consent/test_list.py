"""Tests of a client's list of consents: entries, pages, filters and separation of clients."""

from collections.abc import Iterator
from itertools import chain
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.openbanking.records import consent_list
from chalicelib.openbanking.records.consents import consent_key
from tests.causeway import Answer, Causeway
from tests.kit.storage import record_calls
from tests.openbanking.key_holder import KeyHolder, secure
from tests.openbanking.kit import VERSIONS
from tests.openbanking.payments import Pisp

pytestmark = pytest.mark.dynamodb
DAY = 24 * 3600


def asked(causeway: Causeway, **query: object) -> Answer:
    return causeway.tpp.call("GET", f"/tpp/consents?{urlencode(query)}")


def listed(causeway: Causeway, **query: object) -> list[Any]:
    answer = asked(causeway, **query)
    assert answer.status == 200, answer
    consents: list[Any] = answer.body["consents"]
    return consents


def ids(entries: list[Any]) -> list[str]:
    return [entry["consent_id"] for entry in entries]


def pages(causeway: Causeway, **query: object) -> Iterator[Any]:
    after: dict[str, str] = {}
    while True:
        page = asked(causeway, **query, **after).body
        assert page["has_more"] is (page["next"] is not None)
        yield page
        if not page["has_more"]:
            return
        after = {"after": page["next"]}


def approved(causeway: Causeway, version: int = 1, **members: Any) -> str:
    return causeway.psu.approve(version, **members).bank_token.partition(".")[0]


def refused_parameter(answer: Answer, name: str) -> bool:
    (detail,) = answer.body["additionalErrors"]
    return (answer.status, answer.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT") and name in detail["details"]


# -- contents


def test_a_client_without_consents_has_an_empty_list(causeway: Causeway) -> None:
    assert asked(causeway).body == {"consents": [], "next": None, "has_more": False}


@VERSIONS
def test_a_consent_is_listed_without_tokens_and_accounts(causeway: Causeway, version: int) -> None:
    consent_id = causeway.tpp.tokens(version)["consent_id"]

    answer = asked(causeway)

    assert answer.headers["cache-control"] == "no-store"
    assert answer.body["consents"] == [
        {
            "consent_id": consent_id,
            "bic": causeway.banks[version].bic,
            "status": "authorised",
            "consent_type": "reusable",
            "scopes": causeway.banks[version].scopes,
            "unified_scopes": ["accounts:read"],
            "created_at": "2026-03-02T09:00:00+00:00",
            "valid_until": "2026-08-29T09:00:00+00:00",
            "last_used_on": "2026-03-02",
        }
    ]


def test_the_consent_list_starts_with_the_newest_consent(causeway: Causeway) -> None:
    made = []
    for version in (1, 2, 1):
        made.append(approved(causeway, version))
        causeway.clock.advance(1)

    assert ids(listed(causeway)) == made[::-1]


def test_the_consent_list_omits_consents_of_other_clients(causeway: Causeway) -> None:
    own, other = approved(causeway), causeway.hub.openbanking.clients.create(owner="other@example.com", title="Other")

    answer = causeway.tpp.call("GET", "/tpp/consents", client_id=other.client.client_id)

    assert (answer.status, answer.body["consents"]) == (200, [])
    assert ids(listed(causeway)) == [own]


@pytest.mark.parametrize("gone", ["inactive", "removed"])
def test_the_consent_list_includes_consents_at_inactive_and_removed_banks(causeway: Causeway, gone: str) -> None:
    consent_id, bic = approved(causeway), causeway.banks[1].bic
    banks = causeway.hub.openbanking.banks
    before = banks.get(bic).to_item()

    if gone == "inactive":
        banks.change(bic, active=False)
    else:
        banks.remove(bic)
    found = ids(listed(causeway)), ids(listed(causeway, bic=bic))
    causeway.hub.store.put("banks", before)
    banks.forget()

    assert found == ([consent_id], [consent_id])


# -- states


def test_expiry_changes_the_status_of_consents_that_are_authorised_but_not_revoked_or_used(causeway: Causeway) -> None:
    authorised = approved(causeway)
    revoked = causeway.tpp.tokens(1)
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": revoked["access_token"]})
    pisp = Pisp(causeway, 1, consent_type="one_time")
    pisp.pay()
    states: list[dict[str, str]] = []

    for days in (0, 180):
        causeway.clock.advance(days * DAY)
        states.append({entry["consent_id"]: entry["status"] for entry in listed(causeway)})

    spent = str(pisp.bearer).partition("~")[0]
    ended = {revoked["consent_id"]: "revoked", spent: "spent"}
    assert states == [{authorised: "authorised", **ended}, {authorised: "expired", **ended}]


def test_a_consent_expires_exactly_180_days_after_its_creation(causeway: Causeway) -> None:
    approved(causeway)

    seen = []
    for seconds in (180 * DAY - 1, 1):
        causeway.clock.advance(seconds)
        seen.append([entry["status"] for entry in listed(causeway)])

    assert seen == [["authorised"], ["expired"]]


# -- the day of the last use


def test_a_consent_whose_code_was_not_exchanged_has_no_time_of_last_use(causeway: Causeway) -> None:
    approved(causeway)

    assert [entry["last_used_on"] for entry in listed(causeway)] == [None]


def test_a_refresh_updates_the_time_of_last_use_of_a_consent_and_a_read_does_not(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(1)
    causeway.clock.advance(15 * 3600)
    seen = []

    causeway.clock.advance(-60)  # a minute before midnight
    refreshed = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]}).body
    for seconds in (0, 60):
        causeway.clock.advance(seconds)
        assert causeway.tpp.call("GET", "/tpp/consent", bearer=refreshed["access_token"]).status == 200
        seen.append(listed(causeway)[0]["last_used_on"])
    causeway.clock.advance(61)
    assert causeway.tpp.call("POST", "/tpp/token", {"refresh_token": refreshed["refresh_token"]}).status == 200
    seen.append(listed(causeway)[0]["last_used_on"])

    assert seen == ["2026-03-02", "2026-03-02", "2026-03-03"]


def test_a_repeated_refresh_does_not_change_the_time_of_last_use_of_a_consent(causeway: Causeway) -> None:
    refresh = {"refresh_token": causeway.tpp.tokens(1)["refresh_token"]}
    causeway.clock.advance(15 * 3600 - 1)
    first = causeway.tpp.call("POST", "/tpp/token", refresh).body

    causeway.clock.advance(1)
    again = causeway.tpp.call("POST", "/tpp/token", refresh).body

    assert again["access_token"] == first["access_token"]
    assert listed(causeway)[0]["last_used_on"] == "2026-03-02"


def test_a_refresh_without_token_rotation_updates_the_last_use_of_the_consent(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder, security_profile="fapi2")
    tokens = holder.tokens(causeway)
    causeway.clock.advance(DAY)

    assert holder.refresh(causeway, tokens["refresh_token"]).body["refresh_token"] == tokens["refresh_token"]

    headers = {"x-client-assertion": holder.assertion(causeway)}
    (entry,) = causeway.tpp.call("GET", "/tpp/consents", headers=headers).body["consents"]
    assert entry["last_used_on"] == "2026-03-03"


def test_a_payment_with_a_one_time_consent_updates_the_time_of_last_use_of_the_consent(causeway: Causeway) -> None:
    causeway.clock.advance(15 * 3600 - 60)
    pisp = Pisp(causeway, 1, consent_type="one_time")
    before = listed(causeway)[0]["last_used_on"]

    causeway.clock.advance(60)
    assert pisp.pay().status == 200

    assert (before, listed(causeway)[0]["last_used_on"]) == ("2026-03-02", "2026-03-03")


def test_the_next_refresh_sets_the_time_of_last_use_of_a_consent_stored_without_this_time(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(1)
    causeway.hub.store.update(*consent_key(tokens["consent_id"]), remove=["last_used_on"])

    before = listed(causeway)
    causeway.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]})

    assert [entry["last_used_on"] for entry in (*before, *listed(causeway))] == [None, "2026-03-02"]


# -- pages


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_the_pages_list_each_of_several_consents_with_equal_creation_times_exactly_once(
    causeway: Causeway, limit: int
) -> None:
    made = [approved(causeway) for _ in range(7)]

    found = [ids(page["consents"]) for page in pages(causeway, limit=limit)]

    assert sorted(chain(*found)) == sorted(made)
    assert [len(page) for page in found] == [limit] * (7 // limit) + [7 % limit] * bool(7 % limit)


def test_a_page_of_the_consent_list_has_20_consents_by_default(causeway: Causeway) -> None:
    for _ in range(21):
        approved(causeway)

    assert [len(page["consents"]) for page in pages(causeway)] == [20, 1]


def test_a_new_consent_does_not_change_the_next_page_of_the_consent_list(causeway: Causeway) -> None:
    made = [approved(causeway) for _ in range(3)]
    first = asked(causeway, limit=2).body
    causeway.clock.advance(1)
    approved(causeway)

    second = asked(causeway, limit=2, after=first["next"]).body

    assert sorted(ids(first["consents"]) + ids(second["consents"])) == sorted(made)


def test_a_cursor_of_another_client_returns_400(causeway: Causeway) -> None:
    for _ in range(2):
        approved(causeway)
    cursor = asked(causeway, limit=1).body["next"]

    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="other@example.com", title="Other").client
    causeway.tpp.client_secret = None

    assert refused_parameter(asked(causeway, after=cursor), "after")


@pytest.mark.parametrize(
    "alter",
    [
        lambda cursor: cursor[:-1] + ("A" if cursor[-1] != "A" else "B"),
        lambda cursor: "1" + cursor,
        lambda cursor: cursor.replace("~", "~0", 1),
        lambda cursor: cursor.partition(".")[0],
        lambda cursor: cursor[:-1] + "é",
        lambda cursor: "x",
        lambda cursor: "",
        lambda cursor: "1" * 257,
        lambda cursor: cursor + "\n",
    ],
)
def test_a_forged_cursor_returns_400(causeway: Causeway, alter: Any) -> None:
    for _ in range(2):
        approved(causeway)

    answer = asked(causeway, limit=1, after=alter(asked(causeway, limit=1).body["next"]))

    assert refused_parameter(answer, "after")


def test_a_cursor_remains_valid_after_a_data_key_rotation(causeway: Causeway) -> None:
    made = [approved(causeway) for _ in range(2)]
    first = asked(causeway, limit=1).body
    causeway.hub.keyring.rotate_data_key()

    second = asked(causeway, limit=1, after=first["next"]).body

    assert sorted(ids(first["consents"]) + ids(second["consents"])) == sorted(made)


# -- filters


def test_the_consent_list_with_a_bank_or_status_filter_returns_only_matching_consents(causeway: Causeway) -> None:
    one, two = approved(causeway, 1), approved(causeway, 2)
    ended = causeway.tpp.tokens(1)
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": ended["access_token"]})

    assert ids(listed(causeway, bic="BETADEF1")) == [two]
    assert sorted(ids(listed(causeway, bic="ALPHGB21"))) == sorted([one, ended["consent_id"]])
    assert sorted(ids(listed(causeway, status="authorised"))) == sorted([one, two])
    assert ids(listed(causeway, bic="ALPHGB21", status="revoked")) == [ended["consent_id"]]
    assert listed(causeway, bic="BETADEF1", status="revoked") == []
    assert listed(causeway, status="spent") == listed(causeway, status="expired") == []
    causeway.clock.advance(180 * DAY)
    assert sorted(ids(listed(causeway, status="expired"))) == sorted([one, two])
    assert ids(listed(causeway, status="revoked")) == [ended["consent_id"]]


@pytest.mark.parametrize(("bic", "count"), [("alphgb21", 1), ("ALPHGB21XXX", 1), ("ALPHGB21123", 0), ("NOBKGB21", 0)])
def test_the_bic_filter_of_the_consent_list_accepts_8_or_11_characters_and_an_unknown_bank(
    causeway: Causeway, bic: str, count: int
) -> None:
    approved(causeway)

    assert len(listed(causeway, bic=bic)) == count


@pytest.mark.parametrize(("examined", "empty"), [(1000, 0), (12, 1), (11, 1), (10, 2)])
def test_a_filtered_page_of_the_consent_list_examines_a_limited_number_of_consents(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, examined: int, empty: int
) -> None:
    monkeypatch.setattr(consent_list, "EXAMINED", examined)
    rare = approved(causeway, 2)
    causeway.clock.advance(1)
    for _ in range(21):
        approved(causeway, 1)

    found = [ids(page["consents"]) for page in pages(causeway, bic="BETADEF1", limit=1)]

    assert found[: empty + 1] == [*[[]] * empty, [rare]]
    assert found[empty + 1 :] in ([], [[]])  # DynamoDB does not say that the row at a query's limit is the last


def test_a_filtered_page_of_the_consent_list_makes_a_second_query_for_the_remaining_rows(causeway: Causeway) -> None:
    for _ in range(11):
        approved(causeway, 1)

    with record_calls(causeway) as calls:
        assert listed(causeway, bic="BETADEF1", limit=1) == []
    assert calls.count("Query") == 2


def test_filtered_pages_that_reach_the_row_limit_neither_omit_nor_repeat_a_consent(causeway: Causeway) -> None:
    made = [approved(causeway, version) for version in (1, 2, 1, 2, 1)]

    found = [ids(page["consents"]) for page in pages(causeway, bic="ALPHGB21", limit=2)]

    assert [len(page) for page in found][:2] == [2, 1]
    assert sorted(chain(*found)) == sorted(made[::2])


def test_the_consent_list_shows_the_current_status_despite_a_stale_index(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens, real = causeway.tpp.tokens(1), causeway.hub.store.query

    def lagging(*arguments: Any, **which: Any) -> Any:
        found = real(*arguments, **which)
        causeway.tpp.call("POST", "/tpp/token/revoke", {"token": tokens["access_token"]})
        return found

    monkeypatch.setattr(causeway.hub.store, "query", lagging)

    assert listed(causeway, status="authorised") == []
    assert [entry["status"] for entry in listed(causeway)] == ["revoked"]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("status=unknown", "status"),
        ("status=", "status"),
        ("status=Authorised", "status"),
        ("bic=bank", "bic"),
        ("bic=", "bic"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=ten", "limit"),
        ("page=1", "page"),
    ],
)
def test_an_invalid_query_parameter_returns_400_with_the_name_of_the_parameter(
    causeway: Causeway, query: str, name: str
) -> None:
    assert refused_parameter(causeway.tpp.call("GET", f"/tpp/consents?{query}"), name)


def test_a_repeated_parameter_returns_400(causeway: Causeway) -> None:
    answer = causeway.tpp.call("GET", "/tpp/consents?limit=1&limit=2")

    assert (answer.status, answer.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")


# -- authentication


def test_the_consent_list_with_a_bearer_token_and_without_the_client_secret_returns_401(causeway: Causeway) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]
    causeway.tpp.client_secret = causeway.hub.openbanking.clients.rotate_secret(causeway.tpp.client_id, 0).secret

    assert causeway.tpp.call("GET", "/tpp/consents", bearer=bearer).status == 401
    assert asked(causeway).status == 200


def test_a_missing_client_assertion_returns_401(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder)

    assert asked(causeway).status == 401
    headers = {"x-client-assertion": holder.assertion(causeway)}
    assert causeway.tpp.call("GET", "/tpp/consents", headers=headers).status == 200


@pytest.mark.parametrize("client_id", ["", "unknown"])
def test_an_unknown_client_returns_401(causeway: Causeway, client_id: str) -> None:
    assert causeway.tpp.call("GET", "/tpp/consents", client_id=client_id).status == 401


def test_an_inactive_client_returns_401(causeway: Causeway) -> None:
    causeway.hub.openbanking.clients.deactivate(causeway.tpp.client_id)

    assert asked(causeway).status == 401


def test_an_invalid_request_id_returns_401(causeway: Causeway) -> None:
    answer = causeway.tpp.call("GET", "/tpp/consents", headers={"x-request-id": "1"})

    assert (answer.status, answer.body["code"]) == (401, "REQUEST_ID_NOT_UUID")
