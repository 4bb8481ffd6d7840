"""The link to a bank: one webhook sent, signed, and its answer understood (specification, Events, Errors).

Whatever a bank does wrong becomes one kind of refusal that carries the bank's own code and message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.foundation import jsontext, log
from chalicelib.foundation.fields import InvalidMessage
from chalicelib.foundation.keyring import Keyring
from chalicelib.foundation.outbound import Outbound, OutboundError, Reply
from chalicelib.foundation.signatures import sign
from chalicelib.openbanking.bank_record import Bank
from chalicelib.openbanking.banks import Banks
from chalicelib.openbanking.protocol.errors import Detail, Fault, Refusal
from chalicelib.openbanking.protocol.scopes import Version
from chalicelib.openbanking.protocol.webhooks import Webhook

_TEXT = 510
_TOKEN_REFUSED = {"4201", "4202", "AUTHENTICATION_REQUIRED"}
_CAMEL_TO_SNAKE: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class BankAnswer:
    """A bank's good answer, as the bank wrote it, and how long the bank took, in seconds."""

    body: dict[str, Any]
    seconds: float


@dataclass(frozen=True, slots=True)
class BankLink:
    """Sends webhooks to banks."""

    banks: Banks
    keyring: Keyring
    outbound: Outbound

    def call(
        self,
        bank: Bank,
        version: Version,
        webhook: Webhook,
        request: Mapping[str, Any],
        *,
        request_id: str,
        token: str | None,
        psu_address: str | None = None,
    ) -> BankAnswer:
        """Send ``webhook`` and hold the answer against its model.

        ``version`` is the consent's: a bank that has moved on answers old consents in their own version.

        Raises:
            Refusal: ``BANK_FAILED``.
        """
        reply = self.send(bank, webhook.path, request, request_id=request_id, token=token, psu_address=psu_address)
        try:
            answer = webhook.shape(understand(version, reply))
            _check(webhook, answer)
        except Refusal as refusal:
            raise self.without_secrets(refusal, bank, token) from None
        return BankAnswer(answer, reply.seconds)

    def without_secrets(self, refusal: Refusal, bank: Bank, token: str | None) -> Refusal:
        """A refusal whose details do not repeat what the bank was sent to recognise us or the PSU by.

        They are cut only then: half a secret would not be recognised.
        """
        sent = [secret for key in (token, self.banks.outbound_key(bank)) if key for secret in (key, key.split(".")[-1])]
        details = []
        for detail in refusal.details:
            text = detail.details
            for secret in sent:
                text = text.replace(secret, "***")
            details.append(Detail(detail.fault, text[:_TEXT]))
        return Refusal(refusal.fault, refusal.message, details)

    def send(
        self,
        bank: Bank,
        path: str,
        request: Mapping[str, Any],
        *,
        request_id: str,
        token: str | None,
        psu_address: str | None = None,
    ) -> Reply:
        """Sign and post one request; a refused or dropped connection is tried once more. Raises: Refusal."""
        body = jsontext.dumps(request).encode()
        headers = {
            "Content-Type": "application/json",
            "X-Api-Key": self.banks.outbound_key(bank),
            "X-Request-Id": request_id,
            "X-Signature": sign(self.keyring.signing_key(), body),
        }
        headers |= {"X-Auth-Token": token} if token else {}
        headers |= {"PSU-IP-Address": psu_address} if psu_address else {}
        try:
            return self.outbound.post(f"{bank.domain}{path}", body, headers, repeat=True)
        except OutboundError as error:
            raise bank_failed(str(error)) from error


def bank_failed(reason: str, code: str | None = None, *, authorize_again: bool = False) -> Refusal:
    """The refusal for a bank that failed; ``reason`` and ``code`` are the bank's, freed of control signs."""
    message = "the request to the bank failed"
    if authorize_again:
        message += ": the bank does not accept the PSU's token any more, the PSU must authorize again"
    details = f"{_printable(code)}: {_printable(reason)}" if code else _printable(reason)
    return Refusal(Fault.BANK_FAILED, message, [Detail(Fault.BANK_FAILED, details)])


def understand(version: Version, reply: Reply) -> dict[str, Any]:
    """The members of a good answer: version 1 without its ``status``, version 2 in snake_case. Raises: Refusal."""
    try:
        answer = jsontext.loads(reply.body)
    except jsontext.InvalidJson:
        raise _nonsense(reply, "no valid JSON") from None
    if not isinstance(answer, dict):
        raise _nonsense(reply, "no JSON object")
    good = 200 <= reply.status < 300
    if version == 1:
        return _version_1(answer, reply.status, good)
    if not good or ("code" in answer and "title" in answer):
        raise _bank_error(answer, reply.status, "code", "title")
    return {in_snake_case(name): _snake(value) for name, value in answer.items()}


def _nonsense(reply: Reply, what: str) -> Refusal:
    return bank_failed(f"the bank answered with status {reply.status} and {what}", authorize_again=reply.status == 401)


def _version_1(answer: dict[str, Any], status: int, good: bool) -> dict[str, Any]:
    if not good or answer.get("status") == "error":
        raise _bank_error(answer, status, "error_code", "message")
    if answer.get("status") != "success":
        raise bank_failed("the bank's answer has no status")
    return {name: value for name, value in answer.items() if name != "status"}


def _bank_error(answer: dict[str, Any], status: int, code_member: str, text_member: str) -> Refusal:
    code, text = answer.get(code_member), answer.get(text_member)
    again = str(code) in _TOKEN_REFUSED if code else status == 401
    return bank_failed(
        str(text) if text else f"the bank answered with status {status}",
        str(code) if code else None,
        authorize_again=again,
    )


def _check(webhook: Webhook, answer: dict[str, Any]) -> None:
    """Refuse an answer whose mandatory members are missing or mistyped; what else is odd is logged and passes."""
    try:
        webhook.answer.read(answer)
    except InvalidMessage as error:
        fatal = [problem for problem in error.problems if problem.mandatory and problem.kind in ("missing", "type")]
        if fatal:
            raise bank_failed(f"the bank's answer is not of its form: {'; '.join(map(str, fatal))}") from None
        log.warning("odd bank answer", webhook=webhook.path, problems=[str(problem) for problem in error.problems])


def in_snake_case(name: str) -> str:
    """``resourceId`` as ``resource_id``; names that are not camelCase stay."""
    known = _CAMEL_TO_SNAKE.get(name)
    if known is None:
        known = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
        known = known if name[:1].islower() else name
        if len(_CAMEL_TO_SNAKE) < 4096:
            _CAMEL_TO_SNAKE[name] = known
    return known


def _snake(value: Any) -> Any:
    if isinstance(value, dict):
        return {in_snake_case(name): _snake(inner) for name, inner in value.items()}
    return [_snake(inner) for inner in value] if isinstance(value, list) else value


def _printable(text: str | None) -> str:
    return "".join(character if character.isprintable() else " " for character in text or "")
