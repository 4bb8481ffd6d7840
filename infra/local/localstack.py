"""LocalStack: where its client looks for it, and whether it is what listens there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

from infra.local.dynamodb_local import EngineFailed

HEALTH = "/_localstack/health"
SERVICES = ("cloudformation", "dynamodb", "kms", "secretsmanager", "sqs")
"""What the stack needs of it."""

_SECONDS = 5
_ABSENT = ("disabled", "error")


def address() -> str:
    """LocalStack's address on this machine, as its client knows it."""
    from localstack_client import config

    return str(config.get_service_endpoint("dynamodb"))


def check(url: str, dynamodb_apart: bool = False) -> None:
    """Ask what listens at ``url`` for LocalStack's health document.

    Raises:
        EngineFailed: nobody answers, it is not LocalStack, or a service that the stack needs is not there.
    """
    services = _services(url)
    needed = [name for name in SERVICES if not (dynamodb_apart and name == "dynamodb")]
    missing = [name for name in needed if services.get(name, _ABSENT[0]) in _ABSENT]
    if missing:
        raise EngineFailed(
            f"LocalStack at {url} runs without {', '.join(missing)}: its variable SERVICES must name "
            f"{','.join(needed)}, or be empty"
        )


def _services(url: str) -> Mapping[str, Any]:
    try:
        with build_opener(ProxyHandler({})).open(f"{url.rstrip('/')}{HEALTH}", timeout=_SECONDS) as answer:
            document = json.load(answer)
    except (HTTPError, ValueError):
        document = None
    except OSError:
        raise EngineFailed(f"nothing answers at {url} (LOCALSTACK=1): is LocalStack running?") from None
    services = document.get("services") if isinstance(document, dict) else None
    if not isinstance(services, dict):
        raise EngineFailed(
            f"what answers at {url} (LOCALSTACK=1) is not LocalStack: it has no health document {HEALTH}"
        )
    return services
