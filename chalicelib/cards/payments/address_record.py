"""External payment addresses: bank-account details that lead to an account, and how a payment finds them.

Each number of an address has an item with the account that it leads to. The item's key is the number, so no two
addresses have the same. A British IBAN is its sort code and account number, and counts as the same number.
"""

from __future__ import annotations

from typing import ClassVar

from chalicelib.cards.payments.pending_index import TABLE, PendingRecord
from chalicelib.cards.protocol.payment_states import ADDRESS_RULES, LIVE
from chalicelib.cards.protocol.status_codes import Refused, Status, require_permitted
from chalicelib.cards.protocol.values import ASSIGNED
from chalicelib.cards.storage.record import Key, without_none
from chalicelib.foundation.dynamodb.store import Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass

_SORT_CODE, _ACCOUNT_NUMBER = slice(8, 14), slice(14, 22)


@dataclass(frozen=True, kw_only=True)
class ExternalAddress(PendingRecord):
    """An address. ``account_id`` is an account's or, by ``account_type``, a special account's.

    Until the provider has opened it (``assignment_state``) it has no numbers. ``method`` and ``type_id`` are the
    interface's ``epm_method_id`` and ``epm_type_id``; ``currency`` and ``country`` are ISO numbers.
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
        """Whether payments may use it."""
        return self.status == LIVE and self.assignment_state == ASSIGNED

    def require(self, action: str) -> None:
        """Raises: Refused, when the address's status does not let the action pass, or it is not assigned."""
        if self.assignment_state != ASSIGNED:
            raise Refused(Status.WRONG_STATE, "the address is not assigned")
        require_permitted(ADDRESS_RULES[action][self.status])


def find_key(*, iban: str | None = None, sort_code: str | None = None, account_number: str | None = None) -> Key:
    """The key of a number; of the IBAN if there is one, in capitals without spaces."""
    if iban is None:
        number = f"UK:{sort_code}:{account_number}"
    elif iban.startswith("GB"):
        number = f"UK:{iban[_SORT_CODE]}:{iban[_ACCOUNT_NUMBER]}"
    else:
        number = f"IBAN:{iban}"
    return TABLE, {"owner": f"address#{number}", "part": "number"}


def number_keys(address: ExternalAddress) -> list[Key]:
    """The keys by which a payment finds an address, without repeats."""
    keys = [find_key(iban=address.iban)] if address.iban else []
    if address.sort_code and address.account_number:
        british = find_key(sort_code=address.sort_code, account_number=address.account_number)
        keys += [british] if british not in keys else []
    return keys


def put_numbers(address: ExternalAddress, write_id: str) -> list[Put]:
    """The writes that make the numbers lead to the address; they fail if another one has any of them.

    An item has what a payment needs before it reads further: ``address_id``, ``manager_id``, ``account_id``,
    ``account_type``, ``holder_id`` (unless the account is a special one), and ``card_id`` if there is one.
    """
    same = ("manager_id", "account_id", "account_type", "holder_id", "card_id")
    leads_to = without_none({name: getattr(address, name) for name in same})
    leads_to |= {"address_id": address.id, "written_by": write_id}
    return [Put(table, key | leads_to, absent("owner")) for table, key in number_keys(address)]
