"""S3 and SES clients that use boto3. boto3 is imported with the first client, because few functions need it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from chalicelib.foundation.aws import environment
from chalicelib.foundation.mail import Mail, MailFailed
from chalicelib.foundation.version import USER_AGENT

_FINAL = {"BadRequestException", "MessageRejected"}
"""SES error codes that concern a single email. All other errors may be temporary."""


def client(service: str) -> Any:
    """Create a client with its own timeouts, which ignore the deadline of the request. The client sends a call at most
    twice.
    """
    import boto3
    from botocore.config import Config

    repeats = {"mode": "standard", "total_max_attempts": 2}
    config = Config(connect_timeout=2, read_timeout=6, retries=repeats, tcp_keepalive=True, user_agent=USER_AGENT)
    return boto3.client(service, region_name=environment.region(), config=config)


class Bucket:
    """Reads objects from an S3 bucket."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def _client(self) -> Any:
        return client("s3")

    def read(self, key: str) -> bytes:
        """Read the content of an object."""
        content: bytes = self._client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return content


class SesMailer:
    """Sends emails through version 2 of the Amazon SES API; the client is created on first use."""

    def __init__(self, sender: str) -> None:
        self._sender = sender

    @cached_property
    def _client(self) -> Any:
        return client("sesv2")

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
