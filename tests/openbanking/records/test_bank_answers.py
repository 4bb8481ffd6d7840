"""Tests of retried bank requests: each request id has one valid request body and one stored response."""

import uuid

import pytest

from tests.causeway import Answer, Causeway
from tests.openbanking.kit import TOKEN, URL, VERSIONS, error_code

USED = {1: (400, 4001), 2: (400, "HEADERS_ERROR")}


def revoke(causeway: Causeway, version: int, token: str, request_id: str) -> Answer:
    return causeway.banks[version].call("/token/revoke", {TOKEN[version]: token}, headers={"x-request-id": request_id})


def initiate(causeway: Causeway, version: int, url: str, request_id: str) -> Answer:
    return causeway.banks[version].call(
        "/init_authorization", {URL[version]: url}, headers={"x-request-id": request_id}
    )


def save(causeway: Causeway, version: int, url: str, request_id: str) -> Answer:
    return causeway.banks[version].call(
        "/consent", causeway.banks[version].consent_body(url), headers={"x-request-id": request_id}
    )


def approved(causeway: Causeway, version: int) -> tuple[str, str]:
    consented = causeway.psu.approve(version)
    bearer = causeway.tpp.call("POST", "/tpp/token", {"code": consented.query["code"]}).body["access_token"]
    return consented.bank_token, bearer


@VERSIONS
def test_a_request_id_used_to_revoke_one_token_cannot_revoke_another_token(causeway: Causeway, version: int) -> None:
    (first, first_bearer), (second, second_bearer) = approved(causeway, version), approved(causeway, version)
    request_id = str(uuid.uuid4())

    done = revoke(causeway, version, first, request_id)
    refused = revoke(causeway, version, second, request_id)
    repeated = revoke(causeway, version, first, request_id)

    assert done.body == repeated.body == {"status": "success"}
    assert error_code(refused, version) == USED[version]
    assert (causeway.tpp.has_access(first_bearer), causeway.tpp.has_access(second_bearer)) == (False, True)


@VERSIONS
def test_one_of_two_concurrent_revocations_of_two_tokens_with_one_request_id_is_refused(
    causeway: Causeway, version: int
) -> None:
    (first, first_bearer), (second, second_bearer) = approved(causeway, version), approved(causeway, version)
    request_id = str(uuid.uuid4())

    with causeway.meanwhile("transact", lambda: revoke(causeway, version, first, request_id)):
        refused = revoke(causeway, version, second, request_id)

    assert error_code(refused, version) == USED[version]
    assert (causeway.tpp.has_access(first_bearer), causeway.tpp.has_access(second_bearer)) == (False, True)


@VERSIONS
def test_two_identical_concurrent_revocations_return_the_same_response(causeway: Causeway, version: int) -> None:
    token, bearer = approved(causeway, version)
    request_id = str(uuid.uuid4())

    with causeway.meanwhile("transact", lambda: revoke(causeway, version, token, request_id)):
        answer = revoke(causeway, version, token, request_id)

    assert (answer.status, answer.body) == (200, {"status": "success"})
    assert not causeway.tpp.has_access(bearer)


@VERSIONS
def test_two_concurrent_revocations_of_one_token_with_different_request_ids_succeed(
    causeway: Causeway, version: int
) -> None:
    token, _ = approved(causeway, version)

    with causeway.meanwhile("transact", lambda: revoke(causeway, version, token, str(uuid.uuid4()))):
        answer = revoke(causeway, version, token, str(uuid.uuid4()))

    assert (answer.status, answer.body) == (200, {"status": "success"})


@VERSIONS
def test_the_request_id_of_a_second_revocation_is_recorded(causeway: Causeway, version: int) -> None:
    token, _ = approved(causeway, version)
    other, other_bearer = approved(causeway, version)
    request_id = str(uuid.uuid4())
    revoke(causeway, version, token, str(uuid.uuid4()))

    again = revoke(causeway, version, token, request_id)
    refused = revoke(causeway, version, other, request_id)

    assert again.body == {"status": "success"}
    assert error_code(refused, version) == USED[version]
    assert causeway.tpp.has_access(other_bearer)


@VERSIONS
def test_a_request_id_is_unique_per_bank_and_path(causeway: Causeway, version: int) -> None:
    request_id = str(uuid.uuid4())
    token, bearer = approved(causeway, version)
    foreign, foreign_bearer = approved(causeway, 3 - version)

    assert initiate(causeway, version, causeway.tpp.authorize(version)["redirect_url"], request_id).status == 200
    assert revoke(causeway, version, token, request_id.upper()).status == 200
    assert revoke(causeway, 3 - version, foreign, request_id).status == 200
    assert (causeway.tpp.has_access(bearer), causeway.tpp.has_access(foreign_bearer)) == (False, False)


@VERSIONS
def test_a_retry_with_an_uppercase_request_id_returns_the_first_response(causeway: Causeway, version: int) -> None:
    url, request_id = causeway.tpp.authorize(version)["redirect_url"], str(uuid.uuid4())

    first = initiate(causeway, version, url, request_id)
    again = initiate(causeway, version, url, request_id.upper())

    assert (first.status, again.body) == (200, first.body)
    assert first.headers["x-request-id"] == again.headers["x-request-id"] == request_id


@VERSIONS
def test_a_request_id_in_uppercase_matches_a_used_request_id(causeway: Causeway, version: int) -> None:
    first, _ = approved(causeway, version)
    second, bearer = approved(causeway, version)
    request_id = str(uuid.uuid4())
    revoke(causeway, version, first, request_id)

    assert error_code(revoke(causeway, version, second, request_id.upper()), version) == USED[version]
    assert causeway.tpp.has_access(bearer)


@VERSIONS
def test_one_of_two_concurrent_init_authorizations_with_one_request_id_is_refused(
    causeway: Causeway, version: int
) -> None:
    first, second = (causeway.tpp.authorize(version)["redirect_url"] for _ in range(2))
    request_id = str(uuid.uuid4())

    with causeway.meanwhile("put", lambda: initiate(causeway, version, first, request_id)):
        refused = initiate(causeway, version, second, request_id)

    assert error_code(refused, version) == USED[version]


@VERSIONS
def test_two_identical_concurrent_init_authorizations_return_the_same_response(
    causeway: Causeway, version: int
) -> None:
    url, request_id = causeway.tpp.authorize(version)["redirect_url"], str(uuid.uuid4())
    answers = []

    with causeway.meanwhile("put", lambda: answers.append(initiate(causeway, version, url, request_id))):
        answers.append(initiate(causeway, version, url, request_id))

    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].text == answers[1].text


@VERSIONS
def test_one_of_two_concurrent_consents_with_one_request_id_is_refused_and_not_saved(
    causeway: Causeway, version: int
) -> None:
    first, second = (causeway.tpp.authorize(version)["redirect_url"] for _ in range(2))
    request_id = str(uuid.uuid4())

    with causeway.meanwhile("transact", lambda: save(causeway, version, first, request_id)):
        refused = save(causeway, version, second, request_id)

    assert error_code(refused, version) == USED[version]
    assert save(causeway, version, second, str(uuid.uuid4())).status == 200


@VERSIONS
def test_two_identical_concurrent_consents_return_the_same_response(causeway: Causeway, version: int) -> None:
    url, request_id = causeway.tpp.authorize(version)["redirect_url"], str(uuid.uuid4())
    answers = []

    with causeway.meanwhile("transact", lambda: answers.append(save(causeway, version, url, request_id))):
        answers.append(save(causeway, version, url, request_id))

    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].text == answers[1].text


@VERSIONS
@pytest.mark.parametrize("applied", [True, False], ids=["the answer", "the write"])
def test_a_bank_can_retry_a_request_after_a_lost_storage_response(
    causeway: Causeway, version: int, applied: bool
) -> None:
    token, bearer = approved(causeway, version)
    url, request_id = causeway.tpp.authorize(version)["redirect_url"], str(uuid.uuid4())

    with causeway.answer_lost("transact", applied=applied):
        assert save(causeway, version, url, request_id).status == (200 if applied else 500)
    with causeway.answer_lost("transact", applied=applied):
        assert revoke(causeway, version, token, request_id).status == (200 if applied else 500)

    assert save(causeway, version, url, request_id).status == 200
    assert revoke(causeway, version, token, request_id).status == 200
    assert not causeway.tpp.has_access(bearer)
