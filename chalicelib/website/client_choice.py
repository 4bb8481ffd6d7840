"""Chooses the client of a list: from the URL, the last client in this browser, or the newest active client."""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.client_list import ClientList
from chalicelib.openbanking.records.client_record import Client


@dataclass(frozen=True, slots=True)
class ClientChoice:
    """The clients that a form offers, and the chosen client.

    Attributes:
        client: ``None`` if the user has no clients, or no client with the requested id.
        has_archived_only: whether all of the user's clients are archived.
        examined: the number of newest clients examined, if none of them qualifies and older clients exist.
    """

    clients: Sequence[Client]
    client: Client | None
    has_archived_only: bool = False
    examined: int = 0


def choose_client(client_list: ClientList, owner: str, wanted: str, last: str, *, active: bool = False) -> ClientChoice:
    """Return the owner's clients and the client to show. If ``active`` is true, include only active clients.

    ``last`` is used only if it is among the offered clients, so it costs no read and grants no access.
    """
    offered = client_list.choices(owner, wanted, active=active)
    clients = offered.clients
    by_id = {client.client_id: client for client in clients}
    examined = offered.examined if offered.is_cut and not clients else 0
    if wanted or examined:
        return ClientChoice(clients, by_id.get(wanted), examined=examined)
    if not clients:
        return ClientChoice(clients, None, has_archived_only=offered.examined > 0 and not active)
    newest = next((client for client in clients if client.active), clients[0])
    return ClientChoice(clients, by_id.get(last, newest))
