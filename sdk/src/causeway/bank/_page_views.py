"""The pages of a bank: consent, payment confirmation, and list of consents."""

from __future__ import annotations

import logging
import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from causeway import _waiting
from causeway.bank import pages
from causeway.bank._body import read_body
from causeway.bank._consents import Consents
from causeway.bank._functions import Functions
from causeway.bank._payments import Payments, payment_of
from causeway.bank.calls import Call, account_id, identifiers
from causeway.bank.hub import HubClient
from causeway.bank.pages import Choice, Page
from causeway.bank.refusals import Refused
from causeway.bank.storage import Storage, Values
from causeway.errors import CausewayError, ConfigurationError, HubError

if TYPE_CHECKING:
    from causeway.bank.accounts import Account

log = logging.getLogger("causeway")
REQUEST_SECONDS = 1800.0
"""Number of seconds in which a PSU can decide on a consent, until the hub's request expires."""
FORM_BYTES = 100_000
Form = Mapping[str, Sequence[str]]
YES, NO = ("yes", "Yes"), ("no", "No")
OVER = "There is nothing to decide."
ALREADY = "This was decided already."


@dataclass(frozen=True, slots=True)
class PageViews:
    """Renders pages and processes decisions. Each page can be used only by the signed-in PSU for whom it was
    created.
    """

    name: str
    base_url: str
    consent_path: str
    template: str
    storage: Storage
    functions: Functions
    consents: Consents
    payments: Payments
    hub: HubClient

    # -- addresses

    async def arrive(self, request: Request) -> Response:
        """Render the consent page when a TPP redirects a PSU to the bank's Authorization URL."""
        psu = await self._psu(request)
        if isinstance(psu, Response):
            return psu
        url = f"{self.base_url}{self.consent_path}?{request.url.query}"
        try:
            asked = await self.hub.init_authorization(url)
        except CausewayError as error:
            return await self._show_failure(request, "init_authorization", error)
        value = {
            "kind": "consent",
            "psu": psu,
            "request_url": url,
            "tpp_name": asked.tpp_name,
            "scopes": list(asked.scopes),
            "cancel_url": asked.cancel_url,
            "request_id": str(uuid.uuid4()),
            "decision": "",
            "identifiers": {},
        }
        return await self._show(request, await self._new_page(value, REQUEST_SECONDS), value)

    async def list_consents(self, request: Request) -> Response:
        """Render the page of the signed-in PSU's consents."""
        psu = await self._psu(request)
        if isinstance(psu, Response):
            return psu
        value = {"kind": "end", "psu": psu}
        return await self._show(request, await self._new_page(value, REQUEST_SECONDS), value)

    async def decide(self, request: Request) -> Response:
        """Render the page with the secret in the URL, or process the PSU's decision on this page.

        A TPP knows the confirmation URL of a payment, and could send a forged form to this URL. The URL therefore only
        renders a page, whose form contains a new secret.
        """
        secret = request.path_params["secret"]
        value = await self.storage.get("page", secret)
        psu = await self._psu(request) if value else ""
        if isinstance(psu, Response):
            return psu
        if value is None or not await self._is_for(value, psu):
            return await self._message(request, OVER, 404)
        if "psu" not in value:
            value = {**value, "psu": psu}
            return await self._show(request, await self._new_page(value, REQUEST_SECONDS), value)
        if request.method != "POST":
            return await self._show(request, secret, value)
        form = _read_form(await read_body(request, FORM_BYTES))
        decision = form.get("decision", [""])[0]
        match value["kind"]:
            case "consent":
                return await self._decide_consent(request, secret, value, form, decision)
            case "payment":
                return await self._decide_payment(request, secret, value, form, decision)
        return await self._end_consents(psu, decision)

    # -- decisions

    async def _decide_consent(
        self, request: Request, secret: str, value: Values, form: Form, decision: str
    ) -> Response:
        if decision not in ("yes", "no"):
            return await self._show(request, secret, value, 400)
        if not value["decision"]:
            chosen = await self._chosen(value["psu"], form) if decision == "yes" else []
            if decision == "yes" and not chosen:
                return await self._show(request, secret, value, 400)
            decided = {**value, "decision": decision, "identifiers": _identifiers(chosen)}
            await self.storage.replace("page", secret, value, decided)
            value = await self.storage.get("page", secret) or decided
        if value["decision"] != decision:
            return await self._message(request, ALREADY, 409)
        if decision == "no":
            return RedirectResponse(value["cancel_url"], 303)
        return await self._save(request, value)

    async def _save(self, request: Request, value: Values) -> Response:
        """Save a consent at the hub. A retry gets the same response."""
        try:
            saved = await self.hub.consent(
                request_url=value["request_url"],
                scopes=value["scopes"],
                request_id=value["request_id"],
                **value["identifiers"],
            )
        except CausewayError as error:
            return await self._show_failure(request, "consent", error)
        await self.consents.save(value, saved, value["identifiers"])
        return RedirectResponse(saved.callback_url, 303)

    async def _chosen(self, psu: str, form: Form) -> list[Account]:
        """Return the accounts that the PSU approves: the only account, or the selected accounts."""
        accounts = await self._accounts(psu)
        checked = form.get("account", ())
        return accounts if len(accounts) == 1 else [each for each in accounts if account_id(each) in checked]

    async def _decide_payment(
        self, request: Request, secret: str, value: Values, form: Form, decision: str
    ) -> Response:
        debtors = await self._debtors(value["payment_id"], value["psu"])
        ids = [account_id(each) for each in debtors]
        chosen = ids if len(ids) == 1 else [each for each in ids if each in form.get("account", ())]
        if decision not in ("yes", "no") or (decision == "yes" and len(chosen) != 1):
            return await self._show(request, secret, value, 400)
        url = await self.payments.decide(value["payment_id"], value["psu"], "".join(chosen[:1]), decision == "yes")
        if url is None:
            return await self._message(request, "This payment is being processed.", 409)
        return RedirectResponse(url, 303)

    async def _end_consents(self, psu: str, decision: str) -> Response:
        """End one consent, or all consents if ``decision`` is ``yes``. Redirect to the list of remaining consents."""
        for consent in await self.consents.of(psu):
            if decision in ("yes", consent.consent_id):
                ended = await self.consents.end_by_psu(psu, consent.consent_id)
                if ended is not None and self.functions.revoked is not None:
                    await self.functions.call("revoked", ended)
        return RedirectResponse(f"{self.base_url}/consents", 303)

    # -- what is shown

    async def _show(self, request: Request, secret: str, value: Values, status: int = 200) -> Response:
        action = f"{request.scope.get('root_path', '')}/decide/{secret}"
        match value["kind"]:
            case "consent":
                page = await self._consent_page(value, action, status)
            case "payment":
                page = await self._payment_page(value, action, status)
            case _:
                page = await self._consents_page(value["psu"], action)
        return await self._render(request, page)

    async def _consent_page(self, value: Values, action: str, status: int) -> Page:
        accounts = await self._accounts(value["psu"])
        choices = tuple(Choice("account", account_id(each), _label(each)) for each in accounts)
        return Page(
            self.name,
            f"{value['tpp_name']} asks for access",
            (f"It may: {', '.join(value['scopes'])}",),
            action,
            choices if len(choices) > 1 else (),
            False,
            (YES, NO),
            status,
        )

    async def _payment_page(self, value: Values, action: str, status: int) -> Page:
        stored = await self.payments.find(value["payment_id"])
        if stored is None or stored["state"] != "open":
            return Page(self.name, ALREADY if stored else OVER, status=409 if stored else 404)
        debtors = await self.payments.debtors(stored, value["psu"])
        if not debtors:
            return Page(
                self.name, "You cannot pay this.", ("You have no such account.",), action, (), False, (NO,), status
            )
        title, lines = f"Pay {payment_of(stored).order.text}?", [_label(each) for each in debtors]
        if len(debtors) == 1:
            return Page(self.name, title, (f"From {lines[0]}",), action, (), False, (YES, NO), status)
        choices = tuple(Choice("account", account_id(each), _label(each)) for each in debtors)
        return Page(self.name, title, ("From:",), action, choices, True, (YES, NO), status)

    async def _debtors(self, payment_id: str, psu: str) -> list[Account]:
        stored = await self.payments.find(payment_id)
        return await self.payments.debtors(stored, psu) if stored else []

    async def _consents_page(self, psu: str, action: str) -> Page:
        given = await self.consents.of(psu)
        lines = tuple(f"{each.tpp_name}: {', '.join(each.scopes)}" for each in given)
        buttons = (
            [(each.consent_id, f"End {number}.") for number, each in enumerate(given, 1)] if len(given) > 1 else []
        )
        numbered = tuple(f"{number}. {line}" for number, line in enumerate(lines, 1))
        ends = (("yes", "End all" if buttons else "End it"), *buttons)
        return Page(self.name, f"Your consents: {len(given)}", numbered, action, (), False, ends if given else ())

    async def _message(self, request: Request, title: str, status: int) -> Response:
        return await self._render(request, Page(self.name, title, status=status))

    async def show_refusal(self, request: Request, refusal: Exception) -> Response:
        """Render a page for a refusal by one of the bank's functions."""
        assert isinstance(refusal, Refused)
        return await self._message(request, refusal.text, refusal.status)

    async def _show_failure(self, request: Request, call: str, error: CausewayError) -> Response:
        """Render a page for a call that was refused by the hub or got no response."""
        log.warning("%s failed: %s", call, error)
        is_refused = isinstance(error, HubError) and error.status < 500
        text = "This request is not valid, or over." if is_refused else "Please try again in a moment."
        return await self._message(request, text, 400 if is_refused else 502)

    async def _render(self, request: Request, page: Page) -> Response:
        shown: str | Response = pages.render(page, self.template)
        if self.functions.page is not None:
            shown = await self.functions.call("page", request, page)
        response = HTMLResponse(shown, page.status) if isinstance(shown, str) else shown
        response.headers.update(pages.HEADERS)
        return response

    # -- the PSU

    async def _psu(self, request: Request) -> Any:
        """Return the PSU's id, or a response that starts the sign-in. Raises ``ConfigurationError`` if the bank's
        function returns anything else.
        """
        found = await self.functions.call("psu", request)
        if not found or not isinstance(found, str | Response):
            raise ConfigurationError("the bank's function psu returns the PSU's id, or a response")
        return found

    async def _accounts(self, psu: str) -> list[Account]:
        return list(await self.functions.call("accounts", Call(psu=psu)))

    async def _is_for(self, value: Values, psu: str) -> bool:
        """Return whether a page may be used by this PSU. A direct payment belongs to the PSU who decides on it."""
        if value.get("psu", psu) != psu:
            return False
        if value["kind"] != "payment":
            return True
        payment = await self.payments.find(value["payment_id"])
        return payment is not None and payment["psu"] in ("", psu)

    async def _new_page(self, value: Values, seconds: float) -> str:
        """Store the content of a page and return its secret."""
        secret = secrets.token_urlsafe()
        await self.storage.add("page", secret, value, expires_at=_waiting.now() + seconds)
        return secret


def _identifiers(accounts: Sequence[Account]) -> dict[str, list[str]]:
    """Return all identifiers of accounts, grouped by the parameters of ``HubClient.consent``."""
    found: dict[str, list[str]] = {}
    for account in accounts:
        for kind, value in identifiers(account).items():
            found.setdefault(kind, []).append(value)
    return found


def _label(account: Account) -> str:
    return " ".join(part for part in (account.name, account.iban, account.currency) if part)


def _read_form(body: bytes) -> Form:
    """Parse the fields of a form. Invalid UTF-8 yields an empty form, so that the page is displayed again."""
    try:
        return parse_qs(body.decode(), errors="strict")
    except ValueError:
        return {}
