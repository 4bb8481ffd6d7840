"""Readers of the repository's source: modules, syntax trees, imports, and the waits and clock reads of tests."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted([ROOT / "app.py", *(ROOT / "chalicelib").rglob("*.py"), *(ROOT / "infra").rglob("*.py")])
}
MODULES = sorted(name for name in SOURCES if not name.startswith("infra"))
FOUNDATION = ("chalicelib/foundation/**",)
PROTOCOL = ("chalicelib/*/protocol/**",)
RECORDS = ("chalicelib/**/records/**", "chalicelib/**/*_record.py", "chalicelib/**/storage/**")
FLOWS = ("chalicelib/**/flows/**", "chalicelib/**/*_flow.py")
CONTAINERS = ("chalicelib/**/*container.py", "chalicelib/cards/actions.py")
"""Modules that wire the flows of a package. The modules import flows, and no flow imports the modules."""
EDGES = (
    "chalicelib/**/api/**",
    *(f"chalicelib/**/{name}.py" for name in ("*_views", "*_api", "routes", "site", "pages")),
)
"""Modules that process HTTP requests."""
JOBS = ("chalicelib/*/jobs.py",)
"""Modules with functions that a queue or a schedule starts."""
BOOTSTRAP = ("chalicelib/bootstrap.py",)
ENTRY_POINTS = ("app.py", "chalicelib/application.py", "chalicelib/jobs.py")
"""Modules that register and bind the packages. No other module uses the hub of the process."""
VERSIONED = (*PROTOCOL, "chalicelib/demo_bank/format_v*.py")
"""Modules that contain code for one version of the bank protocol."""
IP_VERSIONS = (4, 6)


@cache
def matches(module: str, globs: tuple[str, ...]) -> bool:
    return path_matches(SOURCES[module].relative_to(ROOT).as_posix(), globs)


def path_matches(path: str, globs: tuple[str, ...]) -> bool:
    """Return whether a path matches one of ``globs``. ``**`` matches any number of folders, including none."""
    return any(_pattern(glob).fullmatch(path) for glob in globs)


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    wanted = {r"\*\*/": "(?:.+/)?", r"\*\*": ".+", r"\*": "[^/]*"}
    return re.compile(re.sub(r"\\\*\\\*/|\\\*\\\*|\\\*", lambda found: wanted[found[0]], re.escape(glob)))


def modules_matching(globs: tuple[str, ...]) -> list[str]:
    return [module for module in MODULES if matches(module, globs)]


def within(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def parse(source: str) -> ast.Module:
    """Return the syntax tree of a source text. Garbage collection is disabled during parsing to save time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if collecting:
            gc.enable()


@cache
def tree(module: str) -> ast.Module:
    return parse(SOURCES[module].read_text(encoding="utf-8"))


@cache
def nodes(module: str) -> list[ast.AST]:
    return list(ast.walk(tree(module)))


@cache
def imports(module: str, at_load: bool = False) -> frozenset[str]:
    """Return a module's imports. If ``at_load`` is true, omit imports inside functions and for type checkers."""
    return frozenset(_imports(tree(module).body, at_load))


def imports_in(source: str) -> Iterator[str]:
    return _imports(parse(source).body, at_load=False)


def _imports(body: Iterable[ast.AST], at_load: bool) -> Iterator[str]:
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
                inner = ast.iter_child_nodes(statement)
                yield from _imports((node for node in inner if not isinstance(node, ast.expr)), at_load)


def own_imports(module: str) -> set[str]:
    return {name for name in imports(module) if name in SOURCES or within(name, "infra", "tests")}


def reached(module: str) -> set[str]:
    """Return all modules that are loaded with a module, including indirect imports within this repository."""
    found: set[str] = set()
    pending = [module]
    while pending:
        new = imports(pending.pop(), at_load=True) - found
        found |= new
        pending += new & SOURCES.keys()
    return found


def questions_of_version(source: Iterable[ast.AST]) -> list[int]:
    """Return the lines that compare versions of the bank protocol.

    These lines compare or match a version with numbers, or look up a version in a table of numbers.
    """
    return sorted(node.lineno for node in source if isinstance(node, ast.expr | ast.Match) and _asks(node))


def _asks(node: ast.expr | ast.Match) -> bool:
    match node:
        case ast.Compare(left=left, comparators=others):
            return any(map(_is_version, (left, *others))) and any(map(_has_numbers, (left, *others)))
        case ast.Match(subject=subject, cases=branches):
            return _is_version(subject) and any(_has_numbers(branch.pattern) for branch in branches)
        case (
            ast.Subscript(value=ast.Dict(keys=keys), slice=key)
            | ast.Call(func=ast.Attribute(value=ast.Dict(keys=keys), attr="get"), args=[key, *_])
        ):
            return _is_version(key) and any(each is not None and _has_numbers(each) for each in keys)
        case ast.Subscript(value=ast.Name(id="VERSIONS"), slice=key):
            return _has_numbers(key)
    return False


def _is_version(node: ast.expr) -> bool:
    """Return whether the name of an expression denotes a version or its number."""
    match node:
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr="number"):
            return name.lower().endswith("version")
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name.lower().endswith("version")
    return False


def _has_numbers(node: ast.AST) -> bool:
    found = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
    return any(isinstance(value, int) and not isinstance(value, bool) and value < IP_VERSIONS[0] for value in found)


# -- clocks and time-outs that make a test fail on a slow machine

PATIENCE = "tests.kit.time"

_CLOCKS = {
    *(
        f"time.{name}{unit}"
        for name in ("monotonic", "perf_counter", "process_time", "thread_time")
        for unit in ("", "_ns")
    ),
    "resource.getrusage",
    "os.times",
}
_KEYWORDS = ("timeout", "read_timeout", "connect_timeout")
_POSITIONS = {
    **dict.fromkeys(
        ("wait", "join", "acquire", "result", "communicate", "settimeout", "set_default_timeout", "Timer"), 0
    ),
    "wait_for": 1,
}


_MAY_READ_CLOCK = re.compile(rf"time\.time\(|\b(?:{'|'.join(name.split('.')[1] for name in sorted(_CLOCKS))})\b")
_MAY_WAIT = re.compile(rf"timeout|\bwait_for\(|\b(?:{'|'.join(_POSITIONS)})\(\s*[\w(.]")
"""The pattern that matches every source in which a timeout rule can find a line. Sources without a match are not
parsed.
"""


def clock_reads(source: str) -> list[int]:
    """Return the lines that read a monotonic clock or compare a difference of times."""
    if not _MAY_READ_CLOCK.search(source):
        return []
    nodes = list(ast.walk(parse(source)))
    names = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    expressions = (node for node in nodes if isinstance(node, ast.expr))
    return sorted({node.lineno for node in expressions if _reads_clock(node, names) or _compares_duration(node)})


def _reads_clock(node: ast.expr, names: Mapping[str, str]) -> bool:
    if isinstance(node, ast.Name):
        return names.get(node.id) in _CLOCKS
    return isinstance(node, ast.Attribute) and ast.unparse(node) in _CLOCKS


def _compares_duration(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and any(
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub) and "time.time(" in ast.unparse(part)
        for part in ast.walk(node)
    )


def literal_timeouts(source: str) -> list[int]:
    """Return the lines that use a literal number, or a constant with a literal number, as a timeout."""
    if not _MAY_WAIT.search(source):
        return []
    tree = parse(source)
    nodes = list(ast.walk(tree))
    numbers = {*_number_constants(tree), *_imported_numbers(nodes)}
    calls = (node for node in nodes if isinstance(node, ast.Call))
    return sorted({call.lineno for call in calls if any(_is_number(each, numbers) for each in _timeouts(call))})


def _number_constants(tree: ast.Module) -> set[str]:
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and _is_number(node.value, ())
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _imported_numbers(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the number constants that a module imports from other test modules."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tests."):
            for alias in node.names:
                if alias.name in _numbers_of(node.module):
                    yield alias.asname or alias.name


@cache
def _numbers_of(module: str) -> set[str]:
    """Return the number constants of a test module, except the constants of ``PATIENCE``, which every wait may use."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    return _number_constants(parse(path.read_text("utf-8"))) if module != PATIENCE and path.exists() else set()


def _timeouts(call: ast.Call) -> Iterator[ast.expr]:
    yield from (keyword.value for keyword in call.keywords if keyword.arg in _KEYWORDS)
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    position = _POSITIONS.get(name)
    if position is not None:
        yield from call.args[position : position + 1]


def _is_number(node: ast.expr, constants: Collection[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in constants
    if isinstance(node, ast.BinOp):
        return _is_number(node.left, constants) and _is_number(node.right, constants)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)
