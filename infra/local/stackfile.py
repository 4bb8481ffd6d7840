"""``.local/stack.json``: the description of a running stack for other tools.

The file contains a password and credentials, so only its owner can read it. Its members:

``id``              the id of the stack; responses of ``/health`` contain it in the header ``X-Causeway-Stack``
``pid``             the stack's process id
``data``            the folder of the engine's data; missing if an external endpoint stores all data
``engine``          ``emulator``, ``dynamodb-local``, ``localstack`` or ``endpoint``
``dynamodb_engine`` ``dynamodb-local`` or ``endpoint`` if DynamoDB has a separate engine, otherwise ``null``
``base_url``        the URL of the service
``ca_file``         the certificate of the development CA, in PEM; missing if the service does not use TLS
``user``            ``email`` and ``password`` of the seeded user
``client``          ``client_id``, ``client_secret`` (``null`` if the client has no secret), ``title`` and
``callback_url``
``banks``           a list of ``bic``, ``name``, ``api_version``, ``domain`` and ``authorization_url``
``fault_banks``     the banks that simulate faults, in the format of ``banks``
``programme``       the programme manager of the card API: ``manager_id``, ``name``, and ``credentials`` by name
                    (``full``, ``support``, ``encrypted``), each with ``access_key``, ``access_api_id`` and
                    ``access_api_key``
``other_programme`` a second programme manager, in the format of ``programme``, with the credential ``other``
``first_data``      the state of the initial data (see ``first_data``); ``null`` if the stack has no initial data
``log``             the file with the service's complete log (see ``logfile``)
``mails``           the folder that the service writes its emails to
``operator_key``    the key with which ``POST /sandbox/clock`` moves business time forward
``environment``     the variables with which another process can use this stack: endpoints, region, stage
"""

from __future__ import annotations

import json
import os
import ssl
import tempfile
from collections.abc import Mapping, MutableMapping
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

from infra.repository import ROOT

VARIABLE = "CAUSEWAY_STACK_FILE"
HEADER = "X-Causeway-Stack"
"""The header of the response from ``/health`` that contains the id of a local stack."""
CREDENTIALS = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN")
"""Variables that would combine credentials of a real AWS account with a stack's fake credentials."""
SETTINGS = (
    *(
        "PUBLIC_URL",
        "BANK_API_URL",
        "MTLS_URL",
        "TPP_CA_BUNDLE",
        "BANK_CA_BUNDLE",
        "OUTBOUND_CA_FILE",
        "RESOURCE_PREFIX",
    ),
    *("KMS_KEY_ID", "KEYS_SECRET", "CARD_KEYS_SECRET", "DEMO_BANKS_SECRET"),
)
"""Settings that other processes must share with the stack."""
_SERVER = "Causeway"
_SECONDS = 30
"""Maximum time to wait for the response of a running stack. A busy machine responds slowly."""


def location(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the stack's file: ``CAUSEWAY_STACK_FILE``, by default ``.local/stack.json`` in the
    repository.
    """
    return Path(environ.get(VARIABLE) or ROOT / ".local" / "stack.json")


def read(path: Path | None = None) -> dict[str, Any] | None:
    """Return the content of the stack's file, even if the stack has ended. Return ``None`` if the file is missing or
    invalid.
    """
    try:
        content = json.loads((path or location()).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def find_running(path: Path | None = None) -> dict[str, Any] | None:
    """Return the content of the stack's file if the stack responds, otherwise ``None``. The process id is not checked,
    because a different program may use it.
    """
    content = read(path)
    return content if content and _answers(content) else None


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically. Only its owner can read the file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).replace(path)


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write the stack's file."""
    write_private(path, json.dumps(content, indent=2) + "\n")


def remove_own(path: Path, stack_id: str) -> None:
    """Remove the stack's file when the stack ends, unless the file belongs to a different stack."""
    content = read(path)
    if content and content.get("id") == stack_id:
        path.unlink(missing_ok=True)


def point_at_stack(environ: MutableMapping[str, str], variables: Mapping[str, str]) -> None:
    """Update ``environ`` to use the stack described by ``variables``. Other AWS variables and settings in ``environ``
    are removed.
    """
    own = CREDENTIALS if "AWS_ACCESS_KEY_ID" in variables else ()
    for name in (*endpoints(environ), *SETTINGS, *own, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"):
        environ.pop(name, None)
    environ.update(variables)


def endpoints(environ: Mapping[str, str]) -> list[str]:
    """Return the names of the variables that set boto3 endpoints."""
    return [name for name in environ if name.startswith("AWS_ENDPOINT_URL")]


def display_path(path: Path) -> str:
    """Return a path relative to the repository if the path is inside the repository."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def _answers(content: Mapping[str, Any]) -> bool:
    """Return whether the server at the stack's port is the stack that the file describes. Stacks of earlier versions
    have no id.
    """
    variables = content.get("environment")
    port = variables.get("PORT") if isinstance(variables, dict) else None
    if not port:
        return False
    ca_file = content.get("ca_file")
    scheme = "https" if ca_file else "http"
    try:
        tls = [HTTPSHandler(context=ssl.create_default_context(cafile=ca_file))] if ca_file else []
        opener = build_opener(ProxyHandler({}), *tls)
        with opener.open(f"{scheme}://127.0.0.1:{port}/health", timeout=_SECONDS) as answer:
            headers = answer.headers
    except HTTPError as error:
        headers = error.headers
    except (OSError, ValueError, HTTPException):
        return False
    return bool(headers.get("Server") == _SERVER and headers.get(HEADER) == content.get("id"))
