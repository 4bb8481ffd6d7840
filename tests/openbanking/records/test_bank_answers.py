"""Repeats of a bank's request: one answer per request id, and never one that belongs to another body."""

from __future__ import annotations

import uuid

import pytest

from tests.openbanking.spelling import TOKEN, URL, code_of
from tests.world import Answer, World

VERSIONS = pytest.mark.parametrize("version", [1, 2])
USED = {1: (400, 4001), 2: (400, "HEADERS_ERROR")}


def revoke(world: World, version: int, token: str, request_id: str) -> Answer:
    return world.bank(version, "/token/revoke", {TOKEN[version]: token}, headers={"x-request-id": request_id})


def initiate(world: World, version: int, url: str, request_id: str) -> Answer:
    return world.bank(version, "/init_authorization", {URL[version]: url}, headers={"x-request-id": request_id})


def save(world: World, version: int, url: str, request_id: str) -> Answer:
    return world.bank(version, "/consent", world.consent_body(version, url), headers={"x-request-id": request_id})


def approved(world: World, version: int) -> tuple[str, str]:
    """The bank's token of a consent, and the TPP's bearer."""
    consented = world.approve(version)
    bearer = world.tpp("POST", "/tpp/token", {"code": consented.query["code"]}).body["access_token"]
    return consented.bank_token, bearer


def lives(world: World, bearer: str) -> bool:
    return world.tpp("GET", "/tpp/consent", bearer=bearer).status == 200


@VERSIONS
def test_a_request_id_used_to_revoke_one_token_cannot_revoke_another(world: World, version: int) -> None:
    (first, first_bearer), (second, second_bearer) = approved(world, version), approved(world, version)
    request_id = str(uuid.uuid4())

    done = revoke(world, version, first, request_id)
    refused = revoke(world, version, second, request_id)
    repeated = revoke(world, version, first, request_id)

    assert done.body == repeated.body == {"status": "success"}
    assert code_of(refused, version) == USED[version]
    assert (lives(world, first_bearer), lives(world, second_bearer)) == (False, True)


@VERSIONS
def test_one_of_two_concurrent_revocations_with_one_request_id_is_refused(world: World, version: int) -> None:
    (first, first_bearer), (second, second_bearer) = approved(world, version), approved(world, version)
    request_id = str(uuid.uuid4())

    with world.meanwhile("transact", lambda: revoke(world, version, first, request_id)):
        refused = revoke(world, version, second, request_id)

    assert code_of(refused, version) == USED[version]
    assert (lives(world, first_bearer), lives(world, second_bearer)) == (False, True)


@VERSIONS
def test_two_identical_concurrent_revocations_get_the_same_answer(world: World, version: int) -> None:
    token, bearer = approved(world, version)
    request_id = str(uuid.uuid4())

    with world.meanwhile("transact", lambda: revoke(world, version, token, request_id)):
        answer = revoke(world, version, token, request_id)

    assert (answer.status, answer.body) == (200, {"status": "success"})
    assert not lives(world, bearer)


@VERSIONS
def test_two_concurrent_revocations_of_one_token_with_different_request_ids_succeed(world: World, version: int) -> None:
    token, _ = approved(world, version)

    with world.meanwhile("transact", lambda: revoke(world, version, token, str(uuid.uuid4()))):
        answer = revoke(world, version, token, str(uuid.uuid4()))

    assert (answer.status, answer.body) == (200, {"status": "success"})


@VERSIONS
def test_the_request_id_of_a_repeated_revocation_is_recorded(world: World, version: int) -> None:
    token, _ = approved(world, version)
    other, other_bearer = approved(world, version)
    request_id = str(uuid.uuid4())
    revoke(world, version, token, str(uuid.uuid4()))

    again = revoke(world, version, token, request_id)
    refused = revoke(world, version, other, request_id)

    assert again.body == {"status": "success"}
    assert code_of(refused, version) == USED[version]
    assert lives(world, other_bearer)


@VERSIONS
def test_a_request_id_is_unique_per_bank_and_path(world: World, version: int) -> None:
    request_id = str(uuid.uuid4())
    token, bearer = approved(world, version)
    foreign, foreign_bearer = approved(world, 3 - version)

    assert initiate(world, version, world.authorize(version)["redirect_url"], request_id).status == 200
    assert revoke(world, version, token, request_id.upper()).status == 200
    assert revoke(world, 3 - version, foreign, request_id).status == 200
    assert (lives(world, bearer), lives(world, foreign_bearer)) == (False, False)


@VERSIONS
def test_a_repeat_with_an_uppercase_request_id_gets_the_first_answer(world: World, version: int) -> None:
    url, request_id = world.authorize(version)["redirect_url"], str(uuid.uuid4())

    first = initiate(world, version, url, request_id)
    again = initiate(world, version, url, request_id.upper())

    assert (first.status, again.body) == (200, first.body)
    assert first.headers["x-request-id"] == again.headers["x-request-id"] == request_id


@VERSIONS
def test_an_uppercase_request_id_counts_as_used(world: World, version: int) -> None:
    first, _ = approved(world, version)
    second, bearer = approved(world, version)
    request_id = str(uuid.uuid4())
    revoke(world, version, first, request_id)

    assert code_of(revoke(world, version, second, request_id.upper()), version) == USED[version]
    assert lives(world, bearer)


@VERSIONS
def test_one_of_two_concurrent_init_authorizations_with_one_request_id_is_refused(world: World, version: int) -> None:
    first, second = (world.authorize(version)["redirect_url"] for _ in range(2))
    request_id = str(uuid.uuid4())

    with world.meanwhile("put", lambda: initiate(world, version, first, request_id)):
        refused = initiate(world, version, second, request_id)

    assert code_of(refused, version) == USED[version]


@VERSIONS
def test_two_identical_concurrent_init_authorizations_get_the_same_answer(world: World, version: int) -> None:
    url, request_id = world.authorize(version)["redirect_url"], str(uuid.uuid4())
    answers = []

    with world.meanwhile("put", lambda: answers.append(initiate(world, version, url, request_id))):
        answers.append(initiate(world, version, url, request_id))

    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].text == answers[1].text


@VERSIONS
def test_one_of_two_concurrent_consents_with_one_request_id_is_refused_and_not_saved(
    world: World, version: int
) -> None:
    first, second = (world.authorize(version)["redirect_url"] for _ in range(2))
    request_id = str(uuid.uuid4())

    with world.meanwhile("transact", lambda: save(world, version, first, request_id)):
        refused = save(world, version, second, request_id)

    assert code_of(refused, version) == USED[version]
    assert save(world, version, second, str(uuid.uuid4())).status == 200


@VERSIONS
def test_two_identical_concurrent_consents_get_the_same_answer(world: World, version: int) -> None:
    url, request_id = world.authorize(version)["redirect_url"], str(uuid.uuid4())
    answers = []

    with world.meanwhile("transact", lambda: answers.append(save(world, version, url, request_id))):
        answers.append(save(world, version, url, request_id))

    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].text == answers[1].text


@VERSIONS
@pytest.mark.parametrize("applied", [True, False], ids=["the answer", "the write"])
def test_a_bank_may_repeat_a_request_after_a_lost_storage_response(world: World, version: int, applied: bool) -> None:
    token, bearer = approved(world, version)
    url, request_id = world.authorize(version)["redirect_url"], str(uuid.uuid4())

    with world.answer_lost("transact", applied=applied):
        assert save(world, version, url, request_id).status == (200 if applied else 500)
    with world.answer_lost("transact", applied=applied):
        assert revoke(world, version, token, request_id).status == (200 if applied else 500)

    assert save(world, version, url, request_id).status == 200
    assert revoke(world, version, token, request_id).status == 200
    assert not lives(world, bearer)
