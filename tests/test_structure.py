"""The shape of the code: imports point downwards, and every module has one subject of readable length."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.many import cases

ROOT = Path(__file__).parent.parent
LONGEST = 400

SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted([ROOT / "app.py", *(ROOT / "chalicelib").rglob("*.py"), *(ROOT / "infra").rglob("*.py")])
}
MODULES = sorted(name for name in SOURCES if not name.startswith("infra"))
PACKAGE = "chalicelib"
FOUNDATION = f"{PACKAGE}.foundation"
DELIVERY = f"{PACKAGE}.delivery"
PROTOCOLS = (f"{PACKAGE}.openbanking.protocol", f"{PACKAGE}.cards.protocol")
OPEN_BANKING = f"{PACKAGE}.openbanking"
PAGES = f"{PACKAGE}.website.pages"
STATISTICS = f"{PACKAGE}.statistics"
STATISTICS_RECORDS = (
    "daily_reports",
    "day_records",
    "days",
    "downtime",
    "histogram",
    "rounding",
    "slip_reading",
    "slips",
    "tallies",
)
WEBSITE_RECORDS = ("passwords", "users", "sessions", "one_time", "known_browsers", "attempts", "journeys")
RECORDS = [
    *(name for name in MODULES if name.startswith(f"{OPEN_BANKING}.records.")),
    *(name for name in MODULES if name.startswith(f"{PACKAGE}.cards.storage.")),
    *(f"{PACKAGE}.website.{name}" for name in WEBSITE_RECORDS),
    *(f"{STATISTICS}.{name}" for name in STATISTICS_RECORDS),
]
HTTP_NAMES = ("answers", "routes", "pages", "site", "static_files", "jobs")
"""Modules that speak HTTP or are started by it, besides those that end in ``_api`` or ``_views``."""
FRAMEWORKS = ("chalice", "boto3", "botocore", "requests", "urllib3", "aws_lambda_powertools", "jinja2")


def reached(module: str) -> set[str]:
    """Everything that is loaded when a module is: its imports, and what those of this repository import in turn."""
    found: set[str] = set()
    pending = [module]
    while pending:
        new = imports(pending.pop(), at_load=True) - found
        found |= new
        pending += new & SOURCES.keys()
    return found


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(SOURCES[module].read_text(encoding="utf-8"))


@cache
def imports(module: str, at_load: bool = False) -> frozenset[str]:
    """The modules that a module imports; with ``at_load`` without those inside functions or for type checkers."""
    return frozenset(_imports(tree(module).body, at_load))


def _imports(body: list[ast.stmt], at_load: bool) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.Import():
                yield from (name.name for name in statement.names)
            case ast.ImportFrom(module=str(source)):
                assert statement.level == 0, "imports name the whole module"
                names = [f"{source}.{name.name}" for name in statement.names]
                yield from (name if name in SOURCES else source for name in names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() if at_load:
                pass
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) if at_load:
                yield from _imports(statement.orelse, at_load)
            case _:
                inner = [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.stmt)]
                yield from _imports(inner, at_load)


def within(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def own(module: str) -> set[str]:
    """What a module imports of this repository."""
    return {name for name in imports(module) if within(name, "app", PACKAGE, "infra", "tests")}


def modules_of(*packages: str) -> list[str]:
    return [module for module in MODULES if within(module, *packages)]


def speaks_http(module: str) -> bool:
    last = module.rpartition(".")[2]
    return last.endswith(("_api", "_views")) or last in HTTP_NAMES


DOMAIN = [
    module
    for module in MODULES
    if not speaks_http(module)
    and not within(module, "app", f"{PACKAGE}.application", f"{PACKAGE}.bootstrap", f"{PACKAGE}.demo_bank")
    and module != f"{FOUNDATION}.http.web"
]


def test_the_rules_are_held_against_the_real_modules() -> None:
    assert {f"{FOUNDATION}.dynamodb.store", f"{PACKAGE}.openbanking.protocol.scopes", "app", *RECORDS} <= set(MODULES)
    assert f"{PACKAGE}.bootstrap" in imports(f"{PACKAGE}.openbanking.api.tpp_api")


def test_the_foundation_knows_nothing_above_it() -> None:
    with cases() as case:
        for module in modules_of(FOUNDATION):
            with case(module):
                assert {name for name in own(module) if not within(name, FOUNDATION)} == set()


def test_a_protocol_is_data_on_the_foundation() -> None:
    with cases() as case:
        for module in modules_of(*PROTOCOLS):
            with case(module):
                itself = next(package for package in PROTOCOLS if within(module, package))
                assert {name for name in own(module) if not within(name, FOUNDATION, itself)} == set()
                assert {name for name in reached(module) if within(name, *FRAMEWORKS)} == set()


def test_a_record_knows_other_records_and_no_flow() -> None:
    with cases() as case:
        for module in RECORDS:
            with case(module):
                assert {name for name in own(module) if not within(name, FOUNDATION, *PROTOCOLS, *RECORDS)} == set()


def test_the_delivery_room_does_not_know_what_it_delivers() -> None:
    with cases() as case:
        for module in [name for name in modules_of(DELIVERY) if not speaks_http(name)]:
            with case(module):
                assert {name for name in own(module) if not within(name, FOUNDATION, DELIVERY)} == set()


def test_statistics_stand_on_the_foundation_only() -> None:
    """They do not know what is measured: whoever does, notes it with them."""
    with cases() as case:
        for module in [name for name in modules_of(STATISTICS) if not speaks_http(name)]:
            with case(module):
                assert {name for name in own(module) if not within(name, FOUNDATION, STATISTICS)} == set()


def test_the_domain_does_not_know_the_framework() -> None:
    with cases() as case:
        for module in DOMAIN:
            with case(module):
                assert {name for name in imports(module) if within(name, "chalice")} == set()


def test_no_step_calls_back_up() -> None:
    with cases() as case:
        for module in DOMAIN:
            with case(module):
                upper = {
                    name for name in own(module) if speaks_http(name) or within(name, "app", f"{PACKAGE}.application")
                }
                assert upper == set()
                assert f"{PACKAGE}.bootstrap" not in own(module)


@pytest.mark.parametrize(("one", "other"), [("openbanking", "cards"), ("cards", "openbanking")])
def test_open_banking_and_cards_do_not_know_each_other(one: str, other: str) -> None:
    for module in modules_of(f"{PACKAGE}.{one}"):
        assert {name for name in own(module) if within(name, f"{PACKAGE}.{other}")} == set()


def test_the_website_knows_the_protocol_of_cards_and_asks_for_the_rest_at_the_desk() -> None:
    for module in modules_of(f"{PACKAGE}.website"):
        cards = {name for name in own(module) if within(name, f"{PACKAGE}.cards")}
        assert {name for name in cards if not within(name, *PROTOCOLS)} == set(), module


def test_open_banking_shows_pages_and_knows_nothing_else_of_the_website() -> None:
    """Only what speaks HTTP does: a PSU's browser comes by, and a mistake gets a page."""
    with cases() as case:
        for module in modules_of(OPEN_BANKING):
            with case(module):
                allowed = {PAGES} if module.endswith("_api") else set()
                assert {name for name in own(module) if within(name, f"{PACKAGE}.website")} <= allowed


def test_a_demonstration_bank_knows_the_protocol_and_its_host_only() -> None:
    """``setup`` is the operator's part: it registers the banks as the command line would."""
    with cases() as case:
        for module in modules_of(f"{PACKAGE}.demo_bank"):
            with case(module):
                allowed = [FOUNDATION, PROTOCOLS[0], f"{PACKAGE}.bootstrap", f"{PACKAGE}.demo_bank"]
                if module == f"{PACKAGE}.demo_bank.setup":
                    allowed += [f"{OPEN_BANKING}.records.banks", f"{OPEN_BANKING}.records.bank_record"]
                assert {name for name in own(module) if not within(name, *allowed)} == set()


def test_nothing_of_the_service_depends_on_the_demonstration_banks() -> None:
    with cases() as case:
        for module in [name for name in MODULES if not within(name, "app", f"{PACKAGE}.demo_bank")]:
            with case(module):
                assert {name for name in own(module) if within(name, f"{PACKAGE}.demo_bank")} == set()


def test_the_entry_point_registers_and_does_nothing_else() -> None:
    assert {name for name in imports("app") if not within(name, PACKAGE, "gc")} == set()
    assert not [node for node in tree("app").body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def test_what_is_deployed_does_not_need_what_is_not() -> None:
    with cases() as case:
        for module in MODULES:
            with case(module):
                assert {name for name in imports(module) if within(name, "infra", "tests", "moto", "pytest")} == set()


def test_no_imports_go_in_circles() -> None:
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way[way.index(module) :], module))
        if module in done:
            return
        for name in sorted(imports(module, at_load=True) & SOURCES.keys() - {module}):
            visit(name, (*way, module))
        done.add(module)

    for module in SOURCES:
        visit(module, ())


def test_a_module_says_what_it_is_about_and_fits_its_length() -> None:
    with cases() as case:
        for module in sorted(SOURCES):
            with case(module):
                docstring = ast.get_docstring(tree(module))
                assert docstring, f"{module} has no docstring"
                assert len(SOURCES[module].read_text(encoding="utf-8").splitlines()) <= LONGEST
