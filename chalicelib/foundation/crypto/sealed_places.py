"""The table attributes that hold encrypted values, and the encryption context of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from chalicelib.foundation.crypto.keyring import Vault, data_key_id
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SealedPlace:
    """An attribute that is a sealed value, or contains sealed values in lists and maps.

    Attributes:
        table: the table's short name.
        key: the attributes of the table's key.
        attribute: the attribute's name.
        context: the encryption context of the values in an item, or ``None`` if the values cannot be resealed and
            will expire.
    """

    table: str
    key: tuple[str, ...]
    attribute: str
    context: Callable[[Item], str | None]


def sealed_values(value: object) -> Iterator[bytes]:
    """Return the values in ``value`` (a list, a map or an item) that look like sealed values."""
    if isinstance(value, bytes) and data_key_id(value) is not None:
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from sealed_values(member)
    elif isinstance(value, list):
        for member in value:
            yield from sealed_values(member)


def reseal_values(vault: Vault, value: Any, context: str, current: int) -> Any:
    """Return ``value`` after all sealed values were resealed with the data key ``current``. Raises: Unsealable."""
    if isinstance(value, bytes) and data_key_id(value) not in (None, current):
        return vault.reseal(value, context)
    if isinstance(value, Mapping):
        return {name: reseal_values(vault, member, context, current) for name, member in value.items()}
    if isinstance(value, list):
        return [reseal_values(vault, member, context, current) for member in value]
    return value
