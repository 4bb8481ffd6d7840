"""Write operations on single items, and the DynamoDB requests for an operation or a transaction of operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from chalicelib.foundation.dynamodb.conditions import Condition, condition_members
from chalicelib.foundation.dynamodb.items import Item, pack, serialize
from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Put:
    table: str
    item: Item
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Set, remove or add to attributes of one item, creating the item unless a condition forbids it.

    ``add`` increments a number, or adds members to a set of numbers or strings. ``delete`` removes members of a set.
    """

    table: str
    key: Item
    set: Mapping[str, Any] = field(default_factory=dict)
    remove: Sequence[str] = ()
    add: Mapping[str, int | frozenset[int] | frozenset[str]] = field(default_factory=dict)
    condition: Condition | None = None
    delete: Mapping[str, frozenset[int] | frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delete:
    table: str
    key: Item
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on an item that the transaction does not modify."""

    table: str
    key: Item
    condition: Condition


Operation = Put | Update | Delete | Check


def transaction_member(operation: Operation, table_name: str) -> dict[str, Any]:
    """Convert an operation to a member of ``TransactItems``. ``table_name`` is the table's full name."""
    match operation:
        case Put():
            return {"Put": put_members(operation, table_name)}
        case Update():
            return {"Update": update_members(operation, table_name)}
        case Delete():
            return {"Delete": delete_members(operation, table_name)}
        case Check():
            check = {"TableName": table_name, "Key": pack(operation.key)}
            return {"ConditionCheck": check | condition_members(operation.condition)}


def put_members(put: Put, table_name: str) -> dict[str, Any]:
    return {"TableName": table_name, "Item": pack(put.item)} | condition_members(put.condition)


def delete_members(delete: Delete, table_name: str) -> dict[str, Any]:
    return {"TableName": table_name, "Key": pack(delete.key)} | condition_members(delete.condition)


def update_members(update: Update, table_name: str) -> dict[str, Any]:
    request = {"TableName": table_name, "Key": pack(update.key)} | condition_members(update.condition)
    names = request.setdefault("ExpressionAttributeNames", {})
    values = request.setdefault("ExpressionAttributeValues", {})
    clauses = []
    verbs = {"SET": (" = ", update.set), "ADD": (" ", update.add), "DELETE": (" ", update.delete)}
    for verb, (between, changes) in verbs.items():
        parts = []
        for attribute, value in changes.items():
            name, placeholder = f"#u{len(names)}", f":u{len(values)}"
            names[name], values[placeholder] = attribute, serialize(value)
            parts.append(f"{name}{between}{placeholder}")
        clauses += [f"{verb} {', '.join(parts)}"] if parts else []
    removed = {f"#u{number}": attribute for number, attribute in enumerate(update.remove, len(names))}
    names |= removed
    clauses += [f"REMOVE {', '.join(removed)}"] if removed else []
    request["UpdateExpression"] = " ".join(clauses)
    if not values:
        del request["ExpressionAttributeValues"]
    return request
