"""A request of the service beside the calls that it made: by the floor, and by the boto3 script.

The service's calls are recorded once. Then all three make them against the same server, which gives the recorded
answers, and whose processor time does not count.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from infra.capacity import PAGE, read_figures
from tests.bench.boto3_script import Boto3Script
from tests.bench.floor import Floor
from tests.bench.measures import Triple, in_turns
from tests.bench.scene import Stub
from tests.bench.works import Request

WARM_UP = 2
"""Requests before the recorded one: caches are filled, and blocks of identifiers taken."""
_TRIES = 3
_OF_HTTP = ("Host", "Connection", "Content-Length", "Accept-Encoding")
"""Headers that are set by the client of HTTP. The service sends payments over a connection that it closes."""
_OF_TIME = ("X-Amz-Date", "Authorization", "amz-sdk-invocation-id", "amz-sdk-request")
_MEASUREMENTS = re.compile(r'"TableName":"[\w-]*-statistics"')

Call = dict[str, Any]


@dataclass(frozen=True)
class Recorded:
    """A request, and its calls as the two scripts take them."""

    request: Request
    calls: list[Call]


def record(stub: Stub, title: str, prepare: Callable[[], Request]) -> Recorded:
    """Have a request made by this process, its caches warm, and recorded; from now on it is replayed.

    Raises:
        AssertionError: a script sends something else than the service, which makes the calls of ``infra/capacity.csv``.
    """
    work = read_figures(PAGE.read_text(encoding="utf-8")).work[title]
    stub.ask("record")
    for _ in range(WARM_UP):
        prepare()()
    for _ in range(_TRIES):  # a cache may be a minute old
        request = prepare()
        stub.ask("record")
        request()
        seen = [each for each in stub.ask("exchanges") if not _MEASUREMENTS.search(each["body"])]
        if len(seen) == work.calls + work.queue + work.outgoing:
            break
    else:
        raise AssertionError(f"{title}: {len(seen)} calls")
    calls = [_call(stub, each) for each in seen]
    stub.ask("replay")
    for make in (Floor, Boto3Script):
        with contextlib.closing(make(calls)) as script:
            script()
        for ours, other in zip(seen, stub.ask("exchanges"), strict=True):
            if _content(ours) != _content(other):
                raise AssertionError(f"{title}: {make.__name__} sends {other} instead of {ours}")
    return Recorded(request, calls)


def measure(recorded: Recorded, rounds: int = 15, each: int = 40) -> Triple:
    """Processor time of this process per request of the floor, the boto3 script and the service, in turns."""
    with contextlib.closing(Floor(recorded.calls)) as floor, contextlib.closing(Boto3Script(recorded.calls)) as script:
        return in_turns([floor, script, recorded.request], rounds, each)


def _call(stub: Stub, exchange: Any) -> Call:
    names = {name: value for name, value in exchange["headers"].items() if name not in (*_OF_HTTP, *_OF_TIME)}
    if "X-Amz-Target" not in names:
        return {"url": stub.bank + exchange["path"], "headers": names, "text": exchange["body"]}
    service = exchange["headers"]["Authorization"].split("/")[3]
    return {"url": f"{stub.aws}/", "service": service, "headers": names, "members": json.loads(exchange["body"])}


def _content(exchange: Any) -> Sequence[Any]:
    """What has to be equal: host, operation and body, and for a bank all headers, its signature among them."""
    headers, body = exchange["headers"], exchange["body"]
    if "X-Amz-Target" in headers:
        return headers["Host"], headers["X-Amz-Target"], json.loads(body)
    return headers["Host"], exchange["path"], body, {n: v for n, v in headers.items() if n not in _OF_HTTP}
