"""Mails to users of the web interface: their texts, and their sending."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from chalicelib.delivery.outcomes import Delivered, Dispatch, Undeliverable
from chalicelib.foundation import jsontext
from chalicelib.foundation.mail import Mail, Mailer, MailFailed

Topic = Literal["confirm_address", "account_exists", "reset_password", "account_inactive", "no_account"]

TEXTS: Mapping[Topic, tuple[str, str]] = {
    "confirm_address": (
        "Confirm your address",
        """\
Somebody has registered at {service} with this address. If that was you, open this link within {hours} and enter the
password that you have chosen:

{link}

If it was not you, do nothing: without your confirmation there is no account.""",
    ),
    "account_exists": (
        "You have an account already",
        """\
Somebody has tried to register at {service} with this address, which has an account already. If that was you, sign in
with your password, or set a new one:

{link}

If it was not you, do nothing: nothing has changed.""",
    ),
    "reset_password": (
        "Choose a new password",
        """\
Somebody has asked for a new password of your account at {service}. If that was you, open this link within {hours}:

{link}

If it was not you, do nothing: nothing has changed.""",
    ),
    "account_inactive": (
        "Your account is deactivated",
        """\
Somebody has asked for a new password of your account at {service}. The operator has deactivated this account: ask
the operator to activate it.

If it was not you, do nothing: nothing has changed.""",
    ),
    "no_account": (
        "There is no account with this address",
        """\
Somebody has asked for a new password at {service}, but there is no account with this address. If that was you, try
another address of yours, or register:

{link}

If it was not you, do nothing: nothing has changed.""",
    ),
}
"""Subject and text of each mail. Something is sent in every case, so that the page cannot tell who has an account."""


def compose_mail(topic: Topic, to: str, **values: str) -> str:
    """A mail as the body of a delivery; ``values`` are what its text needs."""
    subject, text = TEXTS[topic]
    return jsontext.dumps({"to": to, "subject": f"Causeway: {subject}", "text": text.format(**values)})


class MailSender:
    """Hands mails to the mailer."""

    def __init__(self, mailer: Mailer) -> None:
        self._mailer = mailer

    def send(self, parcel: Dispatch) -> Delivered:
        """Send a mail. Raises: Undeliverable."""
        try:
            self._mailer.send(Mail(**jsontext.loads(parcel.body)), parcel.delivery.delivery_id)
        except MailFailed as failure:
            raise Undeliverable(str(failure), final=failure.final) from None
        return Delivered(200)
