"""Tests of the call limit of clients: 429 with Retry-After, after authentication and before all other work."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from chalicelib.foundation import metrics
from chalicelib.openbanking.protocol import refusals
from tests.causeway import Answer, Causeway
from tests.kit.logs import Lines
from tests.kit.storage import record_calls
from tests.openbanking.key_holder import KeyHolder, secure
from tests.openbanking.payments import PATHS, WEBHOOKS, Pisp, order

ADDRESS, OTHER_ADDRESS = "192.0.2.7", "192.0.2.8"
OAUTH = {
    "/tpp/token": {"grant_type": "refresh_token", "refresh_token": "unknown"},
    "/tpp/token/revoke": {"token": "unknown"},
    "/oauth/introspect": {"token": "unknown"},
    "/oauth/par": {"response_type": "code"},
}


def give_limit(causeway: Causeway, calls: int | None) -> None:
    causeway.tpp.client = causeway.hub.openbanking.clients.update(causeway.tpp.client_id, calls_per_minute=calls).client


@pytest.fixture
def careful(causeway: Causeway) -> Causeway:
    made = causeway.hub.openbanking.clients.create(owner="a@example.com", title="Careful", secret=True)
    causeway.tpp.client, causeway.tpp.client_secret = made.client, made.secret
    return causeway


@pytest.fixture
def limited(careful: Causeway) -> Causeway:
    give_limit(careful, 2)
    return careful


def exceeded(answer: Answer) -> bool:
    return answer.status == 429 and answer.body["code"] == "ACCESS_EXCEEDED" and "retry-after" in answer.headers


def banks(causeway: Causeway) -> Answer:
    return causeway.tpp.call("GET", "/tpp/banks")


def statuses(causeway: Causeway, times: int, call: Callable[[Causeway], Answer] = banks) -> list[int]:
    return [call(causeway).status for _ in range(times)]


def name_client(causeway: Causeway, address: str, headers: Mapping[str, str] | None = None) -> Answer:
    named = {"x-api-key": causeway.tpp.client_id, **(headers or {})}
    return causeway.call("GET", "/tpp/banks", None, named, {"sourceIp": address})


# -- the refusal


def test_a_call_above_the_call_limit_returns_429_with_the_number_of_seconds_to_wait(limited: Causeway) -> None:
    assert statuses(limited, 2) == [200, 200]

    refused = banks(limited)

    assert exceeded(refused)
    assert refused.headers["retry-after"] == "30"
    assert refused.body["title"] == refusals.CALL_LIMIT_REACHED.sentence.format(limit=2)
    limited.clock.advance(29)
    assert exceeded(banks(limited))
    limited.clock.advance(1)
    assert statuses(limited, 2) == [200, 429]


def test_a_client_without_its_own_limit_has_the_default_limit(causeway: Causeway) -> None:
    stage = causeway.again(replace(causeway.hub.settings, client_calls=3))
    with stage.installed():
        assert statuses(stage, 4) == [200, 200, 200, 429]

        give_limit(stage, 5)
        stage.clock.advance(60)

        assert statuses(stage, 6) == [200, 200, 200, 200, 200, 429]


def test_a_client_stored_by_an_earlier_release_has_no_individual_call_limit(causeway: Causeway) -> None:
    item = causeway.hub.store.get("clients", {"client_id": causeway.tpp.client_id})

    assert item is not None
    assert "calls_per_minute" not in item
    assert causeway.hub.openbanking.clients.get(causeway.tpp.client_id).calls_per_minute is None


def test_each_process_counts_calls_separately(limited: Causeway) -> None:
    assert statuses(limited, 3) == [200, 200, 429]
    another = Causeway(limited.another_process(), limited.banks)
    another.tpp.client, another.tpp.client_secret = limited.tpp.client, limited.tpp.client_secret

    with another.installed():
        assert statuses(another, 3) == [200, 200, 429]


def test_each_client_has_its_own_limit(limited: Causeway) -> None:
    assert statuses(limited, 3) == [200, 200, 429]

    made = limited.hub.openbanking.clients.create(owner="a@example.com", title="Other", secret=True)
    limited.tpp.client, limited.tpp.client_secret = made.client, made.secret

    assert statuses(limited, 3) == [200, 200, 200]


@pytest.mark.parametrize("path", OAUTH)
def test_the_oauth_endpoints_return_429_with_the_error_temporarily_unavailable(limited: Causeway, path: str) -> None:
    statuses(limited, 2)

    refused = limited.tpp.call("POST", path, form=OAUTH[path])

    assert exceeded(refused)
    assert refused.body["error"] == "temporarily_unavailable"
    assert refused.body["error_description"] == refused.body["title"]


def test_refused_call_is_logged_and_counted_in_a_metric(
    limited: Causeway, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    monkeypatch.setattr(metrics, "write_line", written.append)

    assert statuses(limited, 3) == [200, 200, 429]

    (line,) = (line for line in lines.all() if line["message"] == "call limit reached")
    assert (line["client_id"], line["limit"]) == (limited.tpp.client_id, 2)
    assert any('"CallsOverLimit":[1]' in text and '"Limit":"client"' in text for text in written)


def test_the_client_activity_counts_refused_calls_as_limit_errors(limited: Causeway) -> None:
    assert statuses(limited, 4) == [200, 200, 429, 429]

    hour = limited.hub.statistics.activity.of_client(limited.tpp.client_id).hours[-1]
    assert (hour.calls, hour.errors["limit"]) == (4, 2)


# -- where it stands in the order of checks


def test_a_call_above_the_call_limit_makes_one_storage_read_and_is_not_sent_to_a_bank(careful: Causeway) -> None:
    bearer = careful.tpp.tokens(2)["access_token"]
    careful.banks[2].answers["/v2_accounts"] = lambda sent: {"accounts": []}
    give_limit(careful, 1)
    careful.clock.advance(60)
    assert careful.tpp.call("GET", "/tpp/accounts", bearer=bearer).status == 200
    sent = len(careful.banks[2].received)

    with record_calls(careful) as calls:
        refused = careful.tpp.call("GET", "/tpp/accounts", bearer=bearer)

    assert exceeded(refused)
    assert (calls, len(careful.banks[2].received)) == (["BatchGetItem"], sent)


@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("later", [{}, {"prefer": "respond-async"}], ids=["at once", "later"])
def test_a_payment_above_the_call_limit_does_not_use_the_consent_and_can_be_repeated(
    careful: Causeway, kind: str, later: dict[str, str]
) -> None:
    pisp = Pisp(careful, 2, kind, "reusable" if kind == "direct" else "one_time")
    give_limit(careful, 1)
    careful.clock.advance(60)
    banks(careful)
    headers = {"idempotency-key": "order-17", **later}

    def pay() -> Answer:
        return careful.tpp.call("POST", PATHS[kind], order(careful, 2, kind), bearer=pisp.bearer, headers=headers)

    assert exceeded(pay())
    assert WEBHOOKS[2, kind] not in [sent.path for sent in careful.banks[2].received]
    careful.clock.advance(60)
    assert pay().status == (202 if later else 200)


def test_a_deferred_call_is_counted_toward_the_call_limit(limited: Causeway) -> None:
    headers, payment = {"prefer": "respond-async"}, order(limited, 2, "direct")

    answers = [limited.tpp.call("POST", PATHS["direct"], payment, headers=headers).status for _ in range(3)]

    assert answers == [202, 202, 429]


def test_unauthenticated_calls_do_not_count_toward_the_limit(limited: Causeway) -> None:
    wrong = {"authorization": "Basic " + "d3Jvbmc6d3Jvbmc="}
    for _ in range(5):
        assert name_client(limited, ADDRESS).status == 401
        assert name_client(limited, ADDRESS, {"authorization": "Bearer anything"}).status == 401
        assert name_client(limited, ADDRESS, wrong).status == 401

    assert statuses(limited, 3) == [200, 200, 429]


def test_a_replayed_assertion_does_not_count_toward_the_limit(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder)
    give_limit(causeway, 2)
    headers = {"x-client-assertion": holder.assertion(causeway)}

    answers = [causeway.tpp.call("GET", "/tpp/banks", headers=headers).status for _ in range(4)]

    assert answers == [200, 401, 401, 401]
    headers = {"x-client-assertion": holder.assertion(causeway)}
    assert causeway.tpp.call("GET", "/tpp/banks", headers=headers).status == 200


def test_a_call_with_several_proofs_counts_once(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder, dpop_bound_access_tokens=True)
    token = holder.tokens(causeway)["access_token"]
    give_limit(causeway, 2)
    causeway.clock.advance(60)

    assert [holder.read(causeway, token).status for _ in range(3)] == [200, 200, 429]


# -- clients without a secret


def test_calls_with_a_client_id_and_no_credentials_count_per_ip_address(causeway: Causeway) -> None:
    bearer = causeway.tpp.tokens(2)["access_token"]
    give_limit(causeway, 2)
    causeway.clock.advance(60)

    assert [name_client(causeway, ADDRESS).status for _ in range(3)] == [200, 200, 429]

    assert name_client(causeway, OTHER_ADDRESS).status == 200
    consents = [causeway.tpp.call("GET", "/tpp/consent", bearer=bearer).status for _ in range(3)]
    assert consents == [200, 200, 429]


def test_the_authorization_endpoint_redirects_the_psu_despite_the_client_limit(limited: Causeway) -> None:
    assert statuses(limited, 3) == [200, 200, 429]
    query = f"response_type=code&client_id={limited.tpp.client_id}&bic=BETADEF1&scope=accounts"

    answer = limited.call("GET", f"/oauth/authorize?{query}")

    assert answer.headers["location"].startswith(limited.banks[2].record.authorization_url)
