"""Time, sleeping and locks of the synchronous and the asynchronous client. Tests replace these functions."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio


def now() -> float:
    """Unix seconds."""
    return time.time()


def sleep(seconds: float) -> None:
    """Block the thread."""
    time.sleep(seconds)


async def async_sleep(seconds: float) -> None:
    """Suspend the task."""
    import asyncio

    await asyncio.sleep(seconds)


def lock() -> threading.Lock:
    """A lock between threads."""
    return threading.Lock()


def async_lock() -> asyncio.Lock:
    """A lock between the tasks of one event loop."""
    import asyncio

    return asyncio.Lock()


def call(callback: Callable[..., Any], *arguments: object) -> Any:
    """Call a callback of the program."""
    return callback(*arguments)


async def async_call(callback: Callable[..., Any], *arguments: object) -> Any:
    """Call a callback of the program, which may be a coroutine function."""
    answer = callback(*arguments)
    return await answer if inspect.isawaitable(answer) else answer
