"""Makes a bank's calls to the hub. Calls are signed, and retried with the same ``X-Request-Id`` and body."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from datetime import date
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from causeway import _json, _retries, _waiting
from causeway._addresses import base_address
from causeway._records import RecordError
from causeway._retries import Retries
from causeway._user_agent import user_agent
from causeway.bank._call import HubCall, load
from causeway.bank._versions import Version, version_of
from causeway.errors import CausewayError, ConfigurationError, ConnectionLost, HubError, UnexpectedAnswer

if TYPE_CHECKING:
    import httpx

    from causeway.bank._generated.literals import PaymentStatusV1, PaymentStatusV2
    from causeway.bank._generated.models_v1 import ConsentStatesAnswerV1, InitAuthorizationAnswerV1, SaveConsentAnswerV1
    from causeway.bank._generated.models_v2 import ConsentStatesAnswerV2, InitAuthorizationAnswerV2, SaveConsentAnswerV2
    from causeway.bank.signatures import Signer

log = logging.getLogger("causeway")
CONNECT_SECONDS, ANSWER_SECONDS = 5.0, 20.0
GATEWAY_FAILED = frozenset({502, 503, 504})


class HubClient:
    """Makes a bank's calls. All methods raise ``HubError``, ``ConnectionLost`` or ``UnexpectedAnswer``.

    A call is retried after a lost connection or response, after status 429, and after a response of a proxy, for
    example with status 502 to 504. It is also retried if the hub reports that the hub's storage was unavailable. A
    retry has the same id and body, so the hub processes the call only once.
    """

    def __init__(
        self,
        hub: str,
        *,
        version: int,
        api_key: str,
        private_key: str | bytes | Signer,
        http_client: httpx.AsyncClient | None = None,
        retries: Retries | None = None,
    ) -> None:
        """Create a client without sending a request. Raises ``ConfigurationError`` if an argument is invalid.

        Args:
            hub: the hub's URL for banks.
            version: the version of the bank protocol, 1 or 2.
            api_key: the API key that identifies the bank to the hub.
            private_key: an RSA key in PEM format, or a ``Signer``; the operator of the hub registers the public key.
            http_client: a custom HTTP client, for example with a client certificate or a proxy.
            retries: the retries of failed calls; by default 3.
        """
        import httpx  # with the keys' library the slowest imports: a program without a client does without them

        from causeway.bank.signatures import Signer

        if not api_key:
            raise ConfigurationError("a bank has an API key")
        self.url = base_address(hub, "hub")
        self.version: Version = version_of(version)
        self.signer = private_key if isinstance(private_key, Signer) else Signer(private_key)
        self.client = http_client or httpx.AsyncClient()
        self._api_key = api_key
        self._retries = retries or Retries()
        self._timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)

    def __repr__(self) -> str:
        return f"HubClient({self.url!r}, version={self.version.number})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self.client.aclose()

    async def init_authorization(self, request_url: str) -> InitAuthorizationAnswerV1 | InitAuthorizationAnswerV2:
        """Get the authorization request with which a PSU arrived at the bank's Authorization URL.

        ``request_url`` is the complete URL at which the PSU arrived, including the query.
        """
        found: InitAuthorizationAnswerV1 | InitAuthorizationAnswerV2 = await self.call(
            "init_authorization", request_url=request_url
        )
        return found

    async def consent(
        self,
        *,
        request_url: str,
        scopes: Sequence[str],
        account_ids: Sequence[str] | None = None,
        ibans: Sequence[str] | None = None,
        account_numbers: Sequence[str] | None = None,
        request_id: str | None = None,
    ) -> SaveConsentAnswerV1 | SaveConsentAnswerV2:
        """Save the PSU's consent. The response contains the access token, and the callback URL to which the PSU is
        redirected.

        ``request_url`` is the ``request_url`` passed to ``init_authorization``. ``scopes`` are the scopes that the PSU
        approved. ``account_ids``, ``ibans`` and ``account_numbers`` are lists of all identifiers of the approved
        accounts. A repeated call with the same ``request_id`` (a UUID) saves the consent only once.
        """
        found: SaveConsentAnswerV1 | SaveConsentAnswerV2 = await self.call(
            "consent",
            request_id=request_id,
            request_url=request_url,
            scopes=tuple(scopes),
            account_ids=account_ids,
            ibans=ibans,
            account_numbers=account_numbers,
        )
        return found

    async def revoke_token(self, access_token: str, *, request_id: str | None = None) -> None:
        """Notify the hub that the PSU has ended the consent of this access token at the bank."""
        await self.call("token_revoke", request_id=request_id, access_token=access_token)

    async def payment_status(
        self, payment_id: str, status: PaymentStatusV1 | PaymentStatusV2, *, request_id: str | None = None
    ) -> None:
        """Report a payment's status: a number in version 1, an ISO 20022 code in version 2."""
        await self.call("payments_status", request_id=request_id, payment_id=payment_id, payment_status=status)

    async def consents_status(
        self, *, access_tokens: Sequence[str] | None = None, consent_ids: Sequence[str] | None = None
    ) -> ConsentStatesAnswerV1 | ConsentStatesAnswerV2:
        """Get the states of 1 to 100 consents after an outage. The response first lists the consents that were
        identified by token.
        """
        found: ConsentStatesAnswerV1 | ConsentStatesAnswerV2 = await self.call(
            "consents_status", access_tokens=access_tokens, consent_ids=consent_ids
        )
        return found

    async def daily_performance(
        self, day: date, *, consent_duration: int | None = None, payment_duration: int | None = None
    ) -> None:
        """Report the average times, in milliseconds, that PSUs took to confirm on a day (UTC). Version 2 only."""
        await self.call(
            "daily_performance", date=day, consent_duration=consent_duration, payment_duration=payment_duration
        )

    async def call(self, name: str, *, request_id: str | None = None, **members: Any) -> Any:
        """Make a call, and return the record of the response. ``members`` are the members of the request."""
        call = self.version.calls.get(name)
        if call is None:
            raise ConfigurationError(f"version {self.version.number} has no call {name}")
        request = load(call.request)(**members)
        call_id = (request_id or str(uuid.uuid4())).lower()
        response = await self._send(call, _json.dumps(request.to_json()).encode(), call_id)
        try:
            return load(call.answer).from_json(_json.loads(response.content))
        except (ValueError, RecordError) as error:
            raise UnexpectedAnswer(f"the answer to {name} is not the hub's", status=response.status_code) from error

    async def _send(self, call: HubCall, body: bytes, request_id: str) -> httpx.Response:
        """Send a call and return the successful response. Raises the error of the last attempt."""
        headers = {
            "Content-Type": "application/json",
            "User-Agent": user_agent(self.client),
            "X-Api-Key": self._api_key,
            "X-Request-Id": request_id,
            "X-Signature": self.signer.sign(body),
        }
        repeat = 0
        while True:
            outcome = await self._attempt(f"{self.url}{call.path}", body, headers)
            if isinstance(outcome, CausewayError):
                error: HubError | ConnectionLost | UnexpectedAnswer = outcome
            elif outcome.is_success:
                return outcome
            else:
                error = read_error(outcome, request_id)
            wait = self._retries.wait(repeat, getattr(error, "retry_after", None)) if may_be_repeated(error) else None
            if wait is None:
                raise error
            log.info("%s (request %s): %s, repeated in %.1f s", call.path, request_id, error, wait)
            await _waiting.async_sleep(wait)
            repeat += 1

    async def _attempt(
        self, url: str, body: bytes, headers: Mapping[str, str]
    ) -> httpx.Response | ConnectionLost | UnexpectedAnswer:
        """Send a call once. A success response without a JSON object comes from a proxy, so the hub's response was
        lost.
        """
        import httpx

        try:
            response = await self.client.post(
                url, content=body, headers=headers, timeout=self._timeout, follow_redirects=False
            )
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            return ConnectionLost(f"no connection to {self.url} ({type(error).__name__})")
        except (httpx.TransportError, httpx.DecodingError) as error:
            return ConnectionLost(f"the hub's answer was lost ({type(error).__name__})")
        if response.is_success and _members(response) is None:
            return UnexpectedAnswer(f"what answers at {self.url} is not the hub", status=response.status_code)
        return response


def _members(response: httpx.Response) -> Mapping[str, Any] | None:
    """Return the JSON object of a response. Return an empty object if the body is not a JSON object."""
    try:
        data = _json.loads(response.content)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def read_error(response: httpx.Response, request_id: str) -> HubError:
    """Parse the error of a refusal in the format of version 1 or 2."""
    members = _members(response) or {}
    more = members.get("additionalErrors")
    return HubError(
        response.status_code,
        str(members.get("code") or members.get("error_code") or ""),
        str(members.get("title") or members.get("message") or ""),
        request_id=request_id,
        additional=[each for each in more if isinstance(each, dict)] if isinstance(more, list) else (),
        retry_after=_retries.retry_after(response.headers.get("retry-after"), _waiting.now()),
    )


def may_be_repeated(error: HubError | ConnectionLost | UnexpectedAnswer) -> bool:
    """Return whether a retry can succeed: the hub may not have processed the call, or the hub's storage was
    unavailable.
    """
    if not isinstance(error, HubError):
        return True
    if error.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        return error.code == "4000" or error.retry_after is not None
    return error.status == HTTPStatus.TOO_MANY_REQUESTS or (error.status in GATEWAY_FAILED and not error.code)
