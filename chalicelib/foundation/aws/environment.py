"""What the environment says of AWS: region, endpoints, credentials, authorities and proxies.

The usual variables are read here; every other setting (profiles, SSO, roles, other partitions, FIPS, dual stack) is
botocore's to find, which is imported then.
"""

from __future__ import annotations

import os
import re
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import certifi

from chalicelib.foundation.aws.errors import NotConfigured, NotSent

SERVICE_IDS = {"dynamodb": "DYNAMODB", "kms": "KMS", "secretsmanager": "SECRETS_MANAGER", "sqs": "SQS"}
"""The services by the name of their hosts and signatures, and their names in ``AWS_ENDPOINT_URL_…``."""
_ORDINARY_REGION = re.compile(r"(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-[0-9]+")
"""Regions of the default partition."""
_ENDPOINTS = (
    *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"),
    *("AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_PROFILE", "AWS_DEFAULT_PROFILE"),
    *("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"),
)
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_ROTATING = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI")
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy")
_session_lock = threading.Lock()


class Endpoint(NamedTuple):
    """Where a service is called: its address, and the region of signatures."""

    url: str
    region: str


class Credentials(NamedTuple):
    """What a call is signed with, with the attributes that botocore's signer reads."""

    access_key: str
    secret_key: str
    token: str | None


def endpoint(service: str) -> Endpoint:
    """Where a service is called. Raises: NotConfigured: there is no region."""
    own = f"AWS_ENDPOINT_URL_{SERVICE_IDS[service]}"
    return _endpoint(service, *map(os.environ.get, (own, *_ENDPOINTS)))


@lru_cache(maxsize=64)
def _endpoint(service: str, own: str | None, *settings: str | None) -> Endpoint:
    known = dict(zip(_ENDPOINTS, settings, strict=True))
    region = known["AWS_REGION"] or known["AWS_DEFAULT_REGION"]
    configured = own or known["AWS_ENDPOINT_URL"]
    if _ignores_configured(known["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"]):
        configured = None
    if region and configured:
        return Endpoint(configured, region)
    is_usual = not any(settings[4:]) and not _has_files()
    if region and _ORDINARY_REGION.fullmatch(region) and is_usual:
        return Endpoint(f"https://{service}.{region}.amazonaws.com", region)
    return _resolved(service, region)


def _ignores_configured(value: str | None) -> bool:
    return (value or "").lower() == "true"


def _has_files() -> bool:
    """Whether there are profiles, of which one may name an endpoint."""
    return any(Path(f"~/.aws/{name}").expanduser().exists() for name in ("config", "credentials"))


def _resolved(service: str, region: str | None) -> Endpoint:
    """What botocore makes of all settings."""
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    config = Config(account_id_endpoint_mode="disabled")
    try:
        with _session_lock:
            meta = _new_session().create_client(service, region_name=region, config=config).meta
    except BotoCoreError as error:
        raise NotConfigured(str(error)) from error
    return Endpoint(meta.endpoint_url, meta.region_name)


def credentials(*, fresh: bool = False) -> Credentials:
    """What the next call is signed with; ``fresh`` if AWS said that the last ones have expired.

    Raises:
        NotConfigured: there are none.
        NotSent: their source did not answer.
    """
    key, secret, token = map(os.environ.get, _KEYS)
    if key and secret and not any(map(os.environ.get, _ROTATING)):
        return Credentials(key, secret, token)
    return _provided(fresh=fresh)


def _provided(*, fresh: bool) -> Credentials:
    """What botocore's providers have; they refresh what is about to expire whenever they are asked."""
    from botocore.exceptions import BotoCoreError, PartialCredentialsError, ProfileNotFound

    try:
        with _session_lock:
            if fresh:
                _session.cache_clear()
            found = _session().get_credentials()
        if found is None:
            raise NotConfigured("Unable to locate credentials")
        return Credentials(*found.get_frozen_credentials()[:3])
    except (PartialCredentialsError, ProfileNotFound) as error:
        raise NotConfigured(str(error)) from error
    except BotoCoreError as error:
        raise NotSent(str(error)) from error


@lru_cache(maxsize=1)
def _session() -> Any:
    """The session whose providers are asked again and again."""
    return _new_session()


def _new_session() -> Any:
    from botocore.session import Session

    return Session()


def authorities() -> str:
    """The file of the authorities that AWS's certificates have to come from."""
    return os.environ.get("AWS_CA_BUNDLE") or os.environ.get("REQUESTS_CA_BUNDLE") or certifi.where()


def proxy_of(url: str) -> str | None:
    """The address of the proxy for an address."""
    return _proxy_of(url, *map(os.environ.get, _PROXIES))


@lru_cache(maxsize=64)
def _proxy_of(url: str, *settings: str | None) -> str | None:
    if not any(settings[:4]):
        return None
    from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

    parts = urlsplit(url)
    bypassed = proxy_bypass_environment(parts.hostname or "")
    return None if bypassed else getproxies_environment().get(parts.scheme)
