"""Emails through Amazon SES."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from chalicelib.foundation.aws import boto3_clients
from chalicelib.foundation.mail import Mail, MailFailed

_FINAL = {"BadRequestException", "MessageRejected"}
"""SES errors that concern a single email; all others may be temporary."""


class SesMailer:
    """Sends emails through version 2 of the Amazon SES API; the client is created on first use."""

    def __init__(self, sender: str) -> None:
        self._sender = sender

    @cached_property
    def _client(self) -> Any:
        return boto3_clients.client("sesv2")

    def send(self, mail: Mail, mail_id: str) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

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


def _utf8(text: str) -> dict[str, str]:
    return {"Data": text, "Charset": "UTF-8"}
