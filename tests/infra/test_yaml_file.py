"""YAML files that people write are read strictly, and errors do not quote the text."""

import pytest

from infra import yaml_file

SECRET = "what-nobody-is-shown"


def test_yaml_integers_are_decimal_and_fractions_are_read_as_text() -> None:
    assert yaml_file.parse_yaml("[036, 1:30, 0x10, 0.86, 1e3, yes, true, 2026-03-02, ~, 'a']") == [
        36,
        "1:30",
        "0x10",
        "0.86",
        "1e3",
        "yes",
        True,
        "2026-03-02",
        None,
        "a",
    ]


@pytest.mark.parametrize("levels", [101, 5000])
def test_deeply_nested_yaml_is_rejected(levels: int) -> None:
    yaml_file.parse_yaml("[" * 100 + "]" * 100)

    with pytest.raises(yaml_file.InvalidYaml, match=r"^the file is nested too deeply$"):
        yaml_file.parse_yaml("[" * levels + "]" * levels)


def test_an_unpaired_surrogate_in_yaml_is_rejected() -> None:
    with pytest.raises(yaml_file.InvalidYaml, match="not valid YAML text"):
        yaml_file.parse_yaml("a: \ud800")


@pytest.mark.parametrize(
    "text",
    [
        f"a: [{SECRET}",
        f"a: &b {SECRET}\nc: *d",
        f"{SECRET}: \x00",
        f"a: !x {SECRET}",
        f"? [{SECRET}]\n: 1",
        rf'"{SECRET}\ud800": 1',
        rf'["{SECRET}\udc00"]',
    ],
)
def test_invalid_yaml_is_reported_without_quoting_the_text(text: str) -> None:
    with pytest.raises(yaml_file.InvalidYaml) as caught:
        yaml_file.parse_yaml(text)

    assert SECRET not in str(caught.value)
