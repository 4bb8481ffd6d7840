"""A form is accepted only if it contains the form token of its session."""

from pathlib import Path

import pytest

from chalicelib import website
from tests.causeway import Causeway
from tests.website.web_user import PASSWORD, WebUser

pytestmark = pytest.mark.usefixtures("quick_hashes")

TEMPLATES = Path(str(website.__file__)).parent / "templates"
FORMS = [
    ("/register", {"email": "new@example.com", "password": PASSWORD, "terms": "yes"}),
    ("/sign-in", {"email": "new@example.com", "password": PASSWORD}),
    ("/sign-out", {}),
    ("/account", {"action": "code"}),
    ("/forgotten", {"email": "new@example.com"}),
    ("/confirm/x", {"password": PASSWORD}),
    ("/reset/x", {"password": PASSWORD}),
    ("/clients/new", {"title": "Forged"}),
    ("/clients/x", {"action": "deactivate"}),
    ("/authorize", {"bic": "ALPHGB21"}),
    ("/authorize/callback", {"action": "exchange", "state": "x"}),
    ("/deliveries/x", {}),
]


@pytest.mark.parametrize(("path", "fields"), FORMS)
@pytest.mark.parametrize("token", ["", "x", "of another session"])
def test_a_form_without_the_token_of_its_session_returns_403(
    causeway: Causeway, user: WebUser, path: str, fields: dict[str, str], token: str
) -> None:
    given = WebUser(causeway).token if token == "of another session" else token
    answer = user.post(path, token=given, form=fields)

    assert answer.status == 403
    assert "out of date" in user.text
    assert causeway.recorded("mail") == []
    assert causeway.hub.website.users.find("new@example.com") is None
    assert user.get("/clients").status == 200
    assert "Forged" not in user.text


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_form_of_another_site_returns_403(user: WebUser, site: str) -> None:
    user.get("/clients/new")
    answer = user.post("/clients/new", headers={"sec-fetch-site": site}, title="Forged")

    assert answer.status == 403


@pytest.mark.parametrize("template", sorted(TEMPLATES.glob("*.html")), ids=lambda template: template.stem)
def test_every_form_in_a_template_contains_the_form_token(template: Path) -> None:
    text = template.read_text(encoding="utf-8")

    forms = [form for form in text.split("<form")[1:] if 'method="post"' in form.partition("</form>")[0]]
    assert [form[:80] for form in forms if "token(visit)" not in form and 'name="form_token"' not in form] == []
