"""Where AWS is called and with what credentials: as boto3 answers it, from the same settings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import certifi
import pytest
from botocore.config import Config
from botocore.session import Session

from chalicelib.foundation.aws import environment
from chalicelib.foundation.aws.environment import SERVICE_IDS, Credentials, authorities, credentials, endpoint, proxy_of
from chalicelib.foundation.aws.errors import NotConfigured, NotSent
from tests.foundation.servers import Connection, serving

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
    *(REGION | {f"AWS_ENDPOINT_URL_{name}": ELSEWHERE} for name in SERVICE_IDS.values()),
    *(
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"} | REGION | {f"AWS_ENDPOINT_URL_{name}": ELSEWHERE}
        for name in ("SQS",)
    ),
    {"AWS_CONFIG_FILE": "profiles"},
    {"AWS_CONFIG_FILE": "profiles"} | REGION,
    *({"AWS_CONFIG_FILE": "profiles", "AWS_PROFILE": name} for name in ("emulated", "apart", "fips")),
    {"AWS_CONFIG_FILE": "profiles", "AWS_DEFAULT_PROFILE": "emulated"},
    {"AWS_CONFIG_FILE": "profiles", "AWS_PROFILE": "emulated", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
    {"AWS_CONFIG_FILE": "profiles", "AWS_PROFILE": "emulated"} | REGION | {"AWS_ENDPOINT_URL": ELSEWHERE},
]


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An environment that says nothing of AWS, of a person without profiles."""
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
    for remembered in (environment._endpoint, environment._proxy_of, environment._session):
        remembered.cache_clear()


def use(monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("service", SERVICE_IDS)
@pytest.mark.parametrize(
    "settings", SETTINGS, ids=lambda settings: " ".join(f"{k[4:]}={v}" for k, v in settings.items())
)
def test_a_service_is_called_where_boto3_calls_it(
    settings: Mapping[str, str], service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, settings)
    meta = Session().create_client(service, config=Config(account_id_endpoint_mode="disabled")).meta

    assert endpoint(service) == (meta.endpoint_url, meta.region_name)


def test_lambda_s_region_comes_before_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, {"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-west-1"})

    assert endpoint("kms") == ("https://kms.eu-central-1.amazonaws.com", "eu-central-1")


def test_a_profile_in_the_home_folder_is_heeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text("[default]\nendpoint_url = http://127.0.0.1:3\n", encoding="utf-8")
    use(monkeypatch, REGION)

    assert endpoint("sqs") == ("http://127.0.0.1:3", "eu-west-1")


def test_without_a_region_there_is_nobody_to_call() -> None:
    with pytest.raises(NotConfigured, match="region"):
        endpoint("dynamodb")


# -- credentials


def test_the_credentials_of_the_environment_are_taken_as_they_are_now(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, KEYS)
    assert credentials() == Credentials("AKID", "secret", "token")

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    monkeypatch.delenv("AWS_SESSION_TOKEN")
    assert credentials() == Credentials("another", "secret", None)
    assert environment._session.cache_info().misses == 0


def test_without_credentials_nothing_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    with pytest.raises(NotConfigured, match="Unable to locate credentials"):
        credentials()


def test_half_of_the_credentials_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")

    with pytest.raises(NotConfigured, match="AWS_SECRET_ACCESS_KEY"):
        credentials()


def test_a_profile_has_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.write_text("[mine]\naws_access_key_id = A\naws_secret_access_key = B\n", encoding="utf-8")
    use(monkeypatch, {"AWS_SHARED_CREDENTIALS_FILE": str(shared), "AWS_PROFILE": "mine"})

    assert credentials() == Credentials("A", "B", None)


def container(expires_in: timedelta) -> Any:
    """A container's source of credentials, which numbers those that it hands out."""

    def serve(connection: Connection) -> None:
        number = 0
        while connection.request():
            number += 1
            until = (datetime.now(UTC) + expires_in).strftime("%Y-%m-%dT%H:%M:%SZ")
            handed = {"AccessKeyId": f"key-{number}", "SecretAccessKey": "s", "Token": "t", "Expiration": until}
            connection.answer(json.dumps(handed).encode())

    return serve


def test_a_container_s_credentials_are_asked_for_again_when_they_are_about_to_expire(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(container(timedelta(minutes=5))) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://127.0.0.1:{server.port}/")
        first, second = credentials(), credentials()

    assert first.access_key != second.access_key


def test_a_container_s_credentials_that_last_are_kept_until_aws_refuses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(container(timedelta(hours=6))) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://127.0.0.1:{server.port}/")
        assert credentials() == credentials()
        assert len(server.requests) == 1
        credentials(fresh=True)

    assert len(server.requests) == 2


def test_a_source_that_does_not_answer_may_do_so_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/")
    monkeypatch.setattr("botocore.utils.ContainerMetadataFetcher.SLEEP_TIME", 0)

    with pytest.raises(NotSent):
        credentials()


# -- TLS and proxies


def test_authorities_are_those_of_aws_of_requests_or_the_public_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert authorities() == certifi.where()
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/of/requests.pem")
    assert authorities() == "/of/requests.pem"
    monkeypatch.setenv("AWS_CA_BUNDLE", "/of/aws.pem")
    assert authorities() == "/of/aws.pem"


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
    ],
)
def test_a_proxy_is_used_as_the_environment_says(
    settings: Mapping[str, str], proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, settings)

    assert proxy_of("https://dynamodb.eu-west-1.amazonaws.com") == proxy
