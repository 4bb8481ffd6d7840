"""Settings of AWS calls: region, endpoints, credentials, certification authorities and proxies.

This module reads the usual environment variables. botocore, imported when needed, finds all other settings: profiles,
SSO, roles, other partitions, FIPS, dual stack.
"""

from __future__ import annotations

import os
import re
import threading
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import certifi

from chalicelib.foundation.aws.errors import NotConfigured, NotSent
from chalicelib.foundation.aws.services import SERVICES
from chalicelib.foundation.http.addresses import has_web_scheme

_ORDINARY_REGION = re.compile(r"(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-[0-9]+")
"""Names of regions in AWS's default partition."""
_UNSIGNABLE = re.compile(r"//|/\.\.?(/|$)")
"""URL path segments that AWS normalises before it computes a signature."""
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_IGNORES_ENDPOINTS = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
_LEFT_TO_BOTOCORE = (
    *("AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_PROFILE", "AWS_DEFAULT_PROFILE"),
    *("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"),
)
"""Environment variables that change endpoints. Only botocore can interpret them."""
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_CONTAINER = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI")
_PROXIES = ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")
_botocore_lock = threading.RLock()


class Endpoint(NamedTuple):
    """The endpoint of a service: its URL, which ends with a slash, and the region for signatures."""

    url: str
    region: str


class Credentials(NamedTuple):
    """The keys that sign a call."""

    access_key: str
    secret_key: str
    token: str | None

    def __repr__(self) -> str:
        return "Credentials(…)"


def endpoint(service: str) -> Endpoint:
    """Return the endpoint of a service. Raises: NotConfigured: the region is missing, or the address is invalid."""
    read = os.environ.get
    configured = read(SERVICES[service].endpoint_variable) or read("AWS_ENDPOINT_URL")
    return _endpoint(service, region(), configured, read(_IGNORES_ENDPOINTS), tuple(map(read, _LEFT_TO_BOTOCORE)))


def region() -> str | None:
    """Return the region of this process's calls, or ``None`` if the environment does not set a region."""
    return next(filter(None, map(os.environ.get, _REGIONS)), None)


@lru_cache(maxsize=64)
def _endpoint(
    service: str, region: str | None, configured: str | None, ignored: str | None, left: tuple[str | None, ...]
) -> Endpoint:
    if region is None or any(left) or _has_profiles():
        return _endpoint_of_botocore(service, region, configured, ignored, left)
    if configured and (ignored or "").lower() != "true":
        if not _is_endpoint(configured):
            names = f"{SERVICES[service].endpoint_variable} or AWS_ENDPOINT_URL"
            raise NotConfigured(f"{names} must be an http:// or https:// address without port 0, // and .. in its path")
        return Endpoint(configured.rstrip("/") + "/", region)
    if _ORDINARY_REGION.fullmatch(region):
        return Endpoint(f"https://{service}.{region}.amazonaws.com/", region)
    return _endpoint_of_botocore(service, region, configured, ignored, left)


def _is_endpoint(url: str) -> bool:
    """Whether an address is usable: its port is not 0, and its path needs no encoding in signatures."""
    try:
        parts = urlsplit(url)
        return has_web_scheme(url) and parts.port != 0 and not _UNSIGNABLE.search(parts.path)
    except ValueError:
        return False


def _has_profiles() -> bool:
    """Whether AWS profiles exist, which may set an endpoint."""
    home = os.path.expanduser("~")  # noqa: PTH111 - without a home folder, pathlib raises an error
    return any(os.path.exists(f"{home}/.aws/{name}") for name in ("config", "credentials"))  # noqa: PTH110


def _endpoint_of_botocore(service: str, region: str | None, *settings: Any) -> Endpoint:
    with _botocore_lock:
        return _asked_of_botocore(service, region, *settings)


@lru_cache(maxsize=64)
def _asked_of_botocore(service: str, region: str | None, *_settings: Any) -> Endpoint:
    """Return the endpoint that botocore determines. The function prepares a request and does not send it."""
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, NoRegionError

    asked: list[str] = []

    def stop(request: Any, **_: Any) -> None:
        asked.append(request.url)
        raise _StoppedError

    config = Config(account_id_endpoint_mode="disabled", retries={"mode": "standard", "total_max_attempts": 1})
    options: dict[str, Any] = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "config": config}
    try:
        client = _new_session().create_client(service, region_name=region, **options)
        client.meta.events.register_first("before-send", stop)
        with suppress(_StoppedError):
            getattr(client, SERVICES[service].list_method)()
    except NoRegionError as error:
        raise NotConfigured(f"You must specify a region ({' or '.join(_REGIONS)})") from error
    except (BotoCoreError, ValueError) as error:
        raise NotConfigured(str(error)) from error
    return Endpoint(asked[0], client.meta.region_name)


class _StoppedError(Exception):
    """Raised to stop a prepared request before it is sent."""


def credentials(*, instead_of: Credentials | None = None) -> Credentials:
    """Return the credentials of the next call, excluding the expired credentials in ``instead_of``.

    Raises:
        NotConfigured: no credentials exist, or AWS refuses them.
        NotSent: the source did not respond before the deadline of the request.
    """
    key, secret, token = map(os.environ.get, _KEYS)
    given = Credentials(key, secret, token) if key and secret else None
    if given is None or any(map(os.environ.get, _CONTAINER)):
        given = _ask_providers_in_time(instead_of) or given
    if given is None:
        raise NotConfigured(f"Unable to locate credentials ({' and '.join(_KEYS[:2])}, or a profile)")
    if not all(part.isprintable() for part in given if part):
        raise NotConfigured("the credentials contain control characters")
    return given


def _ask_providers_in_time(instead_of: Credentials | None) -> Credentials | None:
    if instead_of is None and not _must_ask():
        return _ask_providers(None)
    from chalicelib.foundation.parallel import in_time

    try:
        return in_time(partial(_ask_providers, instead_of))
    except TimeoutError:
        raise NotSent("the credentials' source did not answer within the time limit of the request") from None


def _ask_providers(instead_of: Credentials | None) -> Credentials | None:
    """Return the credentials of botocore's providers, which refresh expiring credentials on each read."""
    from botocore.exceptions import BotoCoreError, ClientError, PartialCredentialsError, ProfileNotFound

    try:
        found = _read_credentials()
        if found is not None and found == instead_of:
            with _botocore_lock:
                if _read_credentials() == instead_of:  # another thread may have got new ones
                    _source.cache_clear()
            found = _read_credentials()
    except (PartialCredentialsError, ProfileNotFound) as error:
        raise NotConfigured(str(error)) from error
    except ClientError as error:
        raise NotConfigured(f"the credentials' source refuses them: {error.response['Error']['Code']}") from None
    except (BotoCoreError, RuntimeError) as error:
        raise NotSent(str(error)) from error
    return found


def _read_credentials() -> Credentials | None:
    with _botocore_lock:
        found = _source()
        if found is None:
            _source.cache_clear()  # there may be some later
    return None if found is None else Credentials(*found.get_frozen_credentials()[:3])


def _must_ask() -> bool:
    if not _source.cache_info().currsize:
        return True
    needs_refresh = getattr(_source(), "refresh_needed", None)
    return needs_refresh is not None and bool(needs_refresh())


@lru_cache(maxsize=1)
def _source() -> Any:
    """Return botocore's self-refreshing credentials. Container credentials take precedence over the access keys in
    environment variables.
    """
    session = _new_session()
    if any(map(os.environ.get, _CONTAINER)):
        session.get_component("credential_provider").remove("env")
    return session.get_credentials()


def _new_session() -> Any:
    from botocore.session import Session

    return Session()


def authorities() -> str:
    """Return the path of the CA bundle for AWS's certificates. Raises: NotConfigured: the file does not exist."""
    for variable in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        if file := os.environ.get(variable):
            if not os.path.exists(file):  # noqa: PTH110 - once a call
                raise NotConfigured(f"{variable} names a file that does not exist: {file}")
            return file
    return certifi.where()


def proxy_of(url: str) -> str | None:
    """Return the proxy for an address. Raises: NotConfigured: the proxy requires TLS."""
    return _proxy_of(url, *map(os.environ.get, _PROXIES))


@lru_cache(maxsize=64)
def _proxy_of(url: str, *settings: str | None) -> str | None:
    if not any(settings[:2]) or not url.startswith("https:"):
        return None
    from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

    if proxy_bypass_environment(urlsplit(url).netloc):
        return None
    proxy: str = getproxies_environment()["https"]
    if "://" not in proxy:
        return f"http://{proxy}"
    if not proxy.startswith("http://"):
        raise NotConfigured("HTTPS_PROXY must begin with http://")
    return proxy
