"""The calls that the web interface makes for a user, as body, curl command, Python program and response.

The programs use ``causeway.tpp`` and read secrets that only the user has from environment variables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from chalicelib.foundation import jsontext
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.client_record import Client
from chalicelib.website.records.journeys import Journey

_TOKEN, _REVOKE = "/tpp/token", "/tpp/token/revoke"
_LINE = 88


@dataclass(frozen=True, slots=True)
class SampleCall:
    """An API call that the web interface makes during an authorization, displayed as sample code.

    Attributes:
        name: an identifier within the page; ``title`` is its heading.
        address: the URL; the method is POST.
        body: the body's members.
        programs: the call as sample code, by programming language.
        answer: the members of the stored response, if there is one.
    """

    name: str
    title: str
    address: str
    body: Mapping[str, Any]
    programs: Mapping[str, str]
    answer: Mapping[str, Any] | None = None


def authorize_programs(base: str, client: Client, body: Mapping[str, Any]) -> Mapping[str, str]:
    """``POST /tpp/authorize`` as curl and Python. Python creates a new code verifier if the body has a challenge."""
    members = {name: value for name, value in body.items() if not name.startswith("code_challenge")}
    arguments = [f"{name}={_literal(value)}" for name, value in members.items()]
    is_protected = "code_challenge" in body
    before = ["verifier = new_code_verifier()"] if is_protected else []
    arguments += ["code_verifier=verifier"] if is_protected else []
    lines = [*before, f"asked = {_call('tpp.authorize', arguments)}", "print(asked.redirect_url)"]
    names = ("Tpp", "new_code_verifier") if is_protected else ("Tpp",)
    return {
        "curl": curl_command(base, "/tpp/authorize", client, body),
        "Python": _python_program(base, client, lines, names),
    }


def exchange_call(base: str, client: Client, journey: Journey, secrets: Mapping[str, str]) -> SampleCall:
    """The exchange of a journey's code, with its stored response, if any."""
    body = {"authorization_code": secrets["code"], "redirect_uri": journey.callback_url}
    if "code_verifier" in secrets:
        body["code_verifier"] = secrets["code_verifier"]
    code, *others = body.items()
    arguments = [_literal(code[1]), *(f"{name}={_literal(value)}" for name, value in others)]
    lines = [f"consent = {_call('tpp.redeem', arguments)}", "print(consent.tokens.to_json())"]
    answer = _read_answer(secrets.get("exchange_answer"))
    return _sample("exchange", "Token request", base, _TOKEN, client, body, lines, answer)


def latest_refresh_call(base: str, client: Client, secrets: Mapping[str, str]) -> SampleCall | None:
    """The latest token refresh with its response, or ``None`` if no token refresh is stored."""
    if "refreshed_token" not in secrets:
        return None
    answer = _read_answer(secrets["refresh_answer"])
    return _refresh_call("refreshed", "Latest refresh", base, client, secrets["refreshed_token"], answer)


def next_refresh_call(base: str, client: Client, secrets: Mapping[str, str]) -> SampleCall:
    """The token refresh that the page's button makes."""
    return _refresh_call("refresh", "Refresh the tokens", base, client, secrets["refresh_token"], None)


def revoke_call(base: str, client: Client, secrets: Mapping[str, str], *, is_done: bool) -> SampleCall:
    """The call that ends the consent. Its response is always an empty object (RFC 7009)."""
    token = secrets["refresh_token"]
    lines = [_call("tpp.revoke", [_literal(token)])]
    answer: Mapping[str, Any] | None = {} if is_done else None
    return _sample("revoke", "End the consent", base, _REVOKE, client, {"token": token}, lines, answer)


def curl_command(base: str, path: str, client: Client, body: object) -> str:
    """A POST request as a curl command, with the values of the body quoted for the shell."""
    quoted = json.dumps(body, indent=2).replace("'", "'\\''")
    return (
        f"curl -s {base}{path} \\\n"
        f"  {_curl_credentials(client)} \\\n"
        f"  -H 'Content-Type: application/json' \\\n"
        f"  -d '{quoted}'"
    )


def _refresh_call(
    name: str, title: str, base: str, client: Client, token: str, answer: Mapping[str, Any] | None
) -> SampleCall:
    lines = [f"answer = {_call('tpp.exchange', [f'refresh_token={_literal(token)}'])}", "print(answer)"]
    return _sample(name, title, base, _TOKEN, client, {"refresh_token": token}, lines, answer)


def _sample(
    name: str,
    title: str,
    base: str,
    path: str,
    client: Client,
    body: Mapping[str, Any],
    lines: list[str],
    answer: Mapping[str, Any] | None,
) -> SampleCall:
    programs = {"curl": curl_command(base, path, client, body), "Python": _python_program(base, client, lines)}
    return SampleCall(name, title, f"{base}{path}", body, programs, answer)


def _read_answer(stored: str | None) -> Mapping[str, Any] | None:
    """Parse a stored response. Journeys of earlier versions have none."""
    answer: Mapping[str, Any] | None = jsontext.loads(stored) if stored else None
    return answer


def _curl_credentials(client: Client) -> str:
    """The curl options that authenticate the client."""
    if client.security.auth_method == "private_key_jwt":
        return '-H "X-Client-Assertion: $CLIENT_ASSERTION"'
    return f'-u "{client.client_id}:$CLIENT_SECRET"' if client.has_secret else f"-H 'X-Api-Key: {client.client_id}'"


def _python_program(base: str, client: Client, lines: list[str], names: tuple[str, ...] = ("Tpp",)) -> str:
    """Return a program that creates a client and runs ``lines``."""
    arguments = [_literal(base), f"client_id={_literal(client.client_id)}"]
    before: list[str] = []
    after: list[str] = []
    if client.security.auth_method == "private_key_jwt":
        after = ["from causeway.tpp.crypto import PrivateKeyJwt"]
        arguments.append('assertion=PrivateKeyJwt.load("client-key.json")')
    elif client.has_secret:
        before = ["import os", ""]
        arguments.append('client_secret=os.environ["CLIENT_SECRET"]')
    imports = [*before, f"from causeway.tpp import {', '.join(names)}", *after, ""]
    head = [*imports, f"tpp = {_call('Tpp', arguments)}"]
    return "\n".join([*head, *lines])


def _call(name: str, arguments: list[str]) -> str:
    """Format a call on one line or, if that is too long, with one argument per line."""
    line = f"{name}({', '.join(arguments)})"
    return line if len(line) <= _LINE else "\n".join([f"{name}(", *(f"    {each}," for each in arguments), ")"])


def _literal(value: object) -> str:
    """Format a text or a list of texts as a Python literal."""
    return json.dumps(value, ensure_ascii=False)
