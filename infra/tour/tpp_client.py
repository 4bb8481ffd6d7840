"""The tour's TPP: a client of the Python package that prints each request and response."""

from __future__ import annotations

import json
import os
import ssl
from typing import Any
from urllib.parse import parse_qsl

import httpx

from causeway.tpp import Tpp
from infra.tour.guide import Guide

_REQUEST_HEADERS = ("Idempotency-Key", "Prefer")
_RESPONSE_HEADERS = ("Location", "Preference-Applied")
_FORM = "application/x-www-form-urlencoded"


def new_tpp(base: str, client_id: str, guide: Guide) -> Tpp:
    """A client without a secret on the stack at ``base``. It trusts the authorities of the stack in the environment."""
    printer = _Printer(guide)
    authorities = ssl.create_default_context(cafile=os.environ.get("OUTBOUND_CA_FILE") or None)
    connections = httpx.Client(
        trust_env=False, verify=authorities, event_hooks={"request": [printer.request], "response": [printer.answer]}
    )
    return Tpp(base, client_id=client_id, http_client=connections)


class _Printer:
    """Prints what is sent and what comes back; a body that is repeated is not printed again."""

    def __init__(self, guide: Guide) -> None:
        self._guide = guide
        self._last = b""

    def request(self, request: httpx.Request) -> None:
        is_repeat = bool(request.content) and request.content == self._last
        body = "(the same body)" if is_repeat else _body(request)
        self._last = request.content or self._last
        sent = (*_REQUEST_HEADERS, "Content-Type") if _is_form(request) else _REQUEST_HEADERS
        self._guide.request("TPP", request.method, str(request.url), body, _select_headers(request.headers, sent))

    def answer(self, response: httpx.Response) -> None:
        timing = response.headers.get("Server-Timing", "")
        body = json.loads(response.read())
        self._guide.answer(response.status_code, body, timing, _select_headers(response.headers, _RESPONSE_HEADERS))


def _body(request: httpx.Request) -> Any:
    """A body as JSON, also that of a form; ``None`` without one."""
    if not request.content:
        return None
    return dict(parse_qsl(request.content.decode())) if _is_form(request) else json.loads(request.content)


def _is_form(request: httpx.Request) -> bool:
    return bool(request.headers.get("Content-Type") == _FORM)


def _select_headers(headers: httpx.Headers, names: tuple[str, ...]) -> dict[str, str]:
    return {name: headers[name] for name in names if name in headers}
