"""Settings, read from the environment once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Literal, TypeVar, cast, get_args
from urllib.parse import urlsplit

from chalicelib.foundation.jsontext import is_utf_8
from chalicelib.foundation.lazy_dataclasses import dataclass

Stage = Literal["local", "dev", "prod"]
T = TypeVar("T")

MOST_CALLS_PER_MINUTE = 1_000_000
CALLS_IN_LAMBDA, CALLS_LOCALLY = 3_000, 60_000
"""The default limits of calls per minute. In Lambda, an instance handles one call at a time. On one machine, a single
process handles the calls of all callers.
"""
_LAMBDA = "AWS_LAMBDA_FUNCTION_NAME"


class InvalidSetting(Exception):
    """An environment variable has an invalid value. The message contains the variable's name."""

    def __init__(self, variable: str, reason: str) -> None:
        self.variable = variable
        super().__init__(f"{variable}: {reason}")


@dataclass(frozen=True)
class Settings:
    """The settings of one stage.

    ``public_url``, ``mtls_url`` and ``bank_api_url`` have no trailing slash. The service builds all of its URLs from
    these settings, never from a request. ``mtls_url`` is the address at which TPPs use mutual TLS, or ``None`` if
    mutual TLS is not used. ``tpp_ca_bundle`` and ``bank_ca_bundle`` are a file's path or ``s3://bucket/key``, or
    ``None`` if no certificate of a TPP or a bank is trusted. ``outbound_ca_file`` has the authorities that the service
    trusts in outbound calls, or is ``None`` for the public authorities.

    ``operator_key`` permits an operator to advance the clock of the one-machine stack. ``client_calls`` and
    ``credential_calls`` are the maximum number of calls per minute in each process, for a client and for a credential
    of the card API. The record of a client or credential can override the limit. ``cloudfront_secrets`` are the SHA-256
    digests, in hex, of the secrets with which CloudFront proves that a request comes from CloudFront. The list is empty
    if visitors connect directly. ``security_contact`` is a URL (``mailto:`` or ``https:``) for reports of
    vulnerabilities. Lifetimes are in seconds.
    """

    stage: Stage
    port: int
    public_url: str
    bank_api_url: str
    prefix: str
    kms_key_id: str
    keys_secret: str
    card_keys_secret: str
    demo_banks_secret: str
    log_level: str
    mail_from: str
    mail_folder: str
    mtls_url: str | None = None
    tpp_ca_bundle: str | None = None
    bank_ca_bundle: str | None = None
    outbound_ca_file: str | None = None
    operator_key: str | None = field(default=None, repr=False)
    client_calls: int = CALLS_IN_LAMBDA
    credential_calls: int = CALLS_IN_LAMBDA
    cloudfront_secrets: tuple[str, ...] = ()
    security_contact: str | None = None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Settings:
        """Read all settings from ``environ``.

        The default of ``STAGE`` is ``local``, a stage for a single machine. In AWS Lambda, ``STAGE`` must name a
        deployed stage.

        Raises:
            InvalidSetting: a setting is invalid. The message contains the variable and the reason.
        """
        in_lambda = _LAMBDA in environ
        stage = _read(environ, "STAGE", _stage(in_lambda), "" if in_lambda else "local")
        port = _read(environ, "PORT", _number("port number", 65_535), "8000")
        local_url = f"http://127.0.0.1:{port}" if stage == "local" else ""
        public_url = _read(environ, "PUBLIC_URL", _url(stage), local_url)
        prefix = _read(environ, "RESOURCE_PREFIX", _prefix, f"causeway-{stage}")
        calls = str(CALLS_LOCALLY if stage == "local" else CALLS_IN_LAMBDA)
        tpp_ca_bundle = _read(environ, "TPP_CA_BUNDLE", _bundle(stage), "")
        ca_file = _only_local(stage, "which trusts public authorities only")
        operator_key = _only_local(stage, "whose clock alone can be moved")
        return cls(
            stage=stage,
            port=port,
            public_url=public_url,
            bank_api_url=_read(environ, "BANK_API_URL", _url(stage), public_url),
            prefix=prefix,
            kms_key_id=_read(environ, "KMS_KEY_ID", str, f"alias/{prefix}"),
            keys_secret=_read(environ, "KEYS_SECRET", str, f"{prefix}-keys"),
            card_keys_secret=_read(environ, "CARD_KEYS_SECRET", str, f"{prefix}-card-keys"),
            demo_banks_secret=_read(environ, "DEMO_BANKS_SECRET", str, f"{prefix}-demo-banks"),
            log_level=_read(environ, "LOG_LEVEL", _log_level, "INFO"),
            mail_from=_read(environ, "MAIL_FROM", _mail_address, f"causeway@{urlsplit(public_url).hostname}"),
            mail_folder=_read(environ, "MAIL_FOLDER", str, ".local/mail"),
            mtls_url=_read(environ, "MTLS_URL", _mtls_url(stage, public_url, tpp_ca_bundle), "") or None,
            tpp_ca_bundle=tpp_ca_bundle or None,
            bank_ca_bundle=_read(environ, "BANK_CA_BUNDLE", _bundle(stage), "") or None,
            outbound_ca_file=_read(environ, "OUTBOUND_CA_FILE", ca_file, "") or None,
            operator_key=_read(environ, "OPERATOR_KEY", operator_key, "") or None,
            client_calls=_read(environ, "CLIENT_CALLS_PER_MINUTE", _calls_per_minute, calls),
            credential_calls=_read(environ, "CREDENTIAL_CALLS_PER_MINUTE", _calls_per_minute, calls),
            cloudfront_secrets=_read(environ, "CLOUDFRONT_SECRET_SHA256", _digests, ""),
            security_contact=_read(environ, "SECURITY_CONTACT", _contact, "") or None,
        )

    @cached_property
    def is_local(self) -> bool:
        return self.stage == "local"

    @cached_property
    def requires_https(self) -> bool:
        """Whether browsers must use https only. The local stage never requires https, because its next run may use
        http.
        """
        return not self.is_local

    @property
    def public_path(self) -> str:
        """Return the path of ``public_url``. It is usually empty, and otherwise the name of an API stage."""
        return urlsplit(self.public_url).path

    @property
    def own_urls(self) -> tuple[str, ...]:
        """Return the addresses of this service: the public address, and the addresses for banks and for mutual TLS."""
        return (self.public_url, self.bank_api_url, *([self.mtls_url] if self.mtls_url else []))

    @property
    def is_sandbox(self) -> bool:
        """Whether the stage has demonstration banks and TPPs need no approval."""
        return self.stage != "prod"

    @property
    def confirms_addresses(self) -> bool:
        """Whether users must confirm their email address before they first sign in."""
        return not self.is_sandbox

    @property
    def code_lifetime(self) -> int:
        """Return the lifetime of an authorization code in seconds. In the local stage, it is longer for manual use."""
        return 600 if self.is_local else 60


def _read(environ: Mapping[str, str], variable: str, parse: Callable[[str], T], default: str) -> T:
    value = environ.get(variable) or default
    if not is_utf_8(value):
        raise InvalidSetting(variable, "must be UTF-8")
    try:
        return parse(value)
    except ValueError as error:
        raise InvalidSetting(variable, str(error)) from None


def _stage(in_lambda: bool) -> Callable[[str], Stage]:
    allowed = [stage for stage in get_args(Stage) if not (in_lambda and stage == "local")]
    where = " in AWS Lambda" if in_lambda else ""

    def parse(value: str) -> Stage:
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}{where}")
        return cast(Stage, value)

    return parse


def _number(what: str, highest: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not re.fullmatch(rf"[0-9]{{1,{len(str(highest))}}}", value) or not 0 < int(value) <= highest:
            raise ValueError(f"must be a {what} from 1 to {highest}")
        return int(value)

    return parse


def _digests(value: str) -> tuple[str, ...]:
    if value and not re.fullmatch(r"[0-9a-f]{64}(,[0-9a-f]{64})?", value):
        raise ValueError("must be one or two SHA-256 digests of 64 small hexadecimal digits, separated by a comma")
    return tuple(value.split(",")) if value else ()


def _text(fits: Callable[[str], object], rule: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if not fits(value):
            raise ValueError(rule)
        return value

    return parse


def _log_level(value: str) -> str:
    levels = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
    if value.upper() not in levels:
        raise ValueError(f"must be one of {', '.join(levels)}")
    return value.upper()


def _bundle(stage: Stage) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if value.startswith("s3://") and stage == "local":
            raise ValueError("must be a file in the local stage")
        if "://" in value and not re.fullmatch(r"s3://[a-z0-9.-]{3,63}/.+", value):
            raise ValueError("must be a file's path or s3://bucket/key")
        return value

    return parse


def _only_local(stage: Stage, reason: str) -> Callable[[str], str]:
    return _text(lambda value: not value or stage == "local", f"must not be set outside the local stage, {reason}")


def _mtls_url(stage: Stage, public_url: str, tpp_ca_bundle: str) -> Callable[[str], str]:
    parse_url = _url(stage)

    def parse(value: str) -> str:
        url = parse_url(value) if value else ""
        if url and not tpp_ca_bundle:
            raise ValueError("needs TPP_CA_BUNDLE, the authorities that issue the certificates of TPPs")
        if url == public_url and stage != "local":
            raise ValueError("must differ from PUBLIC_URL, which browsers open without a certificate")
        return url

    return parse


def _url(stage: Stage) -> Callable[[str], str]:
    schemes = ("http", "https") if stage == "local" else ("https",)

    def parse(value: str) -> str:
        if not value:
            raise ValueError("must be set outside the local stage")
        parts = urlsplit(value)
        if parts.scheme not in schemes or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"must be a URL that begins with {' or '.join(schemes)}://")
        return value.rstrip("/")

    return parse


_calls_per_minute = _number("number", MOST_CALLS_PER_MINUTE)
_prefix = _text(
    re.compile("[a-z][a-z0-9-]{1,60}").fullmatch, "must contain only lower-case letters, digits and hyphens"
)
_mail_address = _text(
    re.compile("[!-~]{1,64}@[A-Za-z0-9.:-]+").fullmatch, "must be an email address such as causeway@example.com"
)
_contact = _text(
    re.compile("(mailto:[!-~]{1,64}@[A-Za-z0-9.:-]+|https://[!-~]+)?").fullmatch,
    "must be mailto: and an email address, or a URL that begins with https://",
)
