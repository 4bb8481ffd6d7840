"""The in-memory storage meets the requirements that the SDK sets for every storage."""

import asyncio
import json
from collections.abc import Mapping

import pytest

from causeway.bank import MemoryStorage, Storage
from causeway.bank.storage import Values
from tests.sdk.bank.harness import NOVEMBER, BankHarness, order
from tests.sdk.scripted_hub import Clock


class JsonStorage(MemoryStorage):
    """A storage that rejects values that JSON cannot represent, and returns values as parsed from JSON."""

    async def add(self, kind: str, key: str, value: Values, *, owner: str = "", expires_at: float = 0.0) -> bool:
        return await super().add(kind, key, as_json(value), owner=owner, expires_at=expires_at)

    async def replace(self, kind: str, key: str, old: Values, new: Values | None) -> bool:
        return await super().replace(kind, key, as_json(old), None if new is None else as_json(new))


def as_json(value: Values) -> Values:
    found: Mapping[str, object] = json.loads(json.dumps(value))
    return found


def test_a_storage_key_is_added_once_and_replaced_only_if_its_value_is_unchanged(clock: Clock) -> None:
    async def steps() -> None:
        storage: Storage = MemoryStorage()
        assert await storage.add("order", "1", {"n": 1})
        assert not await storage.add("order", "1", {"n": 2})
        assert await storage.add("page", "1", {"n": 3})
        assert not await storage.replace("order", "1", {"n": 2}, {"n": 4})
        assert await storage.replace("order", "1", {"n": 1}, {"n": 4})
        assert await storage.get("order", "1") == {"n": 4}
        assert await storage.replace("order", "1", {"n": 4}, None)
        assert await storage.get("order", "1") is None
        assert not await storage.replace("order", "1", {"n": 4}, {"n": 5})

    asyncio.run(steps())


def test_storage_values_are_found_by_owner_in_insertion_order(clock: Clock) -> None:
    async def steps() -> None:
        storage = MemoryStorage()
        for key, owner in (("b", "anna"), ("a", "anna"), ("c", "otto")):
            await storage.add("consent", key, {"n": 1}, owner=owner)
        await storage.replace("consent", "b", {"n": 1}, {"n": 2})
        assert await storage.find("consent", "anna") == {"b": {"n": 2}, "a": {"n": 1}}
        assert list(await storage.find("consent", "anna")) == ["b", "a"]
        assert await storage.find("page", "anna") == {}

    asyncio.run(steps())


def test_an_expired_storage_value_is_not_returned_and_is_deleted(clock: Clock) -> None:
    async def steps() -> None:
        storage = MemoryStorage()
        await storage.add("page", "1", {"n": 1}, expires_at=clock.seconds + 10)
        clock.seconds += 10
        assert await storage.get("page", "1") is None
        assert await storage.find("page") == {}
        assert not await storage.replace("page", "1", {"n": 1}, {"n": 2})
        assert await storage.add("page", "1", {"n": 3}, expires_at=clock.seconds + 10)
        clock.seconds += 61
        await storage.add("page", "2", {"n": 4})
        assert len(storage._rows) == 1

    asyncio.run(steps())


@pytest.mark.parametrize("more", [{}, {"a_later_member": [{"rate": 1.25}, None, 7]}], ids=["known", "unknown members"])
def test_a_bank_application_works_with_a_storage_that_supports_only_json_values(
    version: int, more: dict[str, object], clock: Clock
) -> None:
    clock.seconds = NOVEMBER
    harness = BankHarness(version, clock, storage=JsonStorage())
    token = harness.consent("consent_type=one_time", accounts=("1001",))

    taken = harness.webhook("single", {**order(version), **more}, token=token)
    assert taken.status_code == 200, taken.text
    assert harness.decide(taken.json()["confirmation_url"], "yes").status_code == 303

    found = harness.run(harness.bank.find_payment(taken.json()["payment_id"]))
    assert found is not None
    assert found.order == harness.full.orders[0]
    harness.run(harness.bank.end_consent("psu-1", "consent1"))
    assert harness.run(harness.bank.consents("psu-1")) == []
    harness.close()
