"""The web interface is a TPP like any other: what its users do at banks is measured as theirs."""

from __future__ import annotations

from tests.openbanking.meter import measured
from tests.openbanking.payer import Payer
from tests.website.authorization.journey import approve, open_request, run, with_tokens
from tests.website.person import Person
from tests.world import World


def test_a_journey_counts_as_the_calls_that_it_takes(world: World, user: Person, client_id: str) -> None:
    """The request, the exchange of its code when the browser is back, a refresh, and the end."""
    state = ""

    def journey() -> None:
        nonlocal state
        state = with_tokens(world, user, client_id)
        user.post("/authorize/callback", state=state, action="refresh")
        user.post("/authorize/callback", state=state, action="end")
        user.get(f"/authorize/callback?state={state}")

    assert measured(world, journey) == {"ALPHGB21 authorization": {"calls": 4}}
    assert "ended" in user.text


def test_a_request_that_the_page_refuses_is_the_users_fault(world: World, user: Person, client_id: str) -> None:
    open_request(user, client_id)

    assert measured(world, lambda: run(user, client_id, scope=["no.such"])) == {
        "ALPHGB21 authorization": {"calls": 1, "caller_failures": 1}
    }
    assert user.last.status == 400


def test_a_code_that_is_not_exchanged_counts_although_the_page_that_says_so_is_a_good_answer(
    world: World, user: Person, client_id: str
) -> None:
    open_request(user, client_id)
    back = approve(world, run(user, client_id))
    world.clock.advance(world.hub.settings.code_lifetime + 1)

    assert measured(world, lambda: user.get(back)) == {"ALPHGB21 authorization": {"calls": 1, "caller_failures": 1}}
    assert user.last.status == 200


def test_pages_that_only_show_count_nothing(world: World, user: Person, client_id: str) -> None:
    def look() -> None:
        open_request(user, client_id)
        user.get("/authorize")
        user.get("/authorize/callback?error=access_denied&state=unknown")
        user.get("/clients")

    assert measured(world, look) == {}


def test_who_comes_back_from_a_payment_asks_the_bank_as_a_tpp_does(world: World, visitor: Person) -> None:
    payer = Payer(world, 2)
    payer.pay()
    payer.side.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    page = "/payments/callback?bic=BETADEF1&payment_id="

    assert measured(world, lambda: visitor.get(f"{page}P-1")) == {"BETADEF1 PISP": {"calls": 1, "answered": 1}}
    assert measured(world, lambda: visitor.get(f"{page}P-2")) == {}
    payer.side.answers["/v2_payment_single_status"] = lambda sent: {"nonsense": 1}
    assert measured(world, lambda: visitor.get(f"{page}P-1")) == {"BETADEF1 PISP": {"calls": 1}}, "not asked so soon"
    world.clock.advance(10)
    assert measured(world, lambda: visitor.get(f"{page}P-1")) == {
        "BETADEF1 PISP": {"calls": 1, "answered": 1, "bank_failures": 1}
    }
