"""Emails to people, sent through Amazon SES (``aws/boto3_clients``) or, in the local stage, written to files."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from chalicelib.foundation import log
from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mail:
    """A plain-text email to one address."""

    to: str
    subject: str
    text: str


class MailFailed(Exception):
    """An email was not accepted. If ``final`` is true, a retry cannot succeed. The message contains no address."""

    def __init__(self, reason: str, *, final: bool = False) -> None:
        self.final = final
        super().__init__(reason)


class Mailer(Protocol):
    """Sends emails."""

    def send(self, mail: Mail, mail_id: str) -> None:
        """Send an email. A retry uses the same ``mail_id``. Raises: MailFailed."""


class FileMailer:
    """Writes each email to a file that only the file's owner can read, and logs the path of the file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def send(self, mail: Mail, mail_id: str) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._folder / f"{mail_id}.txt"
        file.touch(mode=0o600)
        file.write_text(f"To: {mail.to}\nSubject: {mail.subject}\n\n{mail.text}\n", encoding="utf-8")
        log.info("mail written", to=mail.to, subject=mail.subject, file=str(file))
