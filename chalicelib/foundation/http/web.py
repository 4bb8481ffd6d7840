"""Parsing of HTTP requests and serialisation of HTTP responses.

Chalice would convert ``Decimal`` to binary floating point, so views never return dictionaries. Chalice would also
convert unknown exceptions to a 500 response before middleware can handle them, so ``Routes`` registers every view.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from itertools import chain
from typing import Any, Generic, Self, TypeVar
from urllib.parse import parse_qsl, quote

from chalice.app import Blueprint, Chalice, Request, Response, RestAPIEventHandler

from chalicelib.foundation import jsontext, log
from chalicelib.foundation.identifiers import new_uuid, read_uuid
from chalicelib.foundation.lazy_dataclasses import dataclass

BODY_BYTES = 65536
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
API_KEY_CHALLENGE = 'ApiKey realm="causeway", header="X-Api-Key"'
"""``WWW-Authenticate`` of calls with an API key, for which no scheme is registered (RFC 9110 §11.1)."""
FORM_CHALLENGE = 'Form realm="causeway"'
"""``WWW-Authenticate`` of pages with a password form. Browsers display their own password prompt only for ``Basic``."""
PROOF_HEADER = "x-causeway-origin-secret"
ADDRESS_HEADER = "cloudfront-viewer-address"
"""The header in which CloudFront sends the viewer's address and port. CloudFront overwrites any value from the viewer.
"""
OTHERS = "X-AMAZON-APIGATEWAY-ANY-METHOD"
"""API Gateway's OpenAPI name for all methods that a path does not define."""
_SEGMENTS = ("{first}", "{second}", "{third}", "{fourth}", "{fifth}", "{sixth}")
_ANY_CONTENT = ["*/*"]  # views check content types with the service's own error messages, not Chalice's


class WrongMethod(Exception):
    """The path does not support the request's method. ``allowed`` lists the supported methods (RFC 9110, 15.5.6)."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self.allowed = ", ".join(allowed)
        super().__init__(f"this URL accepts only {self.allowed}")


class UnreadableBody(ValueError):
    """A body, query or header is unreadable. ``kind`` classifies the fault, and the message describes it."""

    def __init__(self, kind: str, reason: str) -> None:
        self.kind = kind
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Incoming:
    """One request: headers by lower-case name, the query as name-value pairs, and the raw body.

    ``request_id`` is the UUID of ``X-Request-Id`` in lower case, or a new UUID. ``repeated_headers`` names the headers
    that were sent more than once. ``identity`` has API Gateway's data on the connection: the address, and the
    certificate of mutual TLS.

    A HEAD request arrives as a GET with ``is_head`` set. Its view must have no side effects and make no calls.
    """

    method: str
    route: str
    headers: Mapping[str, str]
    query: tuple[tuple[str, str], ...]
    body: bytes
    uri: Mapping[str, str]
    identity: Mapping[str, Any]
    request_id: str = field(default_factory=new_uuid)
    is_head: bool = False
    repeated_headers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, request: Request) -> Incoming:
        headers = {name.lower(): value for name, value in request.headers.items()}
        event = request.to_original_event()
        query = event.get("multiValueQueryStringParameters") or {}
        try:
            body = request.raw_body or b""
        except ValueError:
            body = b""
        sent = Counter(name.lower() for name, values in (event.get("multiValueHeaders") or {}).items() for _ in values)
        return cls(
            method=event.get("httpMethod", OTHERS) if request.method == OTHERS else request.method,
            route=request.path,
            headers=headers,
            query=tuple((name, value) for name, values in query.items() for value in values),
            body=body.encode() if isinstance(body, str) else body,
            uri=request.uri_params or {},
            identity=request.context.get("identity") or {},
            request_id=read_uuid(headers.get("x-request-id", "")) or new_uuid(),
            repeated_headers=frozenset(name for name, count in sent.items() if count > 1),
        )

    def check_text(self) -> None:
        """Check that UTF-8 can encode headers and address. Raises: UnreadableBody of kind ``header`` or ``address``."""
        if not jsontext.is_utf_8("".join(chain(*self.headers.items()))):
            raise UnreadableBody("header", "a header is not UTF-8")
        if not jsontext.is_utf_8("".join(chain(self.uri.values(), *self.query))):
            raise UnreadableBody("address", "the path or the query is not UTF-8")

    @property
    def path(self) -> str:
        """The request's path, without the name of an API stage or a domain's base path."""
        return self.route.format_map({name: quote(value, safe="") for name, value in self.uri.items()})

    def visitor_address(self, cloudfront_secrets: Collection[str]) -> str:
        """The IP address of the visitor, or an empty text if the address is unknown.

        By default, this is the address of the connection. Behind CloudFront, a header contains the visitor's address.
        Any client can send that header, so it is used only if the request also has a secret that CloudFront adds. The
        digest of this secret must be among ``cloudfront_secrets``.
        """
        forwarded, secret = self.headers.get(ADDRESS_HEADER, ""), self.headers.get(PROOF_HEADER, "")
        if forwarded and secret:
            digest = hashlib.sha256(secret.encode()).hexdigest()
            if any(hmac.compare_digest(digest, each) for each in cloudfront_secrets):
                with suppress(ValueError):
                    return str(ipaddress.ip_address(forwarded.rpartition(":")[0].strip("[]")))
        return str(self.identity.get("sourceIp") or "")

    @property
    def has_good_request_id(self) -> bool:
        return self.headers.get("x-request-id", "").lower() == self.request_id

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", JSON).partition(";")[0].strip().lower() or JSON

    def parameters(self, repeatable: Collection[str] = ()) -> dict[str, str]:
        """Return the query parameters, except ``repeatable`` parameters.

        Raises:
            UnreadableBody: a parameter that is not repeatable occurs more than once.
        """
        return _once(self.query, repeatable)

    def json(self, limit: int = BODY_BYTES) -> Any:
        """Parse the body as JSON. Raises: UnreadableBody of kind ``type``, ``size`` or ``json``."""
        self._check_size(limit)
        if self.content_type != JSON:
            raise UnreadableBody("type", f"Content-Type must be {JSON}")
        try:
            return jsontext.loads(self.body)
        except jsontext.InvalidJson as error:
            raise UnreadableBody("json", f"the body is not valid JSON: {error}") from None

    def form(self, repeatable: Collection[str] = ()) -> dict[str, str]:
        """Parse the body as a form. ``repeatable`` fields are omitted.

        Fields without a value count as absent (RFC 6749 §3.1).

        Raises:
            UnreadableBody: of kind ``type``, ``size`` or ``form``.
        """
        self._check_size(BODY_BYTES)
        if self.content_type != FORM:
            raise UnreadableBody("type", f"Content-Type must be {FORM}")
        try:
            return _once(parse_qsl(self.body.decode("utf-8"), errors="strict", max_num_fields=100), repeatable)
        except UnreadableBody as error:
            raise UnreadableBody("form", str(error)) from None
        except ValueError:
            raise UnreadableBody("form", "the body is not a UTF-8 form") from None

    def _check_size(self, limit: int) -> None:
        if len(self.body) > limit:
            raise UnreadableBody("size", f"the body is larger than {limit} bytes")


def _once(pairs: Iterable[tuple[str, str]], repeatable: Collection[str]) -> dict[str, str]:
    members: dict[str, str] = {}
    for name, value in pairs:
        if name in repeatable:
            continue
        if name in members:
            raise UnreadableBody("repeated", "a parameter is present twice")
        members[name] = value
    return members


def json_answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Create a JSON response that must not be cached."""
    return text_answer(jsontext.dumps(value), JSON, status, headers)


def text_answer(text: str, content_type: str, status: int = 200, headers: Mapping[str, Any] | None = None) -> Response:
    return Response(
        text,
        status_code=status,
        headers={
            "Content-Type": content_type,
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            **(headers or {}),
        },
    )


class _BinaryResponse(Response):
    """A response with bytes. It is sent to API Gateway as Base64, regardless of the request's ``Accept`` header."""

    def to_dict(self, binary_types: list[str] | None = None) -> dict[str, Any]:  # noqa: ARG002 - they are for Chalice
        text = Response(base64.b64encode(self.body or b"").decode("ascii"), self.headers, self.status_code)
        return {**text.to_dict(), "isBase64Encoded": True}


def binary_answer(content: bytes, content_type: str, headers: Mapping[str, str]) -> Response:
    """Create a response whose body is bytes. ``headers`` must specify the caching."""
    return _BinaryResponse(
        content, headers={"Content-Type": content_type, "X-Content-Type-Options": "nosniff", **headers}
    )


def redirect(url: str) -> Response:
    """Create a 303 redirect, which browsers follow with GET."""
    headers = {"Location": url, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    return Response("", status_code=303, headers={"Content-Type": "text/plain; charset=utf-8", **headers})


class _ViewCall(RestAPIEventHandler):
    def _get_view_function_response(self, view_function: Any, function_args: Any) -> Response:  # noqa: ARG002
        return super()._get_view_function_response(view_function, {"request": self.current_request})


class RestApi(Chalice):
    """A Chalice application that passes the request to each view as a parameter.

    Chalice itself stores the request in an attribute that other threads overwrite.
    """

    def __call__(self, event: Any, context: Any) -> dict[str, Any]:
        call = _ViewCall(self.routes, self.api, self.log, self.debug, self._get_middleware_handlers("http"))
        call.create_request_object(event, context)
        answer: dict[str, Any] = call(event, context)
        return answer


P = TypeVar("P")
View = Callable[[P, Incoming], Response]
"""A function that handles a request. It receives components of the service and the request, and returns the response.
"""
Completed = Callable[[P, Incoming, Response], None]
Failed = Callable[[P, Incoming, Exception], Response]


def head_of_redirect() -> Response:
    """Respond to HEAD at a path where GET creates a record and redirects. The response has no Location, because no
    record is created.
    """
    return text_answer("", "text/plain; charset=utf-8", 303)


class Routes(Blueprint, Generic[P]):
    """A blueprint whose views receive components of the service and an ``Incoming``, accept any content type, and may
    raise exceptions.

    The blueprint is registered with a ``RestApi``.

    Every path accepts every method. HEAD is handled as GET without a response body, and OPTIONS lists the methods. All
    other methods without a view raise ``WrongMethod`` and return status 405.

    Args:
        import_name: the module's name.
        failed: converts a view's exception into a response.
        otherwise: handles all methods that a path does not define, including HEAD and OPTIONS.
        completed: completes every response, for example with a header.
        challenge: the default ``WWW-Authenticate`` of a 401 response (RFC 9110 §15.5.2).
    """

    def __init__(
        self,
        import_name: str,
        failed: Failed[P],
        otherwise: View[P] | None = None,
        completed: Completed[P] | None = None,
        challenge: str | None = None,
    ) -> None:
        super().__init__(import_name)
        self._completed = completed
        self._challenge = challenge
        self._failed = failed
        self._otherwise = otherwise
        self.views: dict[str, dict[str, View[P]]] = {}
        self._parts: Callable[[], P] | None = None

    def bind(self, parts: Callable[[], P]) -> Self:
        """Pass the result of ``parts`` to the views. ``parts`` is called for each request."""
        self._parts = parts
        return self

    def get(self, path: str, failed: Failed[P] | None = None) -> Callable[[View[P]], View[P]]:
        return self._decorator(path, ["GET"], failed)

    def post(self, path: str, failed: Failed[P] | None = None) -> Callable[[View[P]], View[P]]:
        return self._decorator(path, ["POST"], failed)

    def serve(self, path: str, methods: Sequence[str], view: View[P], failed: Failed[P] | None = None) -> None:
        """Register ``view`` for ``methods`` at ``path``."""
        if path not in self.views:
            self.views[path] = {}
            if self._otherwise:
                self._register(path, [OTHERS], self._otherwise, None)
            else:
                self._register(path, [OTHERS], self._answer_others(path), failed)
        if methods:
            self.views[path] |= dict.fromkeys(methods, view)
            self._register(path, methods, view, failed)

    def serve_below(self, path: str, methods: Sequence[str], view: View[P]) -> None:
        """Register ``view`` at ``path`` and at all paths of one to six arbitrary segments below ``path``.

        ``{proxy+}`` would match all of these paths, but Chalice's local gateway does not support it.
        """
        if path:
            self.serve(path, methods, view)
        for number in range(1, len(_SEGMENTS) + 1):
            self.serve("/".join((path, *_SEGMENTS[:number])), methods, view)

    def _register(self, path: str, methods: Sequence[str], view: View[P], failed: Failed[P] | None) -> None:
        name = re.sub(r"[^a-z0-9]+", "_", f"{'_'.join(methods)}{path}".lower()).strip("_")
        self.route(path, methods=list(methods), name=name, content_types=_ANY_CONTENT)(
            self._handler(view, failed or self._failed)
        )

    def _decorator(self, path: str, methods: Sequence[str], failed: Failed[P] | None) -> Callable[[View[P]], View[P]]:
        def register(view: View[P]) -> View[P]:
            self.serve(path, methods, view, failed)
            return view

        return register

    def _answer_others(self, path: str) -> View[P]:
        def answer_other_method(parts: P, incoming: Incoming) -> Response:
            views = self.views[path]
            if incoming.is_head and "GET" in views:
                return views["GET"](parts, incoming)
            allowed = [*views, *(["HEAD"] if "GET" in views else []), "OPTIONS"]
            if incoming.method == "OPTIONS":
                return Response("", status_code=204, headers={"Allow": ", ".join(allowed)})
            raise WrongMethod(allowed)

        return answer_other_method

    def _handler(self, view: View[P], failed: Failed[P]) -> Callable[..., Response]:
        def handle(request: Request) -> Response:
            assert self._parts is not None, "routes are bound before they are registered"
            parts = self._parts()
            incoming = Incoming.of(request)
            log.bind(request_id=incoming.request_id)
            if incoming.method == "HEAD":
                incoming = replace(incoming, method="GET", is_head=True)
            try:
                incoming.check_text()
                response = view(parts, incoming)
            except WrongMethod as error:
                response = failed(parts, incoming, error)
                response.status_code = 405
                response.headers["Allow"] = error.allowed
            except Exception as error:
                response = failed(parts, incoming, error)
            if incoming.is_head:
                response.body = ""
            response.headers.setdefault("X-Request-Id", incoming.request_id)
            if response.status_code == 401 and self._challenge:
                response.headers.setdefault("WWW-Authenticate", self._challenge)
            if self._completed:
                self._completed(parts, incoming, response)
            return response

        return handle
