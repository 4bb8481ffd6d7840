"""Mails: requests to SES, temporary and permanent errors, and the files and log lines of the local stage."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from chalicelib.foundation.aws import boto3_clients
from chalicelib.foundation.aws.boto3_clients import SesMailer
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.mail import FileMailer, Mail, MailFailed
from chalicelib.foundation.settings import Settings
from tests.kit.logs import Lines

MAIL = Mail("zoe@example.com", "Grüße", "One link: https://causeway.example.com/reset/secret")


class Ses:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[dict[str, Any]] = []

    def send_email(self, **request: Any) -> dict[str, str]:
        self.asked.append(request)
        if self.error:
            raise self.error
        return {"MessageId": "1"}


@pytest.fixture
def ses(monkeypatch: pytest.MonkeyPatch) -> Ses:
    made = Ses()
    monkeypatch.setattr(boto3_clients, "client", lambda service: {"sesv2": made}[service])
    return made


def test_ses_receives_the_mail_as_plain_text(ses: Ses) -> None:
    SesMailer("causeway@example.com").send(MAIL, "0f")

    (asked,) = ses.asked
    assert (asked["FromEmailAddress"], asked["Destination"]) == ("causeway@example.com", {"ToAddresses": [MAIL.to]})
    simple = asked["Content"]["Simple"]
    assert simple["Subject"] == {"Data": MAIL.subject, "Charset": "UTF-8"}
    assert simple["Body"] == {"Text": {"Data": MAIL.text, "Charset": "UTF-8"}}


def test_a_mail_request_matches_the_api_model_of_ses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The API model of SES in botocore validates the request."""
    from botocore.stub import ANY, Stubber

    client = boto3_clients.client("sesv2")
    stubber = Stubber(client)
    expected = {"FromEmailAddress": ANY, "Destination": ANY, "Content": ANY, "EmailTags": ANY}
    stubber.add_response("send_email", {"MessageId": "1"}, expected)
    monkeypatch.setattr(boto3_clients, "client", lambda _: client)
    with stubber:
        SesMailer("causeway@example.com").send(MAIL, "0f")
        stubber.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("code", "final"), [("MessageRejected", True), ("BadRequestException", True), ("TooManyRequestsException", False)]
)
def test_an_ses_error_is_classified_as_permanent_or_temporary_without_the_recipient_address(
    ses: Ses, code: str, final: bool
) -> None:
    ses.error = ClientError({"Error": {"Code": code, "Message": f"{MAIL.to} is bad"}}, "SendEmail")

    with pytest.raises(MailFailed) as failed:
        SesMailer("causeway@example.com").send(MAIL, "0f")
    assert (str(failed.value), failed.value.final) == (f"SES responded with {code}", final)


def test_an_unreachable_ses_is_a_temporary_failure(ses: Ses) -> None:
    ses.error = EndpointConnectionError(endpoint_url="https://email.eu-west-1.amazonaws.com")

    with pytest.raises(MailFailed) as failed:
        SesMailer("causeway@example.com").send(MAIL, "0f")
    assert not failed.value.final


def test_the_file_mailer_writes_a_file_and_logs_the_mail_without_the_link(tmp_path: Path, lines: Lines) -> None:
    folder = tmp_path / "mail"
    for _ in range(2):
        FileMailer(folder).send(MAIL, "0f1e")

    (file,) = folder.iterdir()
    assert file.read_text("utf-8") == f"To: {MAIL.to}\nSubject: {MAIL.subject}\n\n{MAIL.text}\n"
    assert (file.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    line = json.loads(lines.text.splitlines()[-1])
    assert line["message"] == "mail written"
    assert line["to"] == MAIL.to
    assert line["subject"] == MAIL.subject
    assert line["file"] == str(file)
    assert "secret" not in lines.text


@pytest.mark.parametrize(("stage", "kind"), [("local", FileMailer), ("dev", SesMailer), ("prod", SesMailer)])
def test_deployed_stages_send_mails_with_ses_and_the_local_stage_writes_files(stage: str, kind: type) -> None:
    settings = Settings.from_environment({"STAGE": stage, "PUBLIC_URL": "https://causeway.example.com"})

    assert isinstance(Infrastructure(settings).mailer, kind)
