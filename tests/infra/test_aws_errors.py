"""AWS errors are reported as sentences, including at endpoints that are not AWS emulators or lack a service."""

from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from infra.aws_errors import AWS_ERRORS, explain
from infra.deploy import __main__ as deployment
from infra.deploy import chalice_command, limits, runtime
from tests.kit.http import serving


class Website(BaseHTTPRequestHandler):
    """A server that responds to each request with a 404 page, as moto does for a missing operation."""

    def _answer(self) -> None:
        self.send_error(404)

    do_GET = do_POST = do_PUT = _answer  # noqa: N815 - http.server's names

    def log_message(self, format: str, *args: object) -> None:
        """Write no log."""


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Website)) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        yield url


@pytest.mark.parametrize(
    ("call", "answered"),
    [
        (lambda: boto3.client("lambda").get_account_settings(), "GetAccountSettings with HTTP status 404"),
        (lambda: boto3.client("dynamodb").list_tables(), "ListTables with HTTP status 404"),
        (lambda: boto3.client("cloudformation").describe_stacks(), "with something that cannot be read"),
    ],
)
def test_a_response_that_is_not_from_aws_is_reported_with_the_endpoint_address(
    address: str, call: Callable[[], Any], answered: str
) -> None:
    with pytest.raises(AWS_ERRORS) as caught:
        call()
    assert explain(caught.value) == (
        f"the endpoint at {address} answered {answered}, and not as AWS does: "
        "it may be no emulator of AWS, or one that lacks this service"
    )


def test_an_aws_error_is_reported_with_the_message_of_aws() -> None:
    refused = ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetAccountSettings")

    assert explain(refused) == "An error occurred (AccessDenied) when calling the GetAccountSettings operation: no"


@pytest.mark.parametrize("main", [deployment.main, limits.main])
def test_a_deployment_to_an_emulator_without_lambda_fails_with_a_one_line_error_message(
    address: str, main: Callable[[list[str]], int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chalice_command, "find_placeholder", lambda stage: None)
    monkeypatch.setattr(runtime, "check_python", lambda: None)

    assert main(["dev"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"causeway: the endpoint at {address} answered GetAccountSettings with HTTP status 404")
    assert said.count("\n") == 1


def test_a_resource_deployment_to_an_ordinary_web_server_fails_with_a_one_line_error_message(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chalice_command, "find_placeholder", lambda stage: None)
    monkeypatch.setattr(runtime, "check_python", lambda: None)

    assert deployment.main(["dev", "--only", "resources"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"causeway: the endpoint at {address} answered with something that cannot be read")
    assert said.count("\n") == 1
