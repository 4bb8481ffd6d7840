"""Tests a bank with one signed request."""

from __future__ import annotations

import socket
from typing import Any
from urllib.parse import urlsplit

import certifi

from chalicelib.bootstrap import Hub
from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.http.deadline_connections import CONNECT_SECONDS, tls_context
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.identifiers import digest, new_uuid
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.webhooks import AnswerForm
from chalicelib.openbanking.records.bank_record import Bank
from infra.admin.output import to_printable

_SHOWN = 16
_LONGEST = 200


def probe(hub: Hub, bank: Bank) -> dict[str, Any]:
    """Request the accounts from a bank without a consent.

    Return details of the request and the response: ``reachable``, ``accepted`` (the bank did not reject the API key or
    the signature), ``api_key_fingerprint`` (the first digits of the key's SHA-256), ``signed_with`` and ``public_keys``
    (key ids), ``certificate_subject`` (of the bank's TLS certificate), ``milliseconds``, ``status`` and ``answer``.
    """
    key = hub.openbanking.banks.outbound_key(bank)
    path = bank.version.relayed["accounts"].path
    outcome: dict[str, Any] = {
        "bic": bank.bic,
        "reachable": False,
        "accepted": False,
        "url": f"{bank.domain}{path}",
        "api_key_fingerprint": digest(key)[:_SHOWN],
        "signed_with": signatures.key_id(hub.keyring.signing_key().public_key()),
        "public_keys": [signatures.key_id(public) for public in reversed(bank.verification_keys)],
        "certificate_subject": None,
        "milliseconds": None,
        "status": None,
    }
    outgoing = hub.openbanking.bank_client.prepare(bank, path, {}, request_id=new_uuid(), token=None)
    try:
        reply = hub.openbanking.bank_client.send(outgoing)
    except Refusal as refusal:
        return outcome | {"answer": refusal.details[0].details if refusal.details else refusal.message}
    reachable, code, answer = _classify_answer(bank.version.answers, reply)
    return outcome | {
        "reachable": reachable,
        "accepted": reachable and code not in bank.version.answers.unknown_service,
        "certificate_subject": certificate_subject(bank.domain, hub.settings.outbound_ca_file),
        "milliseconds": round(reply.seconds * 1000, 1),
        "status": reply.status,
        "answer": answer,
    }


def _classify_answer(form: AnswerForm, reply: Reply) -> tuple[bool, str | None, str]:
    """Return whether a response has the format of the bank's API version, and its error code and message."""
    try:
        body = jsontext.loads(reply.body)
    except jsontext.InvalidJson:
        return False, None, "not valid JSON"
    if not isinstance(body, dict):
        return False, None, "not a JSON object"
    if form.code in body and form.text in body:
        return True, str(body[form.code]), to_printable(f"{body[form.code]}: {body[form.text]}")[:_LONGEST]
    good = 200 <= reply.status < 300 and (not form.says_status or body.get("status") == "success")
    return good, None, "success" if good else "neither a success nor an error response of the protocol"


def certificate_subject(url: str, ca_file: str | None = None) -> str | None:
    """Return the subject of the TLS certificate of an https address. ``ca_file`` or a public authority must have issued
    it.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        return None
    context = tls_context(ca_file or certifi.where())
    try:
        with (
            socket.create_connection((parts.hostname, parts.port or 443), CONNECT_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=parts.hostname) as secured,
        ):
            certificate: Any = secured.getpeercert() or {}
    except OSError:
        return None
    return ", ".join(f"{name}={value}" for entry in certificate.get("subject", ()) for name, value in entry) or None
