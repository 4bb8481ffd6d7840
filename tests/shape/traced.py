"""The code that one request executes: files, calls between files, and functions."""

import gc
import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any
from unittest.mock import patch

from chalicelib.foundation.crypto import signatures
from tests.bench.throughput import PURCHASE, new_card
from tests.cards.issuer import Issuer
from tests.causeway import Causeway
from tests.kit.source_code import ROOT
from tests.openbanking.examples import ANSWERS
from tests.openbanking.kit import always

_FOLDER = f"{ROOT / 'chalicelib'}/"
_WARM_UP = 3
"""The number of requests before the traced request. These requests fill caches, import modules and open connections."""


@dataclass
class Trace:
    """The executed code of ``chalicelib`` in one thread.

    Attributes:
        files: the files of the functions.
        switches: the number of calls from another file or from outside, including the entry. Library code and
            comprehensions between caller and function are ignored, and resumed generators do not count.
        functions: the functions by file, line and name, without comprehensions and lambdas.
    """

    functions: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    switches: int = 0
    _generators: dict[int, FrameType] = field(default_factory=dict)
    """The frames of generators by id. Python does not reuse the id of a stored frame."""

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and _is_function(frame) and not self._goes_on(frame):
            code = frame.f_code
            path = code.co_filename.removeprefix(f"{ROOT}/")
            self.files.add(path)
            self.functions.add(f"{path}:{code.co_firstlineno} {code.co_qualname}")
            self.switches += _file_of_caller(frame) != code.co_filename

    def _goes_on(self, frame: FrameType) -> bool:
        if id(frame) in self._generators:
            return True
        if frame.f_code.co_flags & inspect.CO_GENERATOR:
            self._generators[id(frame)] = frame
        return False


def trace(call: Callable[[], object]) -> Trace:
    """Trace ``chalicelib`` in this thread during ``call``. The garbage collector is disabled during the trace."""
    traced, before, collects = Trace(), sys.getprofile(), gc.isenabled()
    gc.disable()
    sys.setprofile(traced.profile)
    try:
        call()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return traced


def relayed_read(causeway: Causeway) -> Trace:
    """Trace ``GET /tpp/accounts`` after a first request, at a bank of version 1, from the application's entry to the
    response.
    """
    causeway.banks[1].answers["/accounts"] = always({"status": "success", **ANSWERS[1]["/accounts"]})
    bearer = causeway.tpp.tokens(1)["access_token"]

    def read() -> None:
        assert causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer).status == 200

    with patch("chalicelib.openbanking.bank_client.bank_client.sign", signatures.sign):
        return _warm(read)


def card_authorization(causeway: Causeway) -> Trace:
    """Trace an approved purchase authorization after a first request, from the dispatcher's ``answer``."""
    issuer = Issuer(causeway)
    card = new_card(issuer)

    def approve() -> None:
        causeway.clock.advance(1)
        members = {**PURCHASE, "card_id": card, "request_reference_id": issuer.reference()}
        body = json.dumps(issuer.body("simulateAuthorization", **members)).encode()
        answer = issuer.hub.cards.simulator.answer(body)
        assert json.loads(answer.text)["data"]["response_code"] == "00"

    return _warm(approve)


def _warm(act: Callable[[], None]) -> Trace:
    for _ in range(_WARM_UP):
        act()
    return trace(act)


def _is_function(frame: FrameType) -> bool:
    code = frame.f_code
    return code.co_filename.startswith(_FOLDER) and not code.co_name.startswith("<")


def _file_of_caller(frame: FrameType) -> str | None:
    caller = frame.f_back
    while caller is not None and not caller.f_code.co_filename.startswith(_FOLDER):
        caller = caller.f_back
    return caller.f_code.co_filename if caller is not None else None
