"""AWS calls use the same endpoints and credentials as boto3 calls with the same settings."""

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import boto3
import certifi
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError, ProfileNotFound
from botocore.session import Session

from chalicelib.foundation.aws import environment
from chalicelib.foundation.aws.environment import Credentials, authorities, credentials, endpoint, proxy_of
from chalicelib.foundation.aws.errors import NotConfigured, NotSent
from chalicelib.foundation.aws.services import SERVICES
from chalicelib.foundation.context import tight_deadline
from chalicelib.foundation.parallel import together
from tests.kit.http import Connection, socket_server
from tests.kit.time import PATIENCE_SECONDS, limit_under_test

REGION = {"AWS_DEFAULT_REGION": "eu-west-1"}
ELSEWHERE = "http://127.0.0.1:4566"
PROFILES = """
[default]
region = eu-north-1

[profile emulated]
region = eu-west-2
endpoint_url = http://127.0.0.1:1

[profile apart]
region = eu-west-2
services = apart

[services apart]
dynamodb =
  endpoint_url = http://127.0.0.1:2

[profile ignoring]
ignore_configured_endpoint_urls = true

[profile fips]
region = us-east-1
use_fips_endpoint = true
"""
KEYS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token"}
SETTINGS: list[dict[str, str]] = [
    REGION,
    {"AWS_DEFAULT_REGION": "us-gov-west-1"},
    {"AWS_DEFAULT_REGION": "cn-north-1"},
    {"AWS_DEFAULT_REGION": "eusc-de-east-1"},
    {"AWS_DEFAULT_REGION": "us-iso-east-1"},
    {"AWS_DEFAULT_REGION": "ap-southeast-5"},
    {"AWS_DEFAULT_REGION": "mx-central-1"},
    REGION | {"AWS_USE_FIPS_ENDPOINT": "true"},
    {"AWS_DEFAULT_REGION": "us-east-1", "AWS_USE_FIPS_ENDPOINT": "true"},
    REGION | {"AWS_USE_FIPS_ENDPOINT": "false"},
    REGION | {"AWS_USE_DUALSTACK_ENDPOINT": "true"},
    REGION | {"AWS_ENDPOINT_URL": ELSEWHERE},
    REGION | {"AWS_ENDPOINT_URL": ELSEWHERE, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
    REGION | {"AWS_ENDPOINT_URL": ELSEWHERE, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "TRUE"},
    REGION | {"AWS_ENDPOINT_URL": ELSEWHERE, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false"},
    *(REGION | {service.endpoint_variable: ELSEWHERE} for service in SERVICES.values()),
    *(
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"} | REGION | {f"AWS_ENDPOINT_URL_{name}": ELSEWHERE}
        for name in ("SQS",)
    ),
    {"AWS_CONFIG_FILE": "profiles"},
    {"AWS_CONFIG_FILE": "profiles"} | REGION,
    *({"AWS_CONFIG_FILE": "profiles", "AWS_PROFILE": name} for name in ("emulated", "apart", "fips")),
    {"AWS_CONFIG_FILE": "profiles", "AWS_DEFAULT_PROFILE": "emulated"},
    {"AWS_CONFIG_FILE": "profiles", "AWS_PROFILE": "ignoring"} | REGION | {"AWS_ENDPOINT_URL": ELSEWHERE},
    REGION | {"AWS_ENDPOINT_URL": f"{ELSEWHERE}/aws/"},
    REGION | {"AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "true"},
    *({"AWS_DEFAULT_REGION": name, "AWS_USE_DUALSTACK_ENDPOINT": "true"} for name in ("cn-north-1", "us-gov-west-1")),
    {"AWS_DEFAULT_REGION": "us-gov-west-1", "AWS_USE_FIPS_ENDPOINT": "true"},
    {"AWS_CONFIG_FILE": "profiles", "AWS_PROFILE": "emulated", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
    {"AWS_CONFIG_FILE": "profiles", "AWS_PROFILE": "emulated"} | REGION | {"AWS_ENDPOINT_URL": ELSEWHERE},
]


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in [*os.environ]:
        if name.startswith(("AWS_", "REQUESTS_CA_BUNDLE")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "profiles").write_text(PROFILES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    forget()
    yield
    forget()


def forget() -> None:
    for each in vars(environment).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


def use(monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("settings", SETTINGS, ids=" ".join)
def test_the_endpoint_of_an_aws_service_equals_the_endpoint_of_boto3(
    settings: Mapping[str, str], service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, settings)

    assert endpoint(service) == called_by_boto3(service)


def called_by_boto3(service: str) -> tuple[str, str]:
    """Return the URL that boto3 would request and the region of the signature. No request is sent."""
    use_keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
    client = boto3.session.Session().client(service, config=Config(account_id_endpoint_mode="disabled"), **use_keys)
    asked: list[Any] = []

    def answer(request: Any, **_: Any) -> AWSResponse:
        asked.append(request)
        return AWSResponse(request.url, 200, {}, SimpleNamespace(stream=lambda **_: [b"{}"]))

    client.meta.events.register_first("before-send", answer)
    {
        "dynamodb": lambda: client.describe_table(TableName="a"),
        "kms": lambda: client.describe_key(KeyId="a"),
        "secretsmanager": lambda: client.get_secret_value(SecretId="a"),
        "sqs": lambda: client.get_queue_url(QueueName="a"),
    }[service]()
    (request,) = asked
    scope = re.search(r"Credential=[^/]+/\d+/([^/]+)/", request.headers["Authorization"].decode())
    assert scope is not None
    return request.url, scope[1]


def test_aws_region_takes_precedence_over_aws_default_region(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, {"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-west-1"})

    assert endpoint("kms") == ("https://kms.eu-central-1.amazonaws.com/", "eu-central-1")


def test_the_endpoint_of_a_profile_in_the_home_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text("[default]\nendpoint_url = http://127.0.0.1:3\n", encoding="utf-8")
    use(monkeypatch, REGION)

    assert endpoint("sqs") == ("http://127.0.0.1:3/", "eu-west-1")


def test_aws_calls_use_no_profile_if_the_home_folder_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(monkeypatch, REGION | {"HOME": str(tmp_path / "no such folder")})

    assert endpoint("sqs").url == "https://sqs.eu-west-1.amazonaws.com/"


def test_a_missing_aws_region_raises_not_configured_error() -> None:
    with pytest.raises(NotConfigured, match=r"region \(AWS_REGION or AWS_DEFAULT_REGION\)"):
        endpoint("dynamodb")


@pytest.mark.parametrize(
    "address",
    ["localhost:4566", "ftp://localhost/", "http://localhost:99999", "http://localhost:0", "http://localhost/a//b/../"],
)
def test_an_invalid_aws_endpoint_url_raises_not_configured_error(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    use(monkeypatch, REGION | {"AWS_ENDPOINT_URL": address})

    with pytest.raises(NotConfigured, match="AWS_ENDPOINT_URL must be an http"):
        endpoint("dynamodb")


# -- credentials


def test_environment_credentials_are_read_again_for_every_aws_call(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, KEYS)
    monkeypatch.setattr(Session, "get_credentials", lambda _: pytest.fail("botocore is not needed"))
    assert credentials() == Credentials("AKID", "secret", "token")

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    monkeypatch.delenv("AWS_SESSION_TOKEN")
    assert credentials() == Credentials("another", "secret", None)


def test_missing_aws_credentials_raise_not_configured_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    with pytest.raises(NotConfigured, match="Unable to locate credentials"):
        credentials()


def test_an_access_key_without_a_secret_key_raises_not_configured_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")

    with pytest.raises(NotConfigured, match="AWS_SECRET_ACCESS_KEY"):
        credentials()


def test_credentials_of_an_aws_profile_are_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.write_text("[mine]\naws_access_key_id = A\naws_secret_access_key = B\n", encoding="utf-8")
    use(monkeypatch, {"AWS_SHARED_CREDENTIALS_FILE": str(shared), "AWS_PROFILE": "mine"})

    assert credentials() == Credentials("A", "B", None)


def container(expires_in: timedelta) -> Any:

    numbers = count(1)

    def serve(connection: Connection) -> None:
        while connection.request():
            until = (datetime.now(UTC) + expires_in).strftime("%Y-%m-%dT%H:%M:%SZ")
            handed = {"AccessKeyId": f"key-{next(numbers)}", "SecretAccessKey": "s", "Token": "t", "Expiration": until}
            connection.answer(json.dumps(handed).encode())

    return serve


def test_container_credentials_are_refreshed_shortly_before_they_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket_server(container(timedelta(minutes=5))) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://127.0.0.1:{server.port}/")
        first, second = credentials(), credentials()

    assert first.access_key != second.access_key


def test_container_credentials_are_cached_until_aws_rejects_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket_server(container(timedelta(hours=6))) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://127.0.0.1:{server.port}/")
        assert credentials() == credentials()
        assert len(server.requests) == 1
        credentials(instead_of=credentials())

    assert len(server.requests) == 2


def test_container_credentials_take_precedence_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, KEYS)
    with socket_server(container(timedelta(hours=6))) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://127.0.0.1:{server.port}/")
        assert credentials().access_key == "key-1"


def test_only_one_of_many_threads_refreshes_expired_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket_server(container(timedelta(hours=6))) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://127.0.0.1:{server.port}/")
        used = credentials()
        new = together([lambda: credentials(instead_of=used)] * 4)

    assert len(set(new)) == 1
    assert used not in new
    assert len(server.requests) == 2


def test_a_denied_aws_role_raises_not_configured_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(session: object) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "a secret"}}, "AssumeRole")

    monkeypatch.setattr(Session, "get_credentials", deny)

    with pytest.raises(NotConfigured, match=r"source refuses them: AccessDenied$"):
        credentials()


def test_credentials_with_control_characters_are_refused_and_repr_hides_the_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(monkeypatch, KEYS | {"AWS_SESSION_TOKEN": "token\n"})

    with pytest.raises(NotConfigured, match=r"^the credentials contain control characters$"):
        credentials()
    assert "secret" not in repr(Credentials("AKID", "secret", None))


def test_an_unreachable_credential_source_raises_not_sent_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/")
    monkeypatch.setattr("botocore.utils.ContainerMetadataFetcher.SLEEP_TIME", 0)

    with pytest.raises(NotSent):
        credentials()


def test_a_request_deadline_limits_the_time_of_a_slow_credential_source(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()
    monkeypatch.setattr(Session, "get_credentials", lambda session: is_over.wait(PATIENCE_SECONDS) and None)

    with tight_deadline(lambda: 0.0, limit_under_test(0.1)):
        try:
            with pytest.raises(NotSent, match="within the time limit"):
                credentials()
        finally:
            is_over.set()


def test_a_request_deadline_changes_neither_the_credentials_nor_the_errors_of_a_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tight_deadline(lambda: 0.0, PATIENCE_SECONDS):
        with socket_server(container(timedelta(hours=6))) as server:
            monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://127.0.0.1:{server.port}/")
            assert credentials().access_key == "key-1"
        forget()
        monkeypatch.setattr(Session, "get_credentials", Mock(side_effect=ProfileNotFound(profile="mine")))
        with pytest.raises(NotConfigured, match="mine"):
            credentials()


# -- TLS and proxies


def test_the_ca_file_is_read_from_aws_ca_bundle_or_requests_ca_bundle_or_else_from_certifi(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert authorities() == certifi.where()
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", __file__)
    assert authorities() == __file__
    monkeypatch.setenv("AWS_CA_BUNDLE", certifi.__file__)
    assert authorities() == certifi.__file__


def test_the_error_for_a_missing_ca_file_names_the_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", "/no/such.pem")

    with pytest.raises(NotConfigured, match=r"AWS_CA_BUNDLE names a file that does not exist: /no/such.pem"):
        authorities()


@pytest.mark.parametrize(
    ("settings", "proxy"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        ({"https_proxy": "http://proxy:3128"}, "http://proxy:3128"),
        ({"HTTP_PROXY": "http://proxy:3128"}, None),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "example.com,.amazonaws.com"}, None),
        ({"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "*"}, None),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "example.com"}, "http://proxy:3128"),
        ({"HTTPS_PROXY": "proxy:3128"}, "http://proxy:3128"),
    ],
)
def test_a_proxy_is_selected_by_the_proxy_variables(
    settings: Mapping[str, str], proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, settings)

    assert proxy_of("https://dynamodb.eu-west-1.amazonaws.com") == proxy


def test_the_no_proxy_variable_matches_host_and_port_and_plain_http_uses_no_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(monkeypatch, {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "localhost:4566"})

    assert proxy_of("https://localhost:4566/") is None
    assert proxy_of("https://localhost:4567/") == "http://proxy:3128"
    assert proxy_of("http://localhost:4567/") is None


def test_a_proxy_over_tls_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "https://user:word@proxy")

    with pytest.raises(NotConfigured, match=r"^HTTPS_PROXY must begin with http://$"):
        proxy_of("https://dynamodb.eu-west-1.amazonaws.com/")
