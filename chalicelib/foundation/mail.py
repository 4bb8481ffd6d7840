"""Emails to people, sent through Amazon SES or, in the local stage, written to files."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.foundation import aws, log
from chalicelib.foundation.lazy_dataclasses import dataclass

_FINAL = {"BadRequestException", "MessageRejected"}
"""SES errors that concern a single email; all others may be temporary."""


@dataclass(frozen=True, slots=True)
class Mail:
    """A plain-text email to one address."""

    to: str
    subject: str
    text: str


class MailFailed(Exception):
    """An email was not accepted; ``final`` if a retry is pointless. The message contains no address."""

    def __init__(self, reason: str, *, final: bool = False) -> None:
        self.final = final
        super().__init__(reason)


class Mailer(Protocol):
    """Sends emails."""

    def send(self, mail: Mail, mail_id: str) -> None:
        """Send an email; a retry uses the same ``mail_id``. Raises: MailFailed."""


class SesMailer:
    """Sends emails through version 2 of the Amazon SES API; the client is created on first use."""

    def __init__(self, sender: str) -> None:
        self._sender = sender

    @cached_property
    def _client(self) -> Any:
        return aws.client("sesv2")

    def send(self, mail: Mail, mail_id: str) -> None:
        simple = {"Subject": _utf8(mail.subject), "Body": {"Text": _utf8(mail.text)}}
        try:
            self._client.send_email(
                FromEmailAddress=self._sender,
                Destination={"ToAddresses": [mail.to]},
                Content={"Simple": simple},
                EmailTags=[{"Name": "delivery", "Value": mail_id}],
            )
        except ClientError as error:
            code = error.response["Error"]["Code"]
            raise MailFailed(f"SES responded with {code}", final=code in _FINAL) from None
        except BotoCoreError as error:
            raise MailFailed(f"SES did not respond: {type(error).__name__}") from None


class FileMailer:
    """Writes each email to a file that only its owner can read, and logs a line about it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def send(self, mail: Mail, mail_id: str) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._folder / f"{mail_id}.txt"
        file.touch(mode=0o600)
        file.write_text(f"To: {mail.to}\nSubject: {mail.subject}\n\n{mail.text}\n", encoding="utf-8")
        log.info("mail written", to=mail.to, subject=mail.subject, file=str(file))


def _utf8(text: str) -> dict[str, str]:
    return {"Data": text, "Charset": "UTF-8"}
