"""External payment addresses: bank details that identify an account, and their lookup by number.

Each number of an address is the key of an item that refers to the account, so two addresses cannot have the same
number. A British IBAN is stored as its sort code and account number, because both notations identify the same account.
"""

from __future__ import annotations

from typing import ClassVar

from chalicelib.cards.payments.pending_index import TABLE, PendingRecord
from chalicelib.cards.protocol.payment_states import ADDRESS_RULES, LIVE
from chalicelib.cards.protocol.status_codes import Refused, Status, require_permitted
from chalicelib.cards.protocol.values import ASSIGNED
from chalicelib.cards.storage.record import without_none
from chalicelib.foundation.dynamodb.store import Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key

_SORT_CODE, _ACCOUNT_NUMBER = slice(8, 14), slice(14, 22)


@dataclass(frozen=True, kw_only=True)
class ExternalAddress(PendingRecord):
    """An address. ``account_id`` is a holder's account or, depending on ``account_type``, a special account.

    The address has no numbers until the provider has opened it (``assignment_state``). ``method`` and ``type_id`` are
    the API's ``epm_method_id`` and ``epm_type_id``; ``currency`` and ``country`` are numeric ISO codes.
    """

    kind: ClassVar = "external_address"
    missing: ClassVar = Status.NO_EXTERNAL_ADDRESS

    method: int
    type_id: int
    account_id: int
    account_type: int
    currency: int
    country: int
    account_name: str
    holder_id: int | None = None
    card_id: int | None = None
    account_number: str | None = None
    sort_code: str | None = None
    iban: str | None = None
    bic: str | None = None
    status: str = LIVE
    assignment_state: int = ASSIGNED
    reason_code: int | None = None
    note: str | None = None
    risk_score: int | None = None

    @property
    def is_live(self) -> bool:
        """Whether payments may use the address."""
        return self.status == LIVE and self.assignment_state == ASSIGNED

    def require(self, action: str) -> None:
        """Check that the address is assigned and that its status allows the action. Raises: Refused."""
        if self.assignment_state != ASSIGNED:
            raise Refused(Status.WRONG_STATE, "the address is not assigned")
        require_permitted(ADDRESS_RULES[action][self.status])


def find_key(*, iban: str | None = None, sort_code: str | None = None, account_number: str | None = None) -> Key:
    """Return the lookup key of a number. An IBAN's key is in upper case without spaces."""
    if iban is None:
        number = f"UK:{sort_code}:{account_number}"
    elif iban.startswith("GB"):
        number = f"UK:{iban[_SORT_CODE]}:{iban[_ACCOUNT_NUMBER]}"
    else:
        number = f"IBAN:{iban}"
    return TABLE, {"owner": f"address#{number}", "part": "number"}


def number_keys(address: ExternalAddress) -> list[Key]:
    """Return the lookup keys of an address, without duplicates."""
    keys = [find_key(iban=address.iban)] if address.iban else []
    if address.sort_code and address.account_number:
        british = find_key(sort_code=address.sort_code, account_number=address.account_number)
        keys += [british] if british not in keys else []
    return keys


def put_numbers(address: ExternalAddress, write_id: str) -> list[Put]:
    """Return the write operations that create the lookup items of an address. The writes fail if another address has
    one of the numbers.

    A lookup item has the ids that a payment needs to read other records: ``address_id``, ``manager_id``,
    ``account_id``, ``account_type``, ``holder_id`` (unless the account is a special account), and ``card_id`` if there
    is a card.
    """
    same = ("manager_id", "account_id", "account_type", "holder_id", "card_id")
    leads_to = without_none({name: getattr(address, name) for name in same})
    leads_to |= {"address_id": address.id, "written_by": write_id}
    return [Put(table, key | leads_to, absent("owner")) for table, key in number_keys(address)]
