"""A guided tour: a TPP and a PSU at both demonstration banks, then a programme manager: a line for each step."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import requests

from causeway.errors import CausewayError
from chalicelib.bootstrap import Hub
from chalicelib.foundation.dynamodb.store import StoreError
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.clients import Clients
from infra import command
from infra.local import stackfile
from infra.tour.browser import NavigationFailed
from infra.tour.card_events import CardEventsTour
from infra.tour.cards import CardTour
from infra.tour.guide import BriefGuide, Guide
from infra.tour.journey import BankTour
from infra.tour.polling import TourFailed
from infra.tour.receiver import EventReceiver, listen
from infra.tour.tpp_client import new_tpp

_GREETING = "The tour plays a TPP, a bank's customer and a programme manager. It takes about 10 seconds."

_FAILURES = (TourFailed, NavigationFailed, CausewayError, StoreError, requests.RequestException)
_CHOICES = ("LOCALSTACK", "AWS_ENDPOINT_URL", "ENGINE", "TLS")
"""Variables that choose how `make run` starts a stack; the tour's own is always the same."""


def run(stack: Mapping[str, Any], hub: Hub, guide: Guide) -> None:
    """Play the tour on a running stack; ``hub`` uses the same stack.

    Raises:
        TourFailed, NavigationFailed, CausewayError.
    """
    with (
        listen() as receiver,
        _client(hub.openbanking.clients, stack, receiver, guide) as client,
        new_tpp(stack["base_url"], client.client_id, guide) as tpp,
    ):
        tour = BankTour(tpp, client, receiver, guide)
        for bank in stack["banks"]:
            tour.bank(bank)
    guide.finish(f"Both banks done. {receiver.count} events were received and verified.")
    programme = stack["programme"]
    catalogue = hub.cards.programmes.catalogue(programme["manager_id"])
    CardTour(stack["base_url"], programme["credentials"]["full"], catalogue, guide).play()
    count = CardEventsTour(stack["base_url"], hub, guide).play(catalogue)
    guide.finish(f"Card events done. {count} events were received and verified.")


@contextlib.contextmanager
def _client(clients: Clients, stack: Mapping[str, Any], receiver: EventReceiver, guide: Guide) -> Iterator[Client]:
    """A client whose events are sent to the tour; on exit its Events URL is removed and it is archived."""
    title, owner = f"Guided Tour {secrets.token_hex(2)}", stack["user"]["email"]
    guide.chapter("A client for the tour")
    guide.step("The operator registers a client whose Events URL points to the tour")
    made = clients.create(
        owner=owner, title=title, callback_urls=[stack["client"]["callback_url"]], events_url=receiver.url
    )
    assert made.events_secret is not None, "it has an Events URL"
    receiver.secret = made.events_secret
    shown = {"client_id": made.client.client_id, "events_secret": made.events_secret}
    guide.command(f'clients add --owner {owner} --title "{title}" --events-url {receiver.url}', shown)
    try:
        yield made.client
    finally:
        with contextlib.suppress(StoreError):  # the stack may be gone, and its clients with it
            clients.update(made.client.client_id, events_url=None)
            clients.archive(made.client.client_id)


def main(arguments: list[str] | None = None) -> int:
    """Play the tour on the running stack, or on a temporary one. Returns the exit code."""
    from infra.local import background

    parser = command.parser("infra.tour", __doc__)
    parser.add_argument("--detail", action="store_true", help="show every request, response, event and page")
    detail = parser.parse_args(arguments).detail
    print(_GREETING if detail else f"{_GREETING} DETAIL=1 shows every request and response.")
    logging.disable()  # the tour prints its own messages
    try:
        running = stackfile.find_running()
        if running is not None:
            _run(running, detail=detail)
            return 0
        print(_explain_own_stack(os.environ), flush=True)
        with background.run_stack() as own:
            print(f"The tour's own stack is ready at {own['base_url']}.", flush=True)
            _run(own, detail=detail)
    except (*_FAILURES, background.NotReady) as error:
        print(f"The tour ended early: {error}", file=sys.stderr)
        return 1
    return 0


def _explain_own_stack(environ: Mapping[str, str]) -> str:
    """Why the tour does not use a stack that the user may have started, and how to have it use one."""
    file, content = stackfile.location(environ), stackfile.read(stackfile.location(environ))
    shown = stackfile.display_path(file)
    found = f"the stack of {shown} does not respond at {content.get('base_url')}" if content else f"there is no {shown}"
    ignored = [name for name in _CHOICES if environ.get(name)]
    note = f"It ignores {' and '.join(ignored)}. " if ignored else ""
    return (
        f"No stack of yours is used: {found}. The tour starts one of its own, on the built-in emulator, and removes it "
        f"at the end. {note}To tour yours, start it with `make run` first, or name its file in {stackfile.VARIABLE}."
    )


def _run(stack: Mapping[str, Any], *, detail: bool) -> None:
    stackfile.point_at_stack(os.environ, stack["environment"])
    run(stack, Hub(Settings.from_environment(stack["environment"])), Guide() if detail else BriefGuide())
