"""Tests of sender-constrained tokens: a bound token requires its key, and a refresh keeps the binding."""

from typing import Any

import pytest

from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.records.consents import REPEAT_WINDOW
from tests.causeway import Answer, Causeway
from tests.openbanking.key_holder import KeyHolder, secure


def redeem(causeway: Causeway, holder: KeyHolder, code: str) -> Any:
    answer = causeway.tpp.call("POST", "/tpp/token", {"code": code}, headers={"dpop": holder.proof(causeway)})
    assert answer.status == 200, answer
    return answer.body


def refresh(causeway: Causeway, token: str, holder: KeyHolder | None) -> Answer:
    headers = {"dpop": holder.proof(causeway)} if holder else {}
    return causeway.tpp.call("POST", "/tpp/token", {"refresh_token": token}, headers=headers)


def is_refused(answer: Answer) -> bool:
    wanted = refusals.REFRESH_TOKEN_INVALID().message
    return (answer.status, answer.body["error"], answer.body["title"]) == (400, "invalid_grant", wanted)


def is_invalid_token(answer: Answer) -> bool:
    return (answer.status, answer.body["title"]) == (401, refusals.BEARER_INVALID().message)


@pytest.mark.parametrize("version", [1, 2])
def test_any_client_can_bind_its_tokens_with_a_dpop_proof(causeway: Causeway, version: int) -> None:
    holder = KeyHolder()

    tokens = redeem(causeway, holder, causeway.psu.approve(version).query["code"])

    assert tokens["token_type"] == "DPoP"
    assert holder.read(causeway, tokens["access_token"]).status == 200


def test_a_client_with_the_setting_dpop_bound_needs_a_proof_at_the_token_endpoint(causeway: Causeway) -> None:
    made = causeway.hub.openbanking.clients.update(causeway.tpp.client_id, security={"dpop_bound_access_tokens": True})
    causeway.tpp.client = made.client
    code = causeway.psu.approve(2).query["code"]

    without = causeway.tpp.call("POST", "/tpp/token", {"code": code})
    assert (without.status, without.body["error"]) == (400, "invalid_dpop_proof")
    assert redeem(causeway, KeyHolder(), code)["token_type"] == "DPoP"


def test_unbound_access_tokens_of_a_client_with_the_setting_dpop_bound_are_invalid(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(2)
    causeway.hub.openbanking.clients.update(causeway.tpp.client_id, security={"dpop_bound_access_tokens": True})

    assert is_invalid_token(causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]))
    holder = KeyHolder()
    bound = refresh(causeway, tokens["refresh_token"], holder).body
    assert holder.read(causeway, bound["access_token"]).status == 200


def test_a_bound_token_that_is_sent_as_a_bearer_token_returns_401(causeway: Causeway) -> None:
    holder = KeyHolder()
    token = redeem(causeway, holder, causeway.psu.approve(2).query["code"])["access_token"]

    as_bearer = causeway.tpp.call("GET", "/tpp/consent", bearer=token)
    with_proof = causeway.tpp.call(
        "GET", "/tpp/consent", bearer=token, headers={"dpop": holder.proof(causeway, "GET", "/tpp/consent", token)}
    )

    assert is_invalid_token(as_bearer)
    assert is_invalid_token(with_proof)
    assert as_bearer.headers["www-authenticate"] == 'Bearer realm="causeway", error="invalid_token"'


def test_an_unbound_token_that_is_sent_with_a_proof_returns_401(causeway: Causeway) -> None:
    token = causeway.tpp.tokens(2)["access_token"]

    answer = KeyHolder().read(causeway, token)

    assert is_invalid_token(answer)
    assert answer.headers["www-authenticate"].startswith('DPoP realm="causeway", error="invalid_token"')


def test_a_call_without_a_token_returns_a_challenge_in_the_authentication_scheme_of_the_call(
    causeway: Causeway,
) -> None:
    plain = causeway.tpp.call("GET", "/tpp/consent").headers["www-authenticate"]
    dpop = causeway.tpp.call("GET", "/tpp/consent", headers={"authorization": "DPoP "}).headers["www-authenticate"]

    assert plain == 'Bearer realm="causeway"'
    assert dpop.startswith('DPoP realm="causeway", ')
    assert dpop.endswith('algs="PS256 ES256 EdDSA Ed25519"')


def test_the_refresh_token_of_a_public_client_is_bound_to_the_dpop_key(causeway: Causeway) -> None:
    holder = KeyHolder()
    token = redeem(causeway, holder, causeway.psu.approve(2).query["code"])["refresh_token"]

    assert is_refused(refresh(causeway, token, None))
    assert is_refused(refresh(causeway, token, KeyHolder()))
    again = refresh(causeway, token, holder)
    assert (again.status, again.body["token_type"]) == (200, "DPoP")
    assert is_refused(refresh(causeway, again.body["refresh_token"], KeyHolder()))


def test_a_confidential_client_can_refresh_with_a_new_key_but_not_without_a_proof(causeway: Causeway) -> None:
    holder, new = KeyHolder(), KeyHolder()
    secure(causeway, holder)
    token = holder.tokens(causeway)["refresh_token"]

    assert is_refused(holder.refresh(causeway, token, proof=None))
    again = holder.refresh(causeway, token, proof=new.proof(causeway))
    assert again.status == 200
    assert new.read(causeway, again.body["access_token"]).status == 200
    assert is_invalid_token(holder.read(causeway, again.body["access_token"]))


def test_a_retried_refresh_requires_the_same_dpop_key(causeway: Causeway) -> None:
    holder = KeyHolder()
    first = redeem(causeway, holder, causeway.psu.approve(2).query["code"])["refresh_token"]
    second = refresh(causeway, first, holder).body

    assert is_refused(refresh(causeway, first, KeyHolder()))
    assert is_refused(refresh(causeway, first, None))
    repeated = refresh(causeway, first, holder)
    assert repeated.body["refresh_token"] == second["refresh_token"]
    assert holder.read(causeway, second["access_token"]).status == 200


def test_a_retried_refresh_of_a_confidential_client_with_a_new_key_is_rejected(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder)
    first = holder.tokens(causeway)["refresh_token"]
    second = holder.refresh(causeway, first).body

    assert is_refused(holder.refresh(causeway, first, proof=KeyHolder().proof(causeway)))
    assert holder.refresh(causeway, first).body["access_token"] == second["access_token"]


def test_reusing_a_bound_refresh_token_without_its_key_does_not_end_the_consent(causeway: Causeway) -> None:
    holder = KeyHolder()
    first = redeem(causeway, holder, causeway.psu.approve(2).query["code"])["refresh_token"]
    second = refresh(causeway, first, holder).body
    causeway.clock.advance(REPEAT_WINDOW + 1)

    assert is_refused(refresh(causeway, first, KeyHolder()))
    assert holder.read(causeway, second["access_token"]).status == 200


def test_reusing_a_bound_refresh_token_with_its_key_ends_the_consent(causeway: Causeway) -> None:
    holder = KeyHolder()
    first = redeem(causeway, holder, causeway.psu.approve(2).query["code"])["refresh_token"]
    second = refresh(causeway, first, holder).body
    causeway.clock.advance(REPEAT_WINDOW + 1)

    answer = refresh(causeway, first, holder)
    assert answer.body["title"] == refusals.REFRESH_TOKEN_USED().message
    assert is_invalid_token(holder.read(causeway, second["access_token"]))


def test_tokens_stored_by_an_earlier_release_without_bindings_are_accepted(causeway: Causeway) -> None:
    """An earlier release stored items without ``cnf`` and ``dpop_jkt``."""
    tokens = causeway.tpp.tokens(2)
    items = [item for item in causeway.hub.store.scan("consents") if item["consent_id"] == tokens["consent_id"]]

    assert not any({"cnf", "dpop_jkt"} & item.keys() for item in items)
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 200
