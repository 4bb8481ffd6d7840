"""Plays a guided tour with one line per step: first a TPP and a PSU at two demonstration banks, then a programme
manager.
"""

from __future__ import annotations

import logging
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from typing import Any

from httpx import HTTPError
from requests import RequestException

from causeway.errors import CausewayError
from causeway.tpp import Tpp
from chalicelib.bootstrap import Hub
from chalicelib.cards.programs.catalogue import Catalogue
from chalicelib.cards.programs.credentials import Rights
from chalicelib.cards.protocol.card_records import CARD_FIELDS, PLAIN
from chalicelib.foundation.dynamodb.store import StoreError
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.records.client_record import Client
from infra import command
from infra.event_receiver import EventMissing, EventReceiver, listen
from infra.local import stackfile
from infra.programme import loading
from infra.programme.file import WantedManager
from infra.psu_browser import NavigationFailed
from infra.tour.cards import CardTour
from infra.tour.guide import Guide, TourFailed, format_json
from infra.tour.tpp import TppTour

_GREETING = "The tour plays a TPP, a bank's customer and a programme manager. It takes about 10 seconds."
_FAILURES = (TourFailed, EventMissing, NavigationFailed, CausewayError, StoreError, HTTPError, RequestException)
_RIGHTS = {"tour": Rights(access_level=1000, actions=None, modes=dict.fromkeys(CARD_FIELDS, PLAIN))}
_CHOICES = ("LOCALSTACK", "AWS_ENDPOINT_URL", "ENGINE", "TLS")
"""Variables that configure a stack started with `make run`. They are ignored for the stack that the tour starts."""


def run(stack: Mapping[str, Any], hub: Hub, guide: Guide) -> None:
    """Run the tour on the running stack, which ``hub`` also uses. Raises: one of ``_FAILURES``."""
    base = stack["base_url"]
    with listen(guide.event) as receiver, guide.http_client("TPP") as http:
        with _register_client(hub, stack, receiver, guide) as client:
            tpp = Tpp(base, client_id=client.client_id, http_client=http)
            tour = TppTour(tpp, client.title, client.callback_url, receiver, guide)
            for bank in stack["banks"]:
                tour.play(bank)
        guide.finish("Both banks done.")
    with listen(guide.event) as receiver, guide.http_client("PM") as http:
        with _load_manager(hub, stack, receiver, guide) as (catalogue, credential):
            CardTour(base, credential, http, receiver, guide).play(catalogue)
        guide.finish("The card API is done.")


@contextmanager
def _register_client(hub: Hub, stack: Mapping[str, Any], receiver: EventReceiver, guide: Guide) -> Iterator[Client]:
    """Register a client that sends events to the tour. On exit, remove the client's Events URL and archive the
    client.
    """
    clients, owner, callbacks = hub.openbanking.clients, stack["user"]["email"], [stack["client"]["callback_url"]]
    title = f"Guided Tour {secrets.token_hex(2)}"
    guide.chapter("A client for the tour")
    guide.step("The operator registers a client whose Events URL points to the tour")
    made = clients.create(owner=owner, title=title, callback_urls=callbacks, events_url=receiver.url)
    receiver.secret = str(made.events_secret)
    summary = format_json({"client_id": made.client.client_id, "events_secret": made.events_secret})
    guide.say("done", "OPERATOR", f'clients add --owner {owner} --title "{title}" --events-url {receiver.url}', summary)
    try:
        yield made.client
    finally:
        with suppress(StoreError):  # the stack may be gone, and its clients with it
            clients.update(made.client.client_id, events_url=None)
            clients.archive(made.client.client_id)


@contextmanager
def _load_manager(
    hub: Hub, stack: Mapping[str, Any], receiver: EventReceiver, guide: Guide
) -> Iterator[tuple[Catalogue, dict[str, Any]]]:
    """Load a copy of the stack's programme manager, with a credential. On exit, remove the copy's Events URL."""
    guide.chapter("The card API")
    guide.step("The operator loads a programme manager with an Events URL")
    number, like = secrets.randbelow(10**6) + 10**6, hub.cards.programmes.catalogue(stack["programme"]["manager_id"])
    catalogue = replace(like, manager_id=number, name=f"Guided Tour {number}", events_url=receiver.url)
    (plan,) = loading.load(hub, [WantedManager(catalogue, _RIGHTS)])
    receiver.secret = str(plan.events_secret)
    summary = format_json({"id": number, "events_url": receiver.url, "events_secret": plan.events_secret})
    guide.say("done", "OPERATOR", "programme load guided-tour.yaml", summary)
    try:
        yield catalogue, asdict(plan.secrets["tour"])
    finally:
        with suppress(StoreError):
            loading.load(hub, [WantedManager(replace(catalogue, events_url=None), _RIGHTS)])


def main(arguments: list[str] | None = None) -> int:
    """Run the tour on the running stack, or on a temporary stack. Returns the exit code."""
    from infra.local import background

    parser = command.parser("infra.tour", __doc__)
    parser.add_argument("--detail", action="store_true", help="show every request, response, event and page")
    detail = parser.parse_args(arguments).detail
    print(_GREETING if detail else f"{_GREETING} DETAIL=1 shows every request and response.")
    logging.disable()  # the tour prints its own messages
    try:
        with ExitStack() as ending:
            stack = stackfile.find_running()
            if stack is None:
                print(explain_own_stack(os.environ), flush=True)
                stack = ending.enter_context(background.run_stack())
                print(f"The tour's own stack is ready at {stack['base_url']}.", flush=True)
            stackfile.point_at_stack(os.environ, stack["environment"])
            run(stack, Hub(Settings.from_environment(stack["environment"])), Guide(detail=detail))
    except (*_FAILURES, background.NotReady) as error:
        print(f"The tour ended early: {error}", file=sys.stderr)
        return 1
    return 0


def explain_own_stack(environ: Mapping[str, str]) -> str:
    """Explain why the tour does not use the stack that the user has started, and how to select this stack."""
    file, content = stackfile.location(environ), stackfile.read(stackfile.location(environ))
    path = stackfile.display_path(file)
    found = f"the stack of {path} does not respond at {content.get('base_url')}" if content else f"there is no {path}"
    ignored = [name for name in _CHOICES if environ.get(name)]
    note = f"It ignores {' and '.join(ignored)}. " if ignored else ""
    return (
        f"No stack of yours is used: {found}. The tour starts one of its own, on the built-in emulator, and removes it "
        f"at the end. {note}To tour yours, start it with `make run` first, or name its file in {stackfile.VARIABLE}."
    )
