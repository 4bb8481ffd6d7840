"""``causeway listen``: fetches a client's events and forwards them, signed, to a receiver behind a firewall.

An event is recorded in the state file after the receiver's response and before the next event is forwarded. If the
program crashes between the response and the record, the event is forwarded again with the same id. As with an Events
URL, receivers must detect duplicates.
"""

from __future__ import annotations

import contextlib
import fnmatch
import signal
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NoReturn

import httpx

from causeway import __version__, _retries, _waiting
from causeway._addresses import check_address, without_password
from causeway._listen_state import ListenState, StateFile
from causeway.errors import ApiError, CausewayError, ConnectionLost, UnexpectedAnswer
from causeway.tpp._generated.event_models import EVENTS
from causeway.tpp._request import is_temporary
from causeway.tpp.events import sign

if TYPE_CHECKING:
    from causeway.tpp import Tpp
    from causeway.tpp._generated.models import EventEntry, EventsAnswer

POLL_SECONDS = 2.0
"""Number of seconds between requests to the hub for new events."""
WAITS = (1.0, 5.0, 30.0)
"""The delays in seconds before each retry after an error response of the receiver. ``Retry-After`` extends a delay to
at most twice its length.
"""
AWAY_WAITS = (1.0, 2.0, 5.0, 10.0, 30.0)
"""The delays in seconds before each retry while the hub or the receiver is unreachable. The last delay is used
repeatedly.
"""
CONNECT_SECONDS, ANSWER_SECONDS = 3.0, 20.0
"""The timeouts of the connection and of the response, equal to the hub's timeouts for an Events URL."""
BODY_BYTES = 65536
"""Maximum number of bytes that are read from a response body."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of one attempt to forward an event."""

    status: int | None = None
    reason: str = ""
    milliseconds: int = 0
    retry_after: float | None = None
    is_away: bool = False
    """No connection was made, so the receiver did not receive the event."""

    @property
    def is_good(self) -> bool:
        """Return whether the receiver has accepted the event."""
        return self.status is not None and httpx.codes.is_success(self.status)

    @property
    def text(self) -> str:
        """Describe the result for people."""
        return str(self.status) if self.status is not None else self.reason


class Receiver:
    """The application that receives the events."""

    def __init__(self, url: str, secret: str, client: httpx.Client | None = None) -> None:
        check_address(url, "--forward-to")
        scheme, _, rest = url.partition("://")
        self.url = url
        self.url_without_password = f"{scheme}://{without_password(rest)}"
        self._secret = secret
        self._client = client or _new_client(scheme)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def post(self, entry: EventEntry) -> Reply:
        """Send an event once, signed with the current time."""
        started = _waiting.now()
        body = entry.body.encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"causeway-listen/{__version__}",
            "webhook-id": entry.id,
            "webhook-timestamp": str(int(started)),
            "webhook-signature": sign(self._secret, entry.id, int(started), body),
        }
        try:
            with self._client.stream("POST", self.url, content=body, headers=headers, follow_redirects=False) as answer:
                status, retry_after = answer.status_code, answer.headers.get("Retry-After")
                read_body(answer)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return Reply(reason=f"no connection ({type(error).__name__})", is_away=True)
        except httpx.TimeoutException:
            return Reply(reason=f"no answer within {ANSWER_SECONDS:.0f} s")
        except httpx.HTTPError as error:
            return Reply(reason=f"no answer ({type(error).__name__})")
        now = _waiting.now()
        return Reply(status, "", round((now - started) * 1000), _retries.retry_after(retry_after, now))


def read_body(answer: httpx.Response) -> None:
    """Read and discard a response's body, so that the connection can be reused."""
    most = BODY_BYTES
    with contextlib.suppress(httpx.TransportError, httpx.DecodingError):
        for part in answer.iter_bytes():
            most -= len(part)
            if most < 0:
                return


def _new_client(scheme: str) -> httpx.Client:
    """Create the HTTP client for requests to the receiver. The client does not use a proxy, and trusts the
    certification authorities of this machine.
    """
    verify: Any = ssl.create_default_context() if scheme == "https" else True
    timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    return httpx.Client(verify=verify, timeout=timeout, trust_env=False)


class Interrupts:
    """Handles Ctrl-C and SIGTERM. After the first signal, the program waits for the event that is being forwarded.
    After the second signal, it ends immediately.
    """

    def __init__(self) -> None:
        self._held = False
        self._asked = False

    def install(self) -> None:
        """Handle the signals of this process."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.on_signal)

    def on_signal(self, *_: object) -> None:
        """Raise ``KeyboardInterrupt`` immediately, or after the receiver's response is recorded."""
        if self._held and not self._asked:
            self._asked = True
            return
        raise KeyboardInterrupt

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Defer signals until the end of the block."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._asked:
            raise KeyboardInterrupt


@dataclass
class Listener:
    """Forwards the events of one client. ``show`` prints a line."""

    tpp: Tpp
    receiver: Receiver
    file: StateFile
    state: ListenState
    show: Callable[[str], None]
    types: Sequence[str] = ()
    interrupts: Interrupts = field(default_factory=Interrupts)

    def run(self) -> NoReturn:
        """Forward all current and future events. Stops after a permanent error or an interrupt."""
        while True:
            page = self._page()
            for entry in page.events:
                if self._is_wanted(entry) and not self.state.is_done(entry):
                    self._forward(entry, self._record)
            self._save(self.state.after_page(page))
            if not page.has_more:
                _waiting.sleep(POLL_SECONDS)

    def resend(self, ids: Sequence[str]) -> bool:
        """Forward selected events again. The hub stores events for 30 days. Returns whether the receiver accepted all
        of them.
        """
        found = {entry.id: entry for entry in self.tpp.events() if entry.id in ids}
        for missing in [one for one in ids if one not in found]:
            self._show(f"{missing}  the hub does not keep such an event")
        replies = [self._forward(found[one], self._show_answer, patient=False) for one in ids if one in found]
        return len(replies) == len(ids) and all(reply.is_good for reply in replies)

    # The hub

    def _page(self) -> EventsAnswer:
        """Return the next page of events. Waits while the hub is unavailable."""
        failures, shown = 0, ""
        while True:
            try:
                return self.tpp.events_page(after=self.state.after, limit=100)
            except (ApiError, ConnectionLost, UnexpectedAnswer) as error:
                if self._restart(error):
                    continue
                if not is_temporary(error):
                    raise
                if shown != type(error).__name__:
                    self._show(f"the hub is away, waiting for it: {error}")
                    shown = type(error).__name__
                wait = max(away_wait(failures), getattr(error, "retry_after", None) or 0.0)
            failures += 1
            _waiting.sleep(wait)

    def _restart(self, error: CausewayError) -> bool:
        """Return whether the hub no longer stores the last forwarded event of the previous run. If so, restart from the
        oldest event.
        """
        if self.state.after is None or getattr(error, "status", 0) != 400:
            return False
        self._show("the hub no longer knows the place of the last event: looking for it from the oldest one")
        self._save(self.state.from_oldest())
        return True

    def _is_wanted(self, entry: EventEntry) -> bool:
        return not self.types or any(fnmatch.fnmatchcase(entry.type, pattern) for pattern in self.types)

    # The receiver

    def _forward(
        self, entry: EventEntry, done: Callable[[EventEntry, Reply, int], None], *, patient: bool = True
    ) -> Reply:
        """Forward an event until it is accepted or has failed permanently. If ``patient`` is true, wait while the
        receiver is unreachable.
        """
        attempts, away = 0, 0
        while True:
            with self.interrupts.hold():
                reply = self.receiver.post(entry)
                is_waited_for = reply.is_away and patient
                attempts, away = (attempts, away + 1) if is_waited_for else (attempts + 1, 0)
                wait = away_wait(away - 1) if is_waited_for else retry_wait(reply, attempts)
                if wait is None:
                    done(entry, reply, attempts)
                    return reply
            if not is_waited_for:
                self._show_entry(entry, f"{reply.text}, again in {wait:.0f} s")
            elif away == 1:
                self._show(f"the receiver is away, waiting for it: {reply.reason}")
            _waiting.sleep(wait)

    def _record(self, entry: EventEntry, reply: Reply, attempts: int) -> None:
        self._save(self.state.with_answer(entry, reply.text))
        self._show_answer(entry, reply, attempts)

    def _save(self, state: ListenState) -> None:
        if state != self.state:
            self.file.save(state)
            self.state = state

    # Lines

    def _show_answer(self, entry: EventEntry, reply: Reply, attempts: int) -> None:
        if reply.is_good:
            self._show_entry(entry, f"{reply.text} in {reply.milliseconds} ms")
        else:
            tried = f"after {attempts} attempts" if attempts > 1 else "at once"
            self._show_entry(entry, f"{reply.text}, failed {tried}: send it again with --resend {entry.id}")

    def _show_entry(self, entry: EventEntry, text: str) -> None:
        self._show(f"{entry.type}  {entry.id}  {text}")

    def _show(self, text: str) -> None:
        self.show(f"{_retries.utc(_waiting.now()):%Y-%m-%dT%H:%M:%SZ}  {text}")


def away_wait(failures: int) -> float:
    """Return the seconds before the next attempt, based on the number of previous attempts."""
    return AWAY_WAITS[min(failures, len(AWAY_WAITS) - 1)]


def retry_wait(reply: Reply, attempts: int) -> float | None:
    """Return the seconds before an event is sent again. Return ``None`` if the event was accepted or has failed
    permanently.

    Status 410 means that the receiver refuses the event permanently.
    """
    if reply.is_good or reply.status == HTTPStatus.GONE or attempts > len(WAITS):
        return None
    wait = WAITS[attempts - 1]
    return min(max(wait, reply.retry_after or 0.0), 2 * wait)


def unknown_types(types: Sequence[str]) -> list[str]:
    """Return the patterns that match no event type known to this version of the package."""
    return [pattern for pattern in types if not fnmatch.filter(EVENTS, pattern)]
