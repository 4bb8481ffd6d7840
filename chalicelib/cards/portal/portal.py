"""The portal: card access for a programme manager's staff in the web interface.

The staff need no card API credential, because they are signed in to the web interface. Their requests pass through the
normal dispatch with a credential that exists only in memory and has no keys. The credential can read all of the
programme manager's records and carry out the actions in ``MANAGING``. The only card data that it discloses is the
masked card number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.programs.credentials import Credential
from chalicelib.cards.protocol.card_records import ABSENT, CARD_FIELDS, MASKED
from chalicelib.cards.protocol.message import Request
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import API_VERSION
from chalicelib.cards.requests.dispatch import Dispatcher
from chalicelib.foundation import jsontext
from chalicelib.foundation.lazy_dataclasses import dataclass

NAME = "web interface"
"""The credential's name in logs and claims. The space distinguishes the name from the names of stored credentials."""
LEVEL = 1000
"""The portal's access level, which is the highest level."""
MODES: Mapping[str, str] = {**dict.fromkeys(CARD_FIELDS, ABSENT), "pan": MASKED}
MANAGING = (
    "createCard",
    "activateCard",
    "changeCardStatus",
    "unblockPin",
    "assignCardToFeesGroup",
    "assignCardToLimitsGroup",
    "assignCardToUsageGroup",
    "assignCardToRiskRuleGroup",
    "assignExternalPaymentAddress",
)
"""The card API actions that the web interface carries out for the programme manager."""
_STATUSES = {int(status): status for status in Status}


@dataclass(frozen=True, slots=True)
class Portal:
    """The dispatcher of the card pages. Portal actions go to ``reading``, actions in ``MANAGING`` to ``api``, and
    simulator actions to ``simulator``.
    """

    reading: Dispatcher
    api: Dispatcher
    simulator: Dispatcher

    def read(self, manager_id: int, action: str, /, **members: Any) -> Mapping[str, Any]:
        """Carry out a portal action and return its envelope. Raises: Refused."""
        return _ask(self.reading, manager_id, frozenset(self.reading.actions), action, members)

    def act(self, manager_id: int, action: str, reference: str, /, **members: Any) -> Any:
        """Carry out a simulator action or an action in ``MANAGING``, once per reference, and return its data.

        Raises: Refused.
        """
        dispatch = self.api if action in MANAGING else self.simulator
        allowed = frozenset((*self.simulator.actions, *MANAGING))
        asked = {"request_reference_id": reference, **members}
        return _ask(dispatch, manager_id, allowed, action, asked)["data"]

    def request_of(self, action: str) -> type[Request]:
        """Return the request model of an action in ``MANAGING``, from the table of actions."""
        return self.api.actions[action].request


def _ask(
    dispatch: Dispatcher, manager_id: int, allowed: frozenset[str], action: str, members: Mapping[str, Any]
) -> Mapping[str, Any]:
    credential = Credential(LEVEL, allowed, MODES, manager_id=manager_id, name=NAME, keys=())
    asked = {**members, "action": action, "api_version": API_VERSION}
    answer: Mapping[str, Any] = jsontext.read_stored(dispatch.answer_internally(credential, asked))
    if answer["status"] != "success":
        raise Refused(_STATUSES[answer["status_code"]], answer["message"])
    return answer
