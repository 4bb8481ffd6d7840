"""The public page that verifies a signature, for banks' engineers. It stores and logs nothing of what is pasted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chalice.app import Response

from chalicelib.foundation.crypto.public_keys import read_public_keys
from chalicelib.foundation.crypto.signatures import InvalidKey, key_id
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.website.banks.signature_check import OwnedKey, SignatureCheck, check_signature
from chalicelib.website.display_text import retry_advice, sentence
from chalicelib.website.pages import NO_ERRORS, Visit, page
from chalicelib.website.records.attempts import TooManyAttempts, client_network, count_attempt

HUB = "the hub"
_REQUIRED: Mapping[str, str] = {
    "body": "Paste the body of the request.",
    "signature": "Paste the value of X-Signature. A request without this header is not signed.",
}


def signature_form(visit: Visit) -> Response:
    """``GET /verify-signature``: show the form, optionally for the bank ``bic``."""
    return _form_page(visit, _named_bank(visit))


def verify_signature(visit: Visit) -> Response:
    """``POST /verify-signature``: verify the signature, and explain why it is invalid."""
    bank = _named_bank(visit)
    try:
        visit.website.call(count_attempt, [("signatures", client_network(visit.ip_address))])
    except TooManyAttempts as stopped:
        return _form_page(visit, bank, {"": retry_advice(stopped.retry_after)}, 429, retry_after=stopped.retry_after)
    known = _known_keys(visit, bank)
    errors = {name: text for name, text in _REQUIRED.items() if not visit.field(name).strip()}
    try:
        pasted = _pasted_keys(visit.field("key"), known)
    except InvalidKey as error:
        errors["key"] = sentence(str(error))
    if errors:
        return _form_page(visit, bank, errors, 400)
    found = check_signature(visit.field("body"), visit.field("signature"), pasted or known, known)
    return _form_page(visit, bank, found=found)


def _named_bank(visit: Visit) -> Bank | None:
    bic = visit.field("bic").strip().upper()
    return visit.website.openbanking.banks.find(bic) if bic else None


def _known_keys(visit: Visit, bank: Bank | None) -> list[OwnedKey]:
    """Return the public keys of the hub and of the bank."""
    hub = [OwnedKey(key, HUB) for key in visit.website.shared.keyring.public_keys()]
    return hub + ([OwnedKey(key, bank.name) for key in bank.verification_keys] if bank else [])


def _pasted_keys(text: str, known: Sequence[OwnedKey]) -> list[OwnedKey]:
    """Return the pasted keys, with their owners if known. Raises: InvalidKey."""
    if not text.strip():
        return []
    owners = {each.key_id: each.owner for each in known}
    return [OwnedKey(key, owners.get(key_id(key), "")) for key in read_public_keys(text)]


def _form_page(
    visit: Visit,
    bank: Bank | None,
    errors: Mapping[str, str] = NO_ERRORS,
    status: int = 200,
    *,
    found: SignatureCheck | None = None,
    retry_after: int = 0,
) -> Response:
    """Render the form. A key that is unusable, or was not read, is not repeated, because it may be private."""
    given = {name: visit.field(name) if visit.is_post else "" for name in ("body", "signature", "key")}
    given |= {"key": ""} if errors.keys() & {"", "key"} else {}
    return page(
        visit,
        "verify_signature.html",
        status=status,
        retry_after=retry_after,
        bank=bank,
        given=given,
        errors=errors,
        found=found,
    )
