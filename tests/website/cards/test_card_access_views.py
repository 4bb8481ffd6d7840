"""Access to the Cards area: linked users see only the cards of their programme manager."""

import shlex
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from infra.admin import connection
from infra.admin.commands import program
from tests.cards.issuer import OTHER_MANAGER, NewCard
from tests.causeway import Causeway
from tests.website.conftest import link
from tests.website.web_user import PURCHASE, WebUser


@pytest.mark.parametrize(("path", "status"), [("/cards", 200), ("/cards/activity", 200), ("/cards/1", 404)])
def test_a_user_without_a_programme_manager_sees_linking_instructions(
    user: WebUser, card: NewCard, path: str, status: int
) -> None:
    answer = user.get(path)

    assert (answer.status, "linked to no programme manager" in user.text) == (status, True)
    assert 'href="/account"' in answer.text
    assert f"******{card.pan[-4:]}" not in answer.text
    assert 'class="card narrow problem"' not in answer.text


def test_the_displayed_operator_command_links_the_user_to_a_programme_manager(
    causeway: Causeway, user: WebUser, email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    user.get("/cards")
    python, flag, module, *words = shlex.split(user.code("link-command"))
    user.get("/account")
    user.post("/account", action="code")
    code = user.code("operator-code")

    assert python == ".venv/bin/python"
    assert flag == "-m"
    assert module == "infra.admin"
    ran = CliRunner().invoke(program, [code if word == "CODE" else word for word in words], catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    assert "linked to no programme manager" not in user.get("/cards").text


def test_the_displayed_production_command_contains_a_manager_placeholder(causeway: Causeway, user: WebUser) -> None:
    causeway.hub.settings = replace(causeway.hub.settings, stage="prod", public_url="https://hub.example")

    assert "users link CODE --manager MANAGER-ID" in user.get("/cards").text


def test_a_visitor_of_a_card_page_is_redirected_to_sign_in(visitor: WebUser, card: NewCard) -> None:
    answer = visitor.get(f"/cards/{card.card_id}")

    assert (answer.status, answer.headers["location"].partition("?")[0][-8:]) == (303, "/sign-in")


def test_a_card_of_another_programme_manager_returns_404(
    causeway: Causeway, user: WebUser, email: str, card: NewCard
) -> None:
    link(causeway, email, OTHER_MANAGER)
    answers = [user.get(f"/cards/{card.card_id}"), user.get("/cards/987654321"), user.get("/cards/card")]
    forged = user.post(
        f"/cards/{card.card_id}/simulator", action="simulateAuthorization", draft="0" * 22, form=PURCHASE
    )

    assert {(answer.status, answer.text) for answer in answers} == {(404, answers[0].text)}
    assert forged.status == 404
    assert user.get(f"/cards/activity?card_id={card.card_id}").status == 404
    assert "There are no cards yet" in user.get("/cards").text


def test_linking_and_unlinking_a_manager_take_effect_on_the_next_page(
    causeway: Causeway, user: WebUser, email: str
) -> None:
    link(causeway, email)
    assert "There are no cards yet" in user.get("/cards").text
    causeway.hub.website.users.unlink_manager(email)

    assert "linked to no programme manager" in user.get("/cards").text
