"""Tests of the code structure: the path of a module determines its permitted imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from chalicelib.bootstrap import PLANS
from tests.conftest import ON_SHARED_STACK
from tests.kit.source_code import (
    BOOTSTRAP,
    CONTAINERS,
    EDGES,
    ENTRY_POINTS,
    FLOWS,
    FOUNDATION,
    JOBS,
    MODULES,
    PROTOCOL,
    RECORDS,
    ROOT,
    SOURCES,
    VERSIONED,
    clock_reads,
    imports,
    imports_in,
    literal_timeouts,
    matches,
    modules_matching,
    nodes,
    own_imports,
    questions_of_version,
    reached,
    tree,
    within,
)

LONGEST = 400
MOST_ROOMS_OF_INFRA = 11
FRAMEWORKS = ("chalice", "boto3", "botocore", "requests", "urllib3", "jinja2")
RULES = RECORDS
"""The layer of records. It includes all modules of the packages that no other pattern matches."""
LAYERS = (FOUNDATION, PROTOCOL, RULES, FLOWS, CONTAINERS, (*EDGES, *JOBS), BOOTSTRAP, ENTRY_POINTS)
LEDGER_AND_BELOW = ("ledger", "storage", "programs", "protocol")
"""The ledger of cards, and the folders that it may import."""
CARDS, WEBSITE = "chalicelib.cards", "chalicelib.website"
ROOMS_BELOW = {
    "foundation": (),
    "delivery": ("foundation",),
    "statistics": ("foundation",),
    "openbanking": ("foundation", "delivery", "statistics"),
    "cards": ("foundation", "delivery", "statistics"),
    "website": ("foundation", "delivery", "statistics", "openbanking", "cards"),
    "demo_bank": ("foundation", "openbanking"),
    "sandbox_clock": ("foundation", "delivery", "statistics", "openbanking", "cards", "website", "demo_bank"),
}
"""The top-level packages, each with the packages that it may import."""


COLLECTING = {
    *(
        "Histogram",
        "CallCounts",
        "Latencies",
        "HourlyCounters",
        "CurrentCall",
        "_Times",
        "CounterBuffer",
        "Exchange",
        "HourOfCalls",
        "MinuteOfCalls",
        "PresentedCertificate",
    ),
    *("_Run", "LedgerReader", "_Queue", "RequestContext", "_Circuit", "CapturedHeaders"),
    *("CounterChanges", "QueuePlace", "RowReservation"),
}
"""The mutable dataclasses, which count, cache or collect values."""


@cache
def layer(module: str) -> int:
    """Return the layer of a module. A module must not import a higher layer."""
    if matches(module, FOUNDATION):
        return 0
    found = (number for number, globs in reversed(list(enumerate(LAYERS))) if matches(module, globs))
    return next(found, LAYERS.index(RULES))


def room(module: str) -> str:
    return module.split(".")[1] if module.count(".") > 1 else ""


def packages(module: str) -> Iterator[str]:
    """Yield the packages that contain a module below the module's top-level package, from the outermost inwards."""
    parts = module.split(".")[:-1]
    yield from (".".join(parts[:end]) for end in range(3, len(parts) + 1))


def test_every_import_layer_has_modules() -> None:
    for globs in LAYERS:
        assert modules_matching(globs)


def test_imports_follow_the_order_of_the_layers(subtests: pytest.Subtests) -> None:
    for module in MODULES:
        with subtests.test(module):
            assert {name for name in own_imports(module) if layer(name) > layer(module)} == set()


def test_records_import_only_foundation_protocol_and_records(subtests: pytest.Subtests) -> None:
    folders = ("chalicelib/**/records/**", "chalicelib/**/storage/**")
    for module in modules_matching(folders):
        with subtests.test(module):
            allowed = (*FOUNDATION, *PROTOCOL, *RECORDS)
            assert {name for name in own_imports(module) if not matches(name, allowed)} == set()


def test_a_flow_of_the_card_api_imports_no_other_flow(subtests: pytest.Subtests) -> None:
    flows = modules_matching(("chalicelib/cards/**/*_flow.py",))
    for module in flows:
        with subtests.test(module):
            assert {name for name in own_imports(module) if name in flows} == set()


def test_a_top_level_package_imports_only_packages_of_lower_layers(subtests: pytest.Subtests) -> None:
    for module in [each for each in MODULES if room(each)]:
        with subtests.test(module):
            allowed = {room(module), *ROOMS_BELOW[room(module)]}
            assert {name for name in own_imports(module) if room(name) not in allowed} == set()


def test_no_top_level_package_imports_bootstrap_or_the_entry_points(subtests: pytest.Subtests) -> None:
    """Views and jobs receive their container when they are registered."""
    above = (*BOOTSTRAP, *ENTRY_POINTS)
    for module in [each for each in MODULES if room(each)]:
        with subtests.test(module):
            assert {name for name in own_imports(module) if matches(name, above)} == set()


def test_subpackages_have_no_import_cycles() -> None:
    arrows: dict[str, set[str]] = {}
    for module in MODULES:
        for name in own_imports(module):
            if room(module) == room(name) != "":
                for one, other in zip(packages(module), packages(name), strict=False):
                    if one != other:
                        arrows.setdefault(one, set()).add(other)
                        break

    assert list(circles(arrows)) == []


def test_folders_of_infra_have_no_import_cycles() -> None:
    """Imports inside functions and for type checkers count. Modules outside the folders do not count."""
    rooms = {path.name for path in (ROOT / "infra").iterdir() if (path / "__init__.py").exists()}
    arrows: dict[str, set[str]] = {}
    for module in SOURCES:
        for name in imports(module) & SOURCES.keys() if within(module, "infra") else ():
            if within(name, "infra") and room(module) != room(name) and {room(module), room(name)} <= rooms:
                arrows.setdefault(room(module), set()).add(room(name))

    assert arrows["render"] >= {"conformance"}
    assert list(circles(arrows)) == []


def test_infra_has_at_most_eleven_folders() -> None:
    """A new folder must replace another folder or become part of one."""
    infra = ROOT / "infra"
    files = [path.relative_to(infra).parts for path in infra.rglob("*") if path.is_file()]
    rooms = {parts[0] for parts in files if len(parts) > 1 and "__pycache__" not in parts}

    assert {"deploy", "local"} <= rooms
    assert len(rooms) <= MOST_ROOMS_OF_INFRA


def test_modules_have_no_import_cycles() -> None:
    """Imports inside functions and for type checkers count."""
    arrows = {module: set(imports(module) & SOURCES.keys() - {module}) for module in SOURCES}

    assert list(circles(arrows)) == []


@pytest.mark.parametrize(
    "source",
    [
        "from chalicelib import bootstrap",
        "def find() -> None:\n    from chalicelib.bootstrap import hub",
        "if TYPE_CHECKING:\n    from chalicelib.bootstrap import Hub",
        "class Part:\n    async def find(self) -> None:\n        if self:\n            import chalicelib.bootstrap",
        "try:\n    pass\nexcept ValueError:\n    import chalicelib.bootstrap",
    ],
)
def test_imports_inside_functions_and_conditions_are_detected(source: str) -> None:
    assert set(imports_in(source)) == {"chalicelib.bootstrap"}


def circles(arrows: dict[str, set[str]]) -> Iterator[str]:
    done: set[str] = set()

    def visit(one: str, way: tuple[str, ...]) -> Iterator[str]:
        if one in way:
            yield " -> ".join((*way[way.index(one) :], one))
        elif one not in done:
            for other in sorted(arrows.get(one, ())):
                yield from visit(other, (*way, one))
            done.add(one)

    for one in sorted(arrows):
        yield from visit(one, ())


def test_protocol_modules_do_not_import_a_framework_directly_or_indirectly(subtests: pytest.Subtests) -> None:
    for module in modules_matching(PROTOCOL):
        with subtests.test(module):
            assert {name for name in reached(module) if within(name, *FRAMEWORKS)} == set()


def test_only_modules_of_the_edge_layer_and_entry_points_import_chalice(subtests: pytest.Subtests) -> None:
    edges = (*EDGES, *JOBS, *ENTRY_POINTS, *BOOTSTRAP, "chalicelib/foundation/http/**", "chalicelib/demo_bank/**")
    for module in [each for each in MODULES if not matches(each, edges)]:
        with subtests.test(module):
            assert {name for name in imports(module) if within(name, "chalice")} == set()


def test_only_foundation_aws_may_import_boto3() -> None:
    others = [module for module in MODULES if not within(module, "chalicelib.foundation.aws")]

    assert {module for module in others if any(within(name, "boto3", "botocore") for name in imports(module))} == set()


def test_delivery_modules_contain_no_name_of_a_kind_of_delivery(subtests: pytest.Subtests) -> None:
    """The code that records a delivery provides the retry plan and the sender of the delivery."""
    for module in [each for each in MODULES if within(each, "chalicelib.delivery")]:
        with subtests.test(module):
            assert PLANS.keys() & {node.value for node in nodes(module) if isinstance(node, ast.Constant)} == set()


def test_the_website_imports_cards_only_through_the_portal(subtests: pytest.Subtests) -> None:
    portal = ("chalicelib/cards/portal/**", *PROTOCOL)
    for module in [each for each in MODULES if within(each, WEBSITE)]:
        with subtests.test(module):
            cards = {name for name in own_imports(module) if within(name, CARDS)}
            assert {name for name in cards if not matches(name, portal)} == set()


def test_the_card_ledger_imports_only_packages_of_lower_layers(subtests: pytest.Subtests) -> None:
    """The ledger handles accounts and amounts, but no cards, holders or callers."""
    below = ("chalicelib/foundation/**", *(f"chalicelib/cards/{each}/**" for each in LEDGER_AND_BELOW))
    for module in modules_matching(("chalicelib/cards/ledger/**",)):
        with subtests.test(module):
            assert {name for name in own_imports(module) if not matches(name, below)} == set()


def test_demonstration_banks_import_only_protocol_and_foundation(subtests: pytest.Subtests) -> None:
    """The exception is ``setup``, which registers the banks in the same way as the operator's command line."""
    allowed = ("chalicelib/foundation/**", "chalicelib/openbanking/protocol/**", "chalicelib/demo_bank/**")
    for_setup = ("chalicelib/openbanking/records/bank*.py", *allowed)
    for module in [each for each in MODULES if within(each, "chalicelib.demo_bank")]:
        with subtests.test(module):
            globs = for_setup if module == "chalicelib.demo_bank.setup" else allowed
            assert {name for name in own_imports(module) if not matches(name, globs)} == set()


def test_the_service_does_not_import_the_demonstration_banks(subtests: pytest.Subtests) -> None:
    others = ("app", "chalicelib.jobs", "chalicelib.demo_bank", "chalicelib.sandbox_clock")
    for module in [each for each in MODULES if not within(each, *others)]:
        with subtests.test(module):
            assert {name for name in own_imports(module) if within(name, "chalicelib.demo_bank")} == set()


def test_code_does_not_compare_protocol_versions(subtests: pytest.Subtests) -> None:
    """Members of the version's object or of the demonstration banks' formats represent the differences between
    versions.
    """
    for module in [each for each in MODULES if not matches(each, VERSIONED)]:
        with subtests.test(module):
            assert questions_of_version(nodes(module)) == []


@pytest.mark.parametrize(
    "source",
    [
        "bank.api_version == 1",
        "2 != version",
        "version in (1, 2)",
        "version.number > 1",
        "1 if payment.version.number == 1 else 2",
        "members['version'] is 2",
        "{1: '/bank', 2: '/bank/v2'}[profile.version]",
        "{1: '/bank'}.get(version, '/bank/v2')",
        "VERSIONS[2].scopes",
        "match bank.api_version:\n    case 1 | 2:\n        pass",
    ],
)
def test_a_comparison_of_protocol_versions_is_detected(source: str) -> None:
    assert questions_of_version(ast.walk(ast.parse(source))) == [1]


@pytest.mark.parametrize("source", ["bank.version is version", "address.version == 6", "VERSIONS[bank.api_version]"])
def test_comparisons_without_a_protocol_version_are_not_reported_as_version_comparisons(source: str) -> None:
    assert questions_of_version(ast.walk(ast.parse(source))) == []


def test_templates_do_not_compare_protocol_versions(subtests: pytest.Subtests) -> None:
    for template in sorted((ROOT / "chalicelib").rglob("*.html")):
        with subtests.test(template.name):
            text = template.read_text(encoding="utf-8")
            assert re.findall(r"\{[{%][^}]*version\s*(?:==|!=|<|>|in\b|is\b)", text) == []


def test_the_entry_point_defines_no_functions_or_classes() -> None:
    assert {name for name in imports("app") if not within(name, "chalicelib", "gc")} == set()
    assert not [node for node in tree("app").body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def test_deployed_code_uses_lazy_dataclasses() -> None:
    eager = re.compile(r"from dataclasses import [^\n]*\bdataclass\b|@dataclasses\.dataclass")
    found = [path for path in (ROOT / "chalicelib").rglob("*.py") if eager.search(path.read_text(encoding="utf-8"))]

    assert [path.stem for path in found] == ["lazy_dataclasses"]


def test_only_listed_dataclasses_are_mutable() -> None:
    """Caches return the same records and decisions to many requests."""
    found = {
        each.name
        for module in MODULES
        for each in nodes(module)
        if isinstance(each, ast.ClassDef) and any(map(leaves_open, each.decorator_list))
    }

    assert found == COLLECTING


def leaves_open(decorator: ast.expr) -> bool:
    return "dataclass" in ast.unparse(decorator) and "frozen=True" not in ast.unparse(decorator)


def test_deployed_code_does_not_import_infra_tests_or_test_libraries(subtests: pytest.Subtests) -> None:
    for module in MODULES:
        with subtests.test(module):
            assert {name for name in imports(module) if within(name, "infra", "tests", "moto", "pytest")} == set()


def test_every_deployed_module_is_imported_by_the_application() -> None:
    """The exception is ``demo_bank.setup``, which the operator's commands import."""
    pending = ["app", "chalicelib.demo_bank.setup"]
    found: set[str] = set()
    while pending:
        new = own_imports(pending.pop()) - found
        found |= new
        pending += new & SOURCES.keys()

    packages_of = {".".join(name.split(".")[:end]) for name in found for end in range(1, name.count(".") + 1)}
    assert set(MODULES) - found - packages_of == {"app", "chalicelib.demo_bank.setup"}


@pytest.mark.parametrize("folder", ["chalicelib", "infra"])
def test_modules_have_a_docstring_and_at_most_the_allowed_length(folder: str, subtests: pytest.Subtests) -> None:
    for module in [each for each in sorted(SOURCES) if within(each, folder)]:
        with subtests.test(module):
            docstring = ast.get_docstring(tree(module))
            assert docstring, f"{SOURCES[module].relative_to(ROOT)} has no docstring"
            assert len(SOURCES[module].read_text(encoding="utf-8").splitlines()) <= LONGEST


MEASURING = (
    "tests/bench/",
    *(f"tests/{name}/" for name in ("chaos", "fuzzing", "histories", "interleavings", "mutants", "network", "volume")),
)
TESTS = {str(path.relative_to(ROOT)): path for path in sorted((ROOT / "tests").rglob("*.py"))}


def test_tests_do_not_measure_durations() -> None:
    allowed = (*MEASURING, "tests/kit/time.py", "tests/e2e/test_conformance.py")
    found = {name: clock_reads(path.read_text("utf-8")) for name, path in TESTS.items() if not name.startswith(allowed)}

    assert {name: lines for name, lines in found.items() if lines} == {}


def test_tests_do_not_use_numbers_as_timeouts() -> None:
    """Waits use ``PATIENCE_SECONDS``. A tested limit is the limit of the product or ``limit_under_test``."""
    allowed = ("tests/bench/", "tests/kit/time.py")
    judged = {name: path for name, path in TESTS.items() if not name.startswith(allowed)}
    found = {name: literal_timeouts(path.read_text("utf-8")) for name, path in judged.items()}

    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import time\nbegun = time.monotonic()",
        "from time import process_time\nbegun = process_time()",
        "import time\nassert time.time() - begun < 1",
        "import resource\nresource.getrusage(resource.RUSAGE_CHILDREN)",
    ],
)
def test_a_measured_duration_is_detected(source: str) -> None:
    assert 2 in clock_reads(source)


@pytest.mark.parametrize(
    "source",
    ["claims = {'exp': int(time.time()) + 60}", "now = clock.monotonic()", "clock.advance(time.time() - then)"],
)
def test_a_time_of_day_is_not_reported_as_a_measured_duration(source: str) -> None:
    assert clock_reads(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "requests.get(url, timeout=5)",
        "assert event.wait(10)",
        "thread.join(0.2)",
        "lock.acquire(timeout=1.5)",
        "condition.wait_for(is_there, 60)",
        "page.set_default_timeout(15 * 1000)",
        "LIMIT = 5\nevent.wait(LIMIT)",
    ],
)
def test_a_number_as_a_timeout_is_detected(source: str) -> None:
    assert literal_timeouts(source) == [source.count("\n") + 1]


@pytest.mark.parametrize(
    "source",
    [
        "event.wait(PATIENCE_SECONDS)",
        "client.get(url, timeout=limit_under_test(0.3))",
        "server.wait_for(3)",
        "','.join(names)",
        "call(timeout=outbound.TOTAL_SECONDS)",
    ],
)
def test_a_timeout_that_is_a_named_constant_is_not_reported(source: str) -> None:
    assert literal_timeouts(source) == []


def test_the_test_scheduler_lists_each_module_on_the_shared_stack(request: pytest.FixtureRequest) -> None:
    """An unlisted module would start a second stack."""
    on_it = [item for item in request.session.items if "shared_stack" in getattr(item, "fixturenames", ())]
    slow = ("faults", "pages", "rehearsal", "sdk", "year")
    quick = {item.nodeid for item in on_it if not any(item.get_closest_marker(mark) for mark in slow)}

    assert {name.partition("::")[0] for name in quick if not ON_SHARED_STACK.match(name)} == set()
