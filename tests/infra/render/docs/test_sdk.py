"""The SDK reference lists every public name with its signature, members and valid links."""

import argparse
import importlib
import inspect
import re
from collections.abc import Iterator

import pytest

import causeway.bank
import causeway.tpp
from causeway import cli, errors
from infra.render import sdk_package
from infra.render.docs import reference, sdk, sdk_layout, sdk_listen
from infra.render.docs.apis import anchor
from infra.render.sdk_package import SOURCE
from tests.kit.documents import rows

PAGES = {name: reference.PAGES[name].text for name in (*sdk_layout.LAYOUTS, "sdk-listen")}
HANDLES = {"tpp": causeway.tpp.Tpp, "consent": causeway.tpp.Consent, "bank": causeway.bank.Bank}
HANDLES |= {"hub": causeway.bank.HubClient}
HANDLES |= {"tpp.native": causeway.tpp.NativeTpp, "consent.native": causeway.tpp.NativeConsent}
ASYNCHRONOUS = {"AsyncTpp", "AsyncConsent", "AsyncNativeTpp", "AsyncNativeConsent"}
SHARED = {"Retries", "CausewayError", "ConfigurationError", "ConnectionLost", "HubError", "UnexpectedAnswer"}


def headings(page: str) -> list[str]:
    return re.findall(r"^#+ `?(.+?)`?$", re.sub(r"```.+?```", "", PAGES[page], flags=re.DOTALL), re.MULTILINE)


def sections() -> Iterator[tuple[str, str]]:
    for text in PAGES.values():
        for part in re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]:
            title, _, below = part.partition("\n")
            if title.startswith("`"):
                yield title.strip("`"), below


@pytest.mark.parametrize("package", ["tpp", "bank"])
def test_every_imported_name_is_documented_once_in_the_sdk_reference(package: str) -> None:
    names = importlib.import_module(f"causeway.{package}").__all__
    pages = [page for page, layout in sdk_layout.LAYOUTS.items() if layout.package == package]
    found = [title for page in {*pages, "sdk-errors"} for title in headings(page)]

    assert [name for name in names if found.count(name) != 1] == []


@pytest.mark.parametrize("handle", HANDLES)
def test_every_public_method_is_documented_in_the_sdk_reference(handle: str) -> None:
    methods = {f"{handle}.{name}": getattr(HANDLES[handle], name) for name in dir(HANDLES[handle]) if name[0] != "_"}
    listed = {title for page in PAGES for title in headings(page)}

    assert {name for name, method in methods.items() if callable(method)} <= listed


def test_anchors_of_a_page_are_unique() -> None:
    for page in PAGES:
        anchors = [anchor(title) for title in headings(page)]
        assert {each for each in anchors if anchors.count(each) > 1} == set(), page


def test_every_name_of_the_sdk_has_an_explanation() -> None:
    explained = {
        title: re.sub(r"```.+?```|^Types: .+$|\|.*", "", below, flags=re.DOTALL | re.MULTILINE).strip()
        for title, below in sections()
    }

    assert [title for title, text in explained.items() if not text] == []
    assert [title for title, below in sections() if re.search(r"\|  \|$", below, re.MULTILINE)] == []


def test_documented_signatures_equal_the_code() -> None:
    checked = 0
    for title, below in sections():
        handle, _, name = title.rpartition(".")
        block = re.search(r"```text\n(?:await )?[\w.]+\((.*?)\)(?: -> .+?)?\n```", below, re.DOTALL)
        if handle in HANDLES and block and "@" not in below:
            wanted = [each for each in inspect.signature(getattr(HANDLES[handle], name)).parameters if each != "self"]
            shown = re.findall(r"(?:^|[(,])\s*\**(\w+): ", block[1])
            assert shown == wanted, title
            checked += 1
    assert checked > 40


def test_types_in_tables_and_signatures_have_no_module_and_link_to_the_type_section() -> None:
    found = {cells[0]: cells[1] for cells in rows(PAGES["sdk-tpp-models"]) if len(cells) == 3}

    assert found["instructed_amount"] == "[InstructedAmountV2](sdk-tpp-models.md#instructedamountv2)"
    assert "causeway.tpp._generated.models" not in "".join(PAGES.values())
    assert "date_from: date | str | None = None" in PAGES["sdk-tpp"]


def test_member_tables_show_optional_members_and_json_names() -> None:
    found = {cells[0]: cells[1:] for cells in rows(PAGES["sdk-bank-models"]) if len(cells) == 3}

    assert found["consent_duration"][0] == "int, optional"
    assert found["consent_duration"][1].endswith(". In JSON consentDuration")
    assert '| `token_type` | `"Bearer"` or `"DPoP"`, default `"Bearer"` |' in PAGES["sdk-tpp"]


def test_asynchronous_classes_are_listed_without_repeated_methods() -> None:
    listed = headings("sdk-tpp")

    assert set(listed) >= ASYNCHRONOUS
    assert not [title for title in listed if title.startswith(("AsyncTpp.", "AsyncConsent."))]
    assert "async for" in PAGES["sdk-tpp"]


def test_bank_functions_are_documented_with_decorator_and_signature() -> None:
    assert "```text\n@bank.pay\ndef pay(order: Order) -> str | None\n```" in PAGES["sdk-bank"]


def test_documented_errors_have_advice() -> None:
    shown = dict(sections())

    assert "Advice: Correct the program: nothing was sent." in shown["ConfigurationError"]
    assert "A kind of [`ApiError`](#apierror). Advice: Ask the PSU to authorize again" in shown["AuthorizationEnded"]
    listed = {code for cells in rows(PAGES["sdk-errors"]) for code in cells[0].split(", ")}
    assert {str(code) for code in (*errors.ADVICE, *errors.HUB_ADVICE)} <= listed


def test_documented_refusals_have_the_status_and_the_error_codes() -> None:
    expected = "Status `401`, code of version 1 `4200`, code of version 2 `WRONG_CREDENTIALS`."

    assert expected in dict(sections())["WrongCredentials"]


def test_documented_options_of_causeway_listen_equal_the_parser() -> None:
    (commands,) = (each.choices for each in cli.parser({})._actions if isinstance(each, argparse._SubParsersAction))
    options = {each.option_strings[-1] for each in commands["listen"]._actions} - {"--help"}

    assert {cells[0].split()[0] for cells in rows(sdk_listen.render()) if cells[0].startswith("--")} - {
        "---"
    } == options
    assert "The hub's address. Variable `CAUSEWAY_BASE_URL`" in PAGES["sdk-listen"]


def test_the_reference_imports_the_sdk_of_this_repository() -> None:
    assert str(sdk_package.load("cli").__file__).startswith(str(SOURCE))


def test_shared_names_link_to_the_errors_page_from_both_packages() -> None:
    for package in ("tpp", "bank"):
        links = sdk_layout.notation(package).links
        assert {links[name].partition("#")[0] for name in SHARED & set(links)} == {"sdk-errors.md"}
    assert sdk_layout.notation("bank").links["Consent"] == "sdk-bank.md#consent"
    assert sdk_layout.notation("tpp").links["Consent"] == "sdk-tpp.md#consent"


@pytest.mark.parametrize(
    ("advice", "marked"),
    [
        ("Ask payment_status(request_id=error.order_id) now.", "Ask `payment_status(request_id=error.order_id)` now."),
        ("Use psu=Psu(ip_address=…) then.", "Use `psu=Psu(ip_address=…)` then."),
        ("Read title, and wait retry_after seconds.", "Read title, and wait `retry_after` seconds."),
    ],
)
def test_code_in_error_advice_is_marked_with_backticks(advice: str, marked: str) -> None:
    assert sdk.mark_code(advice) == marked


def test_a_model_of_every_bank_is_among_those_of_unified_calls_or_among_the_others() -> None:
    layout = sdk_layout.LAYOUTS["sdk-tpp-models"]
    groups = {group.unified: group for group in layout.groups if group.unified is not None}
    unified, others = ({each.name for each in sdk_layout.entries("tpp", groups[key])} for key in (True, False))

    assert unified
    assert {"TokenAnswer", "ConsentAnswer"} <= others
    assert not unified & others
    assert unified | others == set(sdk_layout.names_by_module("tpp")["causeway.tpp._generated.models"])
