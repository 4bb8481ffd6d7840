"""Settings have default values for a single machine. Errors name the invalid environment variable."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chalicelib.foundation.settings import InvalidSetting, Settings

ROOT = Path(__file__).parents[2]
DEV = {"STAGE": "dev", "PUBLIC_URL": "https://causeway.example.com"}


def test_the_settings_without_environment_variables_are_the_settings_of_the_local_stage() -> None:
    settings = Settings.from_environment({})

    assert settings == Settings(
        stage="local",
        port=8000,
        public_url="http://127.0.0.1:8000",
        bank_api_url="http://127.0.0.1:8000",
        prefix="causeway-local",
        kms_key_id="alias/causeway-local",
        keys_secret="causeway-local-keys",
        card_keys_secret="causeway-local-card-keys",
        demo_banks_secret="causeway-local-demo-banks",
        log_level="INFO",
        mail_from="causeway@127.0.0.1",
        mail_folder=".local/mail",
        client_calls=60_000,
        credential_calls=60_000,
    )
    assert settings.is_local


@pytest.mark.parametrize("stage", [{}, {"STAGE": ""}, {"STAGE": "local"}])
def test_a_lambda_function_requires_the_setting_of_a_deployed_stage(stage: dict[str, str]) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Settings.from_environment({"AWS_LAMBDA_FUNCTION_NAME": "causeway-dev", **stage})

    assert str(caught.value) == "STAGE: must be one of dev, prod in AWS Lambda"
    assert Settings.from_environment({"AWS_LAMBDA_FUNCTION_NAME": "causeway-dev", **DEV}).stage == "dev"


def test_a_lambda_function_without_a_stage_does_not_start() -> None:
    environ = {name: value for name, value in os.environ.items() if name != "STAGE"}
    started = subprocess.run(
        [sys.executable, "-c", "import app"],
        cwd=ROOT,
        env={**environ, "AWS_LAMBDA_FUNCTION_NAME": "causeway-prod"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert started.returncode == 1
    assert started.stderr.endswith("InvalidSetting: STAGE: must be one of dev, prod in AWS Lambda\n")


def test_the_port_setting_changes_the_local_addresses() -> None:
    settings = Settings.from_environment({"PORT": "8123"})

    assert settings.public_url == settings.bank_api_url == "http://127.0.0.1:8123"


def test_every_setting_can_be_set_by_an_environment_variable() -> None:
    settings = Settings.from_environment(
        {
            **DEV,
            "BANK_API_URL": "https://banks.example.com/",
            "RESOURCE_PREFIX": "hub",
            "KMS_KEY_ID": "alias/other",
            "KEYS_SECRET": "our-keys",
            "CARD_KEYS_SECRET": "our-card-keys",
            "DEMO_BANKS_SECRET": "our-banks",
            "LOG_LEVEL": "debug",
            "CLIENT_CALLS_PER_MINUTE": "600",
            "CREDENTIAL_CALLS_PER_MINUTE": "1000000",
            "CLOUDFRONT_SECRET_SHA256": f"{'0' * 64},{'f' * 64}",
            "MAIL_FROM": "no-reply@example.com",
            "SECURITY_CONTACT": "mailto:security@example.com",
            "MTLS_URL": "https://mtls.example.com/",
            "TPP_CA_BUNDLE": "s3://causeway-dev-truststore-1/cas.pem",
        }
    )

    assert settings.public_url == "https://causeway.example.com"
    assert settings.bank_api_url == "https://banks.example.com"
    assert settings.prefix == "hub"
    assert settings.kms_key_id == "alias/other"
    assert settings.keys_secret == "our-keys"
    assert (settings.card_keys_secret, settings.demo_banks_secret) == ("our-card-keys", "our-banks")
    assert (settings.log_level, settings.mail_from) == ("DEBUG", "no-reply@example.com")
    assert (settings.client_calls, settings.credential_calls) == (600, 1_000_000)
    assert settings.cloudfront_secrets == ("0" * 64, "f" * 64)
    assert settings.security_contact == "mailto:security@example.com"
    assert settings.mtls_url == "https://mtls.example.com"
    assert settings.tpp_ca_bundle == "s3://causeway-dev-truststore-1/cas.pem"


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_a_deployed_stage_limits_calls_to_3000_a_minute(stage: str) -> None:
    settings = Settings.from_environment({**DEV, "STAGE": stage})

    assert (settings.client_calls, settings.credential_calls) == (3_000, 3_000)


def test_mail_from_defaults_to_the_public_domain() -> None:
    assert Settings.from_environment(DEV).mail_from == "causeway@causeway.example.com"


def test_only_production_confirms_email_addresses() -> None:
    stages = ("local", "dev", "prod")

    confirming = [Settings.from_environment({**DEV, "STAGE": stage}).confirms_addresses for stage in stages]
    assert confirming == [False, False, True]


def test_the_names_of_the_key_and_the_secrets_start_with_the_prefix_setting() -> None:
    settings = Settings.from_environment(DEV)

    assert settings.prefix == "causeway-dev"
    assert (settings.kms_key_id, settings.keys_secret) == ("alias/causeway-dev", "causeway-dev-keys")


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("STAGE", "production", "must be one of local, dev, prod"),
        ("PORT", "eighty", "must be a port number"),
        ("PORT", "0", "must be a port number"),
        ("PORT", "65536", "must be a port number"),
        ("PORT", "-1", "must be a port number"),
        ("PORT", "٨٠", "must be a port number"),
        ("PUBLIC_URL", "causeway.example.com", "must be a URL"),
        ("PUBLIC_URL", "ftp://causeway.example.com", "must be a URL"),
        ("PUBLIC_URL", "https://", "must be a URL"),
        ("PUBLIC_URL", "https://[::1", "Invalid IPv6 URL"),
        ("PUBLIC_URL", "https://causeway.example.com/?a=b", "must be a URL"),
        ("BANK_API_URL", "https://causeway.example.com/#a", "must be a URL"),
        ("MTLS_URL", "mtls.example.com", "must be a URL"),
        ("MTLS_URL", "https://mtls.example.com", "needs TPP_CA_BUNDLE, the authorities that issue the certificates"),
        ("TPP_CA_BUNDLE", "s3://causeway-truststore/cas.pem", "must be a file in the local stage"),
        ("BANK_CA_BUNDLE", "s3://causeway-truststore/cas.pem", "must be a file in the local stage"),
        *((name, "a\udcff", "must be UTF-8") for name in ("KEYS_SECRET", "MAIL_FOLDER", "MAIL_FROM", "TPP_CA_BUNDLE")),
        ("TPP_CA_BUNDLE", "https://example.com/cas.pem", "must be a file's path or s3://bucket/key"),
        ("RESOURCE_PREFIX", "Causeway", "must contain only lower-case letters"),
        ("RESOURCE_PREFIX", "a b", "must contain only lower-case letters"),
        ("MAIL_FROM", "Causeway", "must be an email address such as"),
        ("MAIL_FROM", "a@b.example\nBcc: c@d.example", "must be an email address such as"),
        ("SECURITY_CONTACT", "security@example.com", "must be mailto: and an email address, or a URL"),
        ("SECURITY_CONTACT", "mailto:Security", "must be mailto: and an email address, or a URL"),
        ("SECURITY_CONTACT", "http://example.com/report", "must be mailto: and an email address, or a URL"),
        ("SECURITY_CONTACT", "https://example.com/\nPolicy: a", "must be mailto: and an email address, or a URL"),
        ("LOG_LEVEL", "LOUD", "must be one of DEBUG"),
        ("CLIENT_CALLS_PER_MINUTE", "0", "must be a number from 1 to 1000000"),
        ("CLOUDFRONT_SECRET_SHA256", "the secret itself", "must be one or two SHA-256 digests"),
        ("CLIENT_CALLS_PER_MINUTE", "many", "must be a number from 1 to 1000000"),
        ("CREDENTIAL_CALLS_PER_MINUTE", "1000001", "must be a number from 1 to 1000000"),
    ],
)
def test_the_error_for_an_invalid_setting_names_the_environment_variable(
    variable: str, value: str, reason: str
) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Settings.from_environment({variable: value})

    assert caught.value.variable == variable
    assert str(caught.value).startswith(f"{variable}: {reason}")


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_a_deployed_stage_requires_an_https_public_url(stage: str) -> None:
    with pytest.raises(InvalidSetting, match="PUBLIC_URL: must be set outside the local stage"):
        Settings.from_environment({"STAGE": stage})
    with pytest.raises(InvalidSetting, match="PUBLIC_URL: must be a URL that begins with https://"):
        Settings.from_environment({"STAGE": stage, "PUBLIC_URL": "http://causeway.example.com"})


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        (
            {"MTLS_URL": "http://mtls.example.com", "TPP_CA_BUNDLE": "cas.pem"},
            "MTLS_URL: must be a URL that begins with",
        ),
        ({"MTLS_URL": DEV["PUBLIC_URL"], "TPP_CA_BUNDLE": "cas.pem"}, "MTLS_URL: must differ from PUBLIC_URL"),
        ({"MTLS_URL": f"{DEV['PUBLIC_URL']}/", "TPP_CA_BUNDLE": "cas.pem"}, "MTLS_URL: must differ from PUBLIC_URL"),
        ({"OPERATOR_KEY": "key"}, "OPERATOR_KEY: must not be set outside the local stage"),
        ({"OUTBOUND_CA_FILE": "ca.pem"}, "OUTBOUND_CA_FILE: must not be set outside the local stage"),
        ({"TPP_CA_BUNDLE": "s3://bucket"}, "TPP_CA_BUNDLE: must be a file's path or s3://bucket/key"),
    ],
)
def test_invalid_settings_of_a_deployed_stage_are_rejected_with_the_reason(
    variables: dict[str, str], reason: str
) -> None:
    with pytest.raises(InvalidSetting, match=f"^{reason}"):
        Settings.from_environment({**DEV, **variables})


def test_the_mtls_url_can_equal_the_public_url_in_the_local_stage() -> None:
    url = "https://127.0.0.1:8000"
    settings = Settings.from_environment({"PUBLIC_URL": url, "MTLS_URL": url, "TPP_CA_BUNDLE": ".local/tls/ca.pem"})

    assert (settings.public_url, settings.mtls_url) == (url, url)
    assert not settings.requires_https, "the next run may be without TLS"


def test_authorization_codes_expire_after_one_minute_and_in_the_local_stage_after_ten_minutes() -> None:
    assert Settings.from_environment({}).code_lifetime == 600
    assert Settings.from_environment(DEV).code_lifetime == 60


@pytest.mark.parametrize(("stage", "has"), [("local", True), ("dev", True), ("prod", False)])
def test_only_the_production_stage_has_no_demonstration_banks(stage: str, has: bool) -> None:
    assert Settings.from_environment({**DEV, "STAGE": stage}).is_sandbox is has
