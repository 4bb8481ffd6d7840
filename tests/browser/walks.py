"""Walks: sequences of pages, each with the step that leads to it from the one before. What is said of pages is data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from chalicelib.website.page_links import PAGES
from tests.browser.visitor import Visitor

Step = Callable[[Visitor], None]
Stops = tuple[tuple[str, Step], ...]
"""Names of pages, and the step that leads there from the page before."""


@dataclass(frozen=True)
class Walk:
    """Pages one after the other, by their names, and how a visitor gets from one to the next.

    Attributes:
        meets: the addresses of the web interface that some of the pages stand at.
    """

    name: str
    stops: Stops
    meets: tuple[str, ...] = ()

    def pages(self, visitor: Visitor) -> Iterator[str]:
        """Lead a visitor along; gives the name of each page when the visitor is there, unique among all walks."""
        for name, step in self.stops:
            step(visitor)
            yield f"{self.name}-{name}"


def place(address: str) -> str | None:
    """The row of the web interface's ``PLACES`` that an address belongs to."""
    path = urlsplit(address).path
    return next((row for row in PAGES if re.fullmatch(re.sub(r"{\w+}", "[^/]+", row), path)), None)


def opens(path: str) -> Step:
    """The page at an address of the service."""
    return lambda visitor: visitor.open(path)


def presses(button: str, **fields: str) -> Step:
    """The page behind a button, once the fields (by their ids) are filled in."""

    def step(visitor: Visitor) -> None:
        for name, value in fields.items():
            visitor.page.locator(f"#{name}").fill(value)
        visitor.press(button)

    return step


def follows(link: str) -> Step:
    """The page behind a link."""
    return lambda visitor: visitor.follow(link)


def goes_back(visitor: Visitor) -> None:
    """The page before, as the browser's own button leads there."""
    visitor.page.go_back()
