"""A hub with an event log, and a receiver for forwarded events."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from causeway._listen_state import ListenState, StateFile
from causeway._retries import utc
from causeway.listen import Interrupts, Listener, Receiver
from causeway.tpp import Retries, Tpp
from tests.sdk.scripted_hub import BASE, START

PLACE = "http://127.0.0.1:9701/events"
Answer = int | httpx.Response | BaseException


def event(number: int, kind: str = "test", *, at: float | None = None, name: str = "") -> dict[str, Any]:
    time = utc(START + (number if at is None else at))
    body = {"type": kind, "timestamp": time.isoformat(), "data": {"message": f"Nr. {number}, für alle"}}
    text = json.dumps(body, ensure_ascii=False)
    return {"id": name or f"event-{number}", "type": kind, "created_at": time.isoformat(), "body": text}


@dataclass
class EventLog:
    """A hub that returns events in pages. It interrupts a client that polls again after the last page."""

    events: list[dict[str, Any]]
    page_size: int = 3
    answers: list[Answer] = field(default_factory=list)
    cursors: list[str | None] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        after = request.url.params.get("after")
        self.cursors.append(after)
        if self.answers:
            return respond(self.answers.pop(0))
        start = int(after.removeprefix("place-")) if after else 0
        if after and start >= len(self.events):
            raise KeyboardInterrupt
        end = min(start + self.page_size, len(self.events))
        found = {"events": self.events[start:end], "next": f"place-{end}", "has_more": end < len(self.events)}
        return httpx.Response(200, json=found)


@dataclass
class FakeReceiver:
    """A receiver that stores its requests. It sends the scripted responses, and then 204."""

    answers: list[Answer] = field(default_factory=list)
    requests: list[httpx.Request] = field(default_factory=list)
    on_request: Callable[[], None] = lambda: None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.on_request()
        return respond(self.answers.pop(0) if self.answers else 204)

    @property
    def ids(self) -> list[str]:
        return [request.headers["webhook-id"] for request in self.requests]


def respond(answer: Answer) -> httpx.Response:
    if isinstance(answer, BaseException):
        raise answer
    return httpx.Response(answer) if isinstance(answer, int) else answer


@dataclass
class Listening:
    """Several consecutive runs of ``causeway listen`` that share a state file."""

    folder: Path
    log: EventLog
    receiver: FakeReceiver = field(default_factory=FakeReceiver)
    lines: list[str] = field(default_factory=list)
    interrupts: Interrupts = field(default_factory=Interrupts)

    @property
    def file(self) -> StateFile:
        return StateFile(self.folder / "state.json")

    def listener(self, types: Iterable[str] = (), file: StateFile | None = None) -> Listener:
        hub = httpx.Client(transport=httpx.MockTransport(self.log))
        tpp = Tpp(BASE, client_id="client-1", client_secret="secret-1", http_client=hub, retries=Retries(waits=()))
        state = (file or self.file).load(BASE, "client-1")
        receiver = Receiver(PLACE, state.secret, httpx.Client(transport=httpx.MockTransport(self.receiver)))
        return Listener(
            tpp, receiver, file or self.file, state, self.lines.append, tuple(types), interrupts=self.interrupts
        )

    def run(self, types: Iterable[str] = (), file: StateFile | None = None) -> list[str]:
        """Run until an interrupt. Return the printed lines without their timestamps."""
        before = len(self.lines)
        try:
            self.listener(types, file).run()
        except KeyboardInterrupt:
            return self.messages[before:]

    @property
    def messages(self) -> list[str]:
        return [line.partition("Z  ")[2] for line in self.lines]


class Killed(BaseException):
    """A simulated end of the process without cleanup."""


class MortalFile(StateFile):
    """A state file that ends the process before or after the n-th write."""

    def __init__(self, path: Path, number: int, *, before: bool) -> None:
        super().__init__(path)
        self._left = number
        self._before = before

    def save(self, state: ListenState) -> None:
        self._left -= 1
        if self._before and not self._left:
            raise Killed
        super().save(state)
        if not self._left:
            raise Killed
