"""Time, sleep and lock functions of the synchronous and the asynchronous client. Tests replace these functions."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from causeway.errors import ConfigurationError

if TYPE_CHECKING:
    import asyncio

Result = TypeVar("Result")
_TASKS: set[asyncio.Task[Any]] = set()
"""The running tasks. They are stored because an event loop keeps only weak references to tasks."""


def now() -> float:
    """Return the current time in Unix seconds."""
    return time.time()


def sleep(seconds: float) -> None:
    """Block the thread for a number of seconds."""
    time.sleep(seconds)


async def async_sleep(seconds: float) -> None:
    """Suspend the task for a number of seconds."""
    import asyncio

    await asyncio.sleep(seconds)


def lock() -> threading.Lock:
    """Create a lock for threads."""
    return threading.Lock()


def async_lock() -> asyncio.Lock:
    """Create a lock for the tasks of one event loop."""
    import asyncio

    return asyncio.Lock()


def call(callback: Callable[..., Any], *arguments: object) -> Any:
    """Call a callback of the application. Raises ``ConfigurationError`` if the callback is a coroutine function."""
    answer = callback(*arguments)
    if inspect.iscoroutine(answer):
        answer.close()
        raise ConfigurationError("only AsyncTpp takes coroutine functions")
    return answer


async def async_call(callback: Callable[..., Any], *arguments: object) -> Any:
    """Call a callback of the application. The callback may be a coroutine function."""
    answer = callback(*arguments)
    return await answer if inspect.isawaitable(answer) else answer


def complete(work: Callable[..., Result], *arguments: object) -> Result:
    """Run a function until it returns."""
    return work(*arguments)


async def async_complete(work: Callable[..., Coroutine[Any, Any, Result]], *arguments: object) -> Result:
    """Run a coroutine function until it returns, even if the caller is cancelled meanwhile."""
    import asyncio

    task = asyncio.create_task(work(*arguments))
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)
    return await asyncio.shield(task)
