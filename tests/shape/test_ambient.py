"""Ambient contexts (request state without a parameter) are detected for all forms of imports."""

import pytest

from tests.shape.ambient import OF_THE_PROCESS, ambient_contexts
from tests.shape.modules import Module

METRICS = Module("chalicelib/foundation/metrics.py", "write_line = print")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from contextvars import ContextVar\n_call: ContextVar[int] = ContextVar('call')", "2 _call"),
        ("from contextvars import ContextVar as Of\n_call = Of[int]('call')", "2 _call"),
        ("import contextvars\nclass Call:\n    now = contextvars.ContextVar('now')", "3 now"),
        ("import threading\n_local = threading.local()", "2 _local"),
        ("from threading import local\nclass Call(local): ...\ncurrent = Call()", "3 current"),
        ("from threading import local\nregister(local())", "2"),
        ("_request = None\ndef use(request):\n    global _request\n    _request = request", "4 _request"),
        ("class Call:\n    now = 1\ndef use(request):\n    Call.now = request", "4 Call.now"),
        ("class Call:\n    @classmethod\n    def use(cls, request):\n        cls.now = request", "4 cls.now"),
        ("from chalicelib.foundation import metrics\ndef use(request):\n    metrics.request = 1", "3 metrics.request"),
    ],
)
def test_an_ambient_context_is_detected(source: str, found: str) -> None:
    assert ambient_contexts([METRICS, Module("one.py", source)]) == [f"one.py:{found}"]


@pytest.mark.parametrize(
    "source",
    [
        "from contextvars import copy_context\ncontext = copy_context()",
        "from contextvars import ContextVar\ndef read(call: ContextVar[int]):\n    return call.get()",
        "_cache = {}\ndef use(request):\n    _cache = request",
        "class Call:\n    def use(self, request):\n        self.now = request",
        "LIMIT = 5\nLIMIT += 1",
    ],
)
def test_local_state_and_constants_are_not_ambient_contexts(source: str) -> None:
    assert ambient_contexts([METRICS, Module("one.py", source)]) == []


def test_attributes_of_the_process_are_not_ambient_contexts() -> None:
    source = "write_line = print\ndef set_output(output):\n    global write_line\n    write_line = output"

    assert "chalicelib.foundation.metrics.write_line" in OF_THE_PROCESS
    assert ambient_contexts([Module("chalicelib/foundation/metrics.py", source)]) == []
