"""Mails that confirm addresses and reset passwords do not disclose accounts."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.foundation.crypto import passwords
from chalicelib.foundation.dynamodb.store import Operation, StoreUnavailable
from chalicelib.foundation.mail import Mail, MailFailed
from chalicelib.website.records.attempts import LIMITS
from chalicelib.website.records.one_time_secrets import LIFETIMES
from tests.causeway import Causeway
from tests.kit.logs import Lines
from tests.kit.storage import record_calls
from tests.website.web_user import PASSWORD, WebUser, attempt_due_deliveries

pytestmark = pytest.mark.usefixtures("quick_hashes")
NEW = "rain on a tin roof"


@pytest.fixture
def production(causeway: Causeway) -> Causeway:
    causeway.hub.settings = replace(causeway.hub.settings, stage="prod", public_url="https://causeway.example.com")
    return causeway


def mailed(causeway: Causeway) -> Mail:
    """Deliver the queued emails. Return the only new email."""
    attempt_due_deliveries(causeway)
    (mail,) = causeway.mails
    causeway.mails.clear()
    return mail


def place(mail: Mail) -> str:
    found = re.search(r"^https?://[^/]+(/\S+)$", mail.text, re.MULTILINE)
    assert found is not None, mail.text
    return found[1]


# -- confirming an address


def test_production_requires_a_confirmed_address_before_the_first_sign_in(
    production: Causeway, visitor: WebUser, email: str
) -> None:
    answer = visitor.register(f" {email.upper()}")
    assert (answer.status, f"An email is being sent to {email}" in visitor.text) == (200, True)
    assert visitor.sign_in(email).status == 401
    assert production.hub.website.users.find(email) is None
    mail = mailed(production)
    assert (mail.to, mail.subject) == (email, "Causeway: Confirm your address")

    link = place(mail)
    for _ in range(2):
        assert visitor.get(link).status == 200
    answer = visitor.post(link, password=PASSWORD)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert visitor.get("/clients").status == 200
    assert production.hub.website.users.get_identified(email).confirmed_at == production.clock.time()
    assert WebUser(production).sign_in(email).status == 303
    again = WebUser(production)
    assert (again.get(link).status, again.post(link, password=PASSWORD).status) == (404, 404)


def test_a_confirmation_link_requires_the_password_of_its_registration(
    production: Causeway, visitor: WebUser, email: str
) -> None:
    """A third party registers an address first. The owner's click on the link does not activate that registration."""
    WebUser(production).register(email, "a password of a thief")
    planted = place(mailed(production))
    visitor.get(planted)
    assert visitor.post(planted, password=PASSWORD).status == 401
    assert "not the password chosen" in visitor.text
    visitor.register(email)
    own = place(mailed(production))
    visitor.get(own)

    assert visitor.post(own, password=PASSWORD).status == 303
    assert production.hub.website.users.authenticate(email, PASSWORD) is not None
    thief = WebUser(production)
    thief.get(planted)
    assert thief.post(planted, password="a password of a thief").status == 404
    assert production.hub.website.users.authenticate(email, "a password of a thief") is None


def test_an_expired_confirmation_link_is_rejected(production: Causeway, visitor: WebUser, email: str) -> None:
    visitor.register(email)
    link = place(mailed(production))
    production.clock.advance(LIFETIMES["confirm"])

    assert visitor.get(link).status == 404
    assert production.hub.website.users.find(email) is None


def test_password_attempts_at_a_confirmation_link_are_limited(
    production: Causeway, visitor: WebUser, email: str
) -> None:
    visitor.register(email)
    link = place(mailed(production))
    visitor.get(link)
    answers = [visitor.post(link, password="wrong").status for _ in range(LIMITS["password"].attempts + 1)]

    assert answers == [401] * LIMITS["password"].attempts + [429]


def test_registration_of_a_known_address_gets_the_same_response_as_a_new_address(
    production: Causeway, visitor: WebUser, email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    production.hub.website.users.register(email, PASSWORD, terms_accepted=True)
    other = f"{'0' * email.index('@')}@example.com"
    hashed: list[str] = []
    real = passwords.hash_password

    def hash_password(password: str) -> str:
        hashed.append(password)
        return real(password)

    monkeypatch.setattr(passwords, "hash_password", hash_password)
    shown, calls = [], []
    for name in (email, other):
        visitor.get("/register")
        token = visitor.token
        with record_calls(production) as made:
            answer = visitor.post("/register", token=token, email=name, password=NEW, terms="yes")
        shown.append((answer.status, answer.text.replace(name, "")))
        calls.append(list(made))

    assert shown[0] == shown[1]
    assert calls[0] == calls[1]
    assert hashed == [NEW, NEW]
    assert production.hub.website.users.authenticate(email, PASSWORD) is not None


def test_the_owner_of_a_registered_address_gets_a_mail_about_a_second_registration(
    production: Causeway, visitor: WebUser, email: str
) -> None:
    production.hub.website.users.register(email, PASSWORD, terms_accepted=True)
    visitor.register(email, NEW)
    mail = mailed(production)

    assert (mail.to, mail.subject) == (email, "Causeway: You already have an account")
    assert place(mail) == "/forgotten"


def test_an_incomplete_registration_sends_no_mail(production: Causeway, visitor: WebUser, email: str) -> None:
    assert visitor.register(email, "short").status == 400
    assert production.recorded("mail") == []


def test_sandbox_registration_signs_in_and_sends_no_mail(causeway: Causeway, visitor: WebUser, email: str) -> None:
    assert visitor.register(email).status == 303
    assert causeway.recorded("mail") == []


# -- forgotten passwords


def test_a_mailed_link_replaces_a_forgotten_password(causeway: Causeway, user: WebUser, email: str) -> None:
    visitor = WebUser(causeway)
    visitor.get("/forgotten")
    answer = visitor.post("/forgotten", email=email.upper())
    assert (answer.status, f"An email is being sent to {email}" in visitor.text) == (200, True)
    mail = mailed(causeway)
    assert (mail.to, mail.subject) == (email, "Causeway: Choose a new password")

    link = place(mail)
    visitor.get(link)
    assert visitor.post(link, password=NEW).status == 303
    assert visitor.get("/clients").status == 200
    assert user.get("/clients").status == 303, "every other session has ended"
    assert causeway.hub.website.users.authenticate(email, NEW) is not None
    assert WebUser(causeway).get(link).status == 404


def test_a_password_reset_by_mail_identifies_the_user(causeway: Causeway, visitor: WebUser, email: str) -> None:
    causeway.hub.website.users.register(email, PASSWORD, terms_accepted=True)
    visitor.get("/forgotten")
    visitor.post("/forgotten", email=email)
    link = place(mailed(causeway))
    visitor.get(link)
    visitor.post(link, password=NEW)

    assert causeway.hub.website.users.get_identified(email).confirmed_at == causeway.clock.time()


def test_an_expired_password_reset_link_is_rejected(causeway: Causeway, user: WebUser, email: str) -> None:
    user.get("/forgotten")
    user.post("/forgotten", email=email)
    link = place(mailed(causeway))
    causeway.clock.advance(LIFETIMES["reset"])

    assert user.get(link).status == 404


def test_a_password_reset_gets_the_same_response_with_and_without_an_account(
    causeway: Causeway, visitor: WebUser, email: str
) -> None:
    active, inactive, unknown = (f"{letter}{email}" for letter in "abc")
    for name in (active, inactive):
        causeway.hub.website.users.add(name)
    causeway.hub.website.users.deactivate(inactive)
    shown, calls, subjects = [], [], []
    for name in (active, inactive, unknown):
        visitor.get("/forgotten")
        token = visitor.token
        with record_calls(causeway) as made:
            answer = visitor.post("/forgotten", token=token, email=name)
        shown.append((answer.status, answer.text.replace(name, "")))
        calls.append(list(made))
        subjects.append(mailed(causeway).subject)

    assert shown[0] == shown[1] == shown[2]
    assert calls[0] == calls[1] == calls[2]
    assert [subject.removeprefix("Causeway: ") for subject in subjects] == [
        "Choose a new password",
        "Your account is deactivated",
        "There is no account with this address",
    ]


def test_a_malformed_address_gets_no_mail(causeway: Causeway, visitor: WebUser) -> None:
    visitor.get("/forgotten")
    answer = visitor.post("/forgotten", email="ada")

    assert (answer.status, "Email must be an email address" in visitor.text) == (400, True)
    assert 'aria-invalid="true"' in answer.text
    assert causeway.recorded("mail") == []


@pytest.mark.parametrize("path", ["/forgotten", "/register"])
def test_mails_to_one_mailbox_are_limited_per_hour(
    production: Causeway, visitor: WebUser, email: str, path: str
) -> None:
    visitor.get(path)
    fields = {"email": email, "password": PASSWORD, "terms": "yes"}
    answers = [visitor.post(path, form=fields).status for _ in range(LIMITS["mailbox"].attempts + 1)]

    assert answers == [200] * LIMITS["mailbox"].attempts + [429]
    assert 0 < int(visitor.last.headers["retry-after"]) <= 3600
    assert visitor.post(path, form={**fields, "email": f"x{email}"}).status == 200


def test_mail_requests_of_one_ip_address_are_limited_per_hour(visitor: WebUser, email: str) -> None:
    visitor.get("/forgotten")
    answers = [visitor.post("/forgotten", email=f"{n}{email}").status for n in range(LIMITS["mails"].attempts + 1)]

    assert answers == [200] * LIMITS["mails"].attempts + [429]


# -- how mails travel


def test_a_failed_mail_write_stores_no_registration(
    production: Causeway, visitor: WebUser, email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor.get("/register")
    token, fields = visitor.token, {"email": email, "password": PASSWORD, "terms": "yes"}
    real = production.hub.store.transact

    def transact(operations: Sequence[Operation]) -> None:
        if any(operation.table == "deliveries" for operation in operations):
            raise StoreUnavailable("DynamoDB cannot be reached")
        real(operations)

    monkeypatch.setattr(production.hub.store, "transact", transact)
    assert visitor.post("/register", token, form=fields).status == 503

    assert production.recorded("mail") == []
    assert [item for item in production.hub.store.scan("website") if item["owner"].startswith("confirm#")] == []


def test_no_table_or_log_contains_a_mailed_link_or_a_password(
    production: Causeway, visitor: WebUser, email: str, lines: Lines
) -> None:
    visitor.register(email)
    tables = [item for name in ("website", "users", "deliveries") for item in production.hub.store.scan(name)]
    secret = place(mailed(production)).rpartition("/")[2]
    stored = json.dumps(tables, default=repr)

    assert "argon2" in stored
    for text in (secret, PASSWORD):
        assert text not in stored
        assert text not in lines.text
    assert email not in lines.text
    assert all(email not in json.dumps(item, default=repr) for item in tables if "delivery_id" in item)


def test_a_temporarily_rejected_mail_is_retried(causeway: Causeway, user: WebUser, email: str) -> None:
    mailer, taken = causeway.hub.mailer, []

    class Hesitating:
        def send(self, mail: Mail, mail_id: str) -> None:
            taken.append(mail_id)
            if len(taken) == 1:
                raise MailFailed("SES answered TooManyRequestsException")
            mailer.send(mail, mail_id)

    causeway.hub.__dict__["mailer"] = Hesitating()
    user.get("/forgotten")
    user.post("/forgotten", email=email)
    attempt_due_deliveries(causeway)
    (delivery,) = causeway.recorded("mail")
    assert (delivery.state, delivery.last["error"]) == ("due", "SES answered TooManyRequestsException")
    causeway.clock.advance(2 * PLANS["mail"].waits[0])

    assert mailed(causeway).to == email
    assert taken[0] == taken[1] == delivery.delivery_id
    assert causeway.recorded("mail")[0].state == "delivered"


def test_a_permanently_rejected_mail_is_not_retried(causeway: Causeway, user: WebUser, email: str) -> None:
    class Refusing:
        def send(self, mail: Mail, mail_id: str) -> None:
            raise MailFailed("SES answered MessageRejected", final=True)

    causeway.hub.__dict__["mailer"] = Refusing()
    user.get("/forgotten")
    user.post("/forgotten", email=email)
    attempt_due_deliveries(causeway)

    assert [each.state for each in causeway.recorded("mail")] == ["failed"]
