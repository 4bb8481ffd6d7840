"""Examples of the card API's page, played: what is answered is what the page shows, but for ids and times.

Ids are those of a new stack on the page. What an answer names by one of them is put into later requests instead of it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tests.cards.scenes import Scene

PLAYED = re.compile(
    r"^```bash\nask (?P<action>\w+) '(?P<members>.*?)'(?P<simulated> simulator)?\n```\n\n```json\n(?P<answer>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
OTHER_EACH_TIME = {
    *("id", "holder_id", "account_id", "card_id", "card_request_id", "transaction_id", "authorize_id", "dispute_id"),
    *("epm_transaction_id", "epm_mandate_id", "parent_transaction_id", "transaction_log_id", "trans_link"),
    *("iban", "external_transaction_reference", "pan", "cvc2", "acs_password", "expiration"),
    *("auth_code", "stan", "trace_id", "trace_number", "retrieval_reference_number"),
    *("created_at", "cut_off", "date_updated", "date_valid", "settlement_date", "reconciliation_date"),
    *("transmission_date", "transmission_time", "transaction_local_time", "acquirer_processing_date"),
}
_ID_OF = {
    "createAccount": "account_id",
    "assignExternalPaymentAddress": "epm_address_id",
    "transferToExternalPayment": "epm_transaction_id",
}
"""What later requests call the ``id`` that an action answers."""
_SAME = {"record_id": "account_id", "last_id": "transaction_id", "returned_epm_transaction_id": "epm_transaction_id"}


def play(scene: Scene, text: str) -> int:
    """Play the examples of a text from top to bottom; answers how many there are."""
    played = list(PLAYED.finditer(text))
    assert len(played) == len(re.findall("^ask [a-z]", text, re.MULTILINE))
    known: dict[tuple[str, str], Any] = {}
    for each in played:
        asked = json.loads(f"{{{each['members']}}}")
        members = {name: known.get((_SAME.get(name, name), str(value)), value) for name, value in asked.items()}
        found = json.loads((scene.sim if each["simulated"] else scene.do)(each["action"], **members).raw)
        shown = json.loads(each["answer"])
        assert alike(found) == alike(shown), each["action"]
        known |= _named(_ID_OF.get(each["action"], "id"), shown["data"], found["data"])
    return len(played)


def alike(value: Any) -> Any:
    """An answer without what is another each time."""
    if isinstance(value, list):
        return [alike(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: "…" if name in OTHER_EACH_TIME else alike(each) for name, each in value.items()}


def _named(id_of: str, shown: Any, found: Any) -> dict[tuple[str, str], Any]:
    """What the page calls what: by the name and the value that it shows, the value that there is."""
    if isinstance(shown, list):
        pairs = [_named(id_of, one, other) for one, other in zip(shown, found, strict=True)]
        return {key: value for each in pairs for key, value in each.items()}
    if not isinstance(shown, dict):
        return {}
    scalar = {name for name, value in shown.items() if isinstance(value, str | int)} & OTHER_EACH_TIME
    return {(id_of if name == "id" else name, str(shown[name])): found[name] for name in scalar}
