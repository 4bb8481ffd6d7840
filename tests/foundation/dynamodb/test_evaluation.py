"""A condition evaluates to true if and only if DynamoDB would apply a write with the condition."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.foundation.aws.calls import send
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.evaluation import holds
from chalicelib.foundation.dynamodb.store import Check, ConditionFailed, Store, absent
from chalicelib.foundation.identifiers import new_id

pytestmark = pytest.mark.dynamodb

texts, numbers = st.text("ab", max_size=2), st.integers(-1, 2)
values = st.one_of(
    texts,
    numbers,
    st.just(Decimal("1.5")),
    st.booleans(),
    st.none(),
    st.binary(max_size=1),
    st.lists(numbers, max_size=2),
    st.frozensets(st.sampled_from(["a", "b"]), min_size=1),
)
sized = st.one_of(texts, st.frozensets(texts.filter(bool), min_size=1), st.lists(numbers, max_size=2))
items = st.fixed_dictionaries({}, optional={"x": values, "y": values, "sized": sized})


@st.composite
def leaves(draw: st.DrawFn) -> Condition:
    attribute = Attr(draw(st.sampled_from(["x", "y"])))
    match draw(
        st.sampled_from(["exists", "not_exists", "begins_with", "contains", "between", "in", "compare", "size"])
    ):
        case "exists":
            return attribute.exists()
        case "not_exists":
            return attribute.not_exists()
        case "begins_with":
            return attribute.begins_with(draw(texts))
        case "contains":
            return attribute.contains(draw(st.one_of(texts.filter(bool), numbers)))
        case "between":
            return attribute.between(*sorted([draw(numbers), draw(numbers)]))
        case "in":
            return attribute.is_in(draw(st.lists(values, min_size=1, max_size=2)))
        case "size":
            return draw(comparisons(Attr("sized").size(), numbers))
        case _:
            return draw(comparisons(attribute, st.one_of(texts, numbers)))


@st.composite
def comparisons(draw: st.DrawFn, compared: Any, others: st.SearchStrategy[Any]) -> Condition:
    name = draw(st.sampled_from(["eq", "ne", "lt", "lte", "gt", "gte"]))
    made: Condition = getattr(compared, name)(draw(others))
    return made


conditions = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        inner.map(lambda each: ~each),
    ),
    max_leaves=3,
)


@pytest.fixture(scope="module")
def store(resources: None) -> Store:
    return Store(lambda operation, request: send("dynamodb", operation, request), "causeway-local")


@given(items, conditions)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_local_evaluation_of_a_condition_agrees_with_dynamodb(
    store: Store, item: dict[str, Any], condition: Condition
) -> None:
    key = {"claim": new_id()}
    store.put("idempotency", {**key, **item})

    assert holds(condition, {**key, **item}) == _is_applied(store, key, condition)


def test_local_evaluation_of_a_condition_on_a_missing_item_agrees_with_dynamodb(store: Store) -> None:
    key = {"claim": new_id()}

    for condition in (absent("claim"), Attr("claim").exists(), Attr("x").ne(1), Attr("x").eq(1)):
        assert holds(condition, None) == _is_applied(store, key, condition)


def test_a_write_without_a_condition_is_always_allowed() -> None:
    assert holds(None, None)


def _is_applied(store: Store, key: dict[str, Any], condition: Condition) -> bool:
    try:
        store.transact([Check("idempotency", key, condition)])
    except ConditionFailed:
        return False
    return True
