"""The client of a list: the one in the address, else the one that the browser had last, else the newest active one."""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.records.client_list import ClientList
from chalicelib.openbanking.records.client_record import Client


@dataclass(frozen=True, slots=True)
class ClientChoice:
    """The clients that a form offers, and the chosen one.

    Attributes:
        client: ``None`` if there is none, or none has the wanted id.
        has_archived_only: whether the user has clients, but archived ones only.
        examined: how many of the newest clients were examined, if none of them can be offered and there are older ones.
    """

    clients: Sequence[Client]
    client: Client | None
    has_archived_only: bool = False
    examined: int = 0


def choose_client(client_list: ClientList, owner: str, wanted: str, last: str, *, active: bool = False) -> ClientChoice:
    """The owner's clients and the one to show; if ``active``, only active ones.

    The ``last`` one counts only if it is among those on offer, so it costs no read, and grants nothing.
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
