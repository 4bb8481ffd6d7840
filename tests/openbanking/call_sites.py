"""The calls of the store and of queues, found in the source of the service.

A call is included if a request or a job can reach the call. A call that only the operator's command line reaches is
included only if the call concerns deliveries. Indirect calls are also included. An indirect call passes the store, or a
method of the store, to a function, to an index or to a set of parallel calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.dynamodb.store import Store
from tests.kit.source_code import (
    BOOTSTRAP,
    CONTAINERS,
    EDGES,
    JOBS,
    MODULES,
    ROOT,
    SOURCES,
    imports,
    matches,
    tree,
    within,
)

ROOMS = tuple(f"chalicelib.{room}" for room in ("openbanking", "statistics", "delivery"))
"""The packages that process the requests and deliveries of open banking."""
CARDS = "chalicelib.cards"
_DELIVERY = "chalicelib.delivery"
_OPERATOR = ("infra", "chalicelib.demo_bank.setup", "chalicelib.sandbox_clock")
_GUESTS = ("infra", "chalicelib.demo_bank", "chalicelib.sandbox_clock")
"""The packages on which the service does not depend."""
_CALLS_NOBODY = "wait"


@dataclass(frozen=True)
class Service:
    names: tuple[str, ...]
    methods: frozenset[str]

    @classmethod
    def of(cls, kind: type, *names: str) -> Service:
        return cls(names, frozenset(name for name, value in vars(kind).items() if callable(value) and name[0] != "_"))


STORE = Service.of(Store, "store")
QUEUE = Service.of(Queue, "queue", "dead")


@dataclass(frozen=True, order=True)
class Site:
    module: str
    line: int
    last_line: int

    def __str__(self) -> str:
        return f"{SOURCES[self.module].relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Function:
    """A function of the source. ``owner`` is the class of a method, or an empty string."""

    module: str
    owner: str
    name: str


@cache
def call_sites(service: Service = STORE, rooms: tuple[str, ...] = ROOMS) -> frozenset[Site]:
    """Return every call of ``service`` that a request or a job can reach, and all calls about deliveries.

    Calls that only the operator's command line reaches are excluded. Calls that seem unreachable are included.
    """
    functions = dict(_functions())
    served = {each: node for each, node in functions.items() if not within(each.module, *_GUESTS)}
    serving = _reached([each for each in served if _wires(each) or _begins(each)], served)
    operator = _reached([each for each in functions if within(each.module, *_OPERATOR)], functions)
    counted = [each for each in functions if each in serving or each not in operator or within(each.module, _DELIVERY)]
    return _of(service, counted, rooms)


@cache
def sites_of_requests() -> frozenset[Site]:
    served = {each: node for each, node in _functions() if not within(each.module, *_GUESTS)}
    requests = _reached([each for each in served if matches(each.module, EDGES)], served)
    return call_sites() & _of(STORE, list(requests), ROOMS)


def _wires(function: Function) -> bool:
    """Return whether a function only passes the store to the objects that use the store."""
    return matches(function.module, (*CONTAINERS, *BOOTSTRAP))


def _begins(function: Function) -> bool:
    return within(function.module, *ROOMS, CARDS) and matches(function.module, (*EDGES, *JOBS))


def _of(service: Service, functions: Sequence[Function], rooms: tuple[str, ...]) -> frozenset[Site]:
    nodes = dict(_functions())
    here = [each for each in functions if within(each.module, *rooms) and not _wires(each)]
    return frozenset(site for each in here for site in _sites(service, each.module, nodes[each]))


def _functions() -> Iterator[tuple[Function, ast.AST]]:
    """Yield the functions of all modules. The top-level code of a module is a function without a name."""
    for module in [*MODULES, *(name for name in SOURCES if within(name, "infra"))]:
        loaded = ast.Module([], [])
        for node in tree(module).body:
            match node:
                case ast.ClassDef():
                    for member in node.body:
                        if isinstance(member, ast.FunctionDef):
                            yield Function(module, node.name, member.name), member
                case ast.FunctionDef():
                    yield Function(module, "", node.name), node
                case _:
                    loaded.body.append(node)
        yield Function(module, "", ""), loaded


def _reached(roots: list[Function], functions: dict[Function, ast.AST]) -> set[Function]:
    """Return the functions that are reachable from ``roots``.

    A function is reachable if a reachable function mentions its name.
    """
    by_name: dict[tuple[str, str], list[Function]] = {}
    for each in functions:
        by_name.setdefault((each.owner, each.name), []).append(each)
    found: set[Function] = set()
    pending = list(roots)
    while pending:
        each = pending.pop()
        if each not in found:
            found.add(each)
            for owner, name in _mentioned(each.owner, functions[each]):
                known = by_name.get((owner, name), ())
                pending += [other for other in known if owner or other.module in {each.module, *imports(each.module)}]
    return found


def _mentioned(owner: str, node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the owner and name of functions that a function may call, according to the names in the source."""
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name):
                yield "", name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                yield owner, name
            case ast.Attribute(value=value, attr=name):
                known = _kinds().get(_last_name(value), ())
                yield from ((kind, name) for kind in known)
                if isinstance(value, ast.Name) and not known:  # the function of a module
                    yield "", name


@cache
def _kinds() -> dict[str, set[str]]:
    """Map the names of members, arguments, properties, results and aliases to the names of their classes."""
    found: dict[str, set[str]] = {}
    nodes = [node for module in MODULES for node in ast.walk(tree(module))]
    for node in nodes:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id=kind)):
                found.setdefault(name.strip("_"), set()).add(kind)
            case ast.arg(arg=name, annotation=ast.Name(id=kind)):
                found.setdefault(name.strip("_"), set()).add(kind)
            case ast.FunctionDef(name=name, returns=ast.Name(id=kind)):
                found.setdefault(name.strip("_"), set()).add(kind)
            case ast.Assign(
                targets=[ast.Name(id=name) | ast.Attribute(attr=name)], value=ast.Call(func=ast.Name(id=kind))
            ):
                found.setdefault(name.strip("_"), set()).add(kind)
    for name, other in _assigned(nodes):
        found.setdefault(name, set()).update(found.get(other, ()))
    return found


def _assigned(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield pairs of a variable and the member that is assigned to the variable.

    For example, the assignment ``flow = hub().openbanking.token_flow`` yields ``flow`` and ``token_flow``.
    """
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                pairs = list(zip(names, values, strict=True))
            case ast.Assign(targets=[target], value=value):
                pairs = [(target, value)]
            case _:
                pairs = []
        for target, value in pairs:
            if isinstance(target, ast.Name) and isinstance(value, ast.Attribute):
                yield target.id, _last_name(value)


def _sites(service: Service, module: str, node: ast.AST) -> Iterator[Site]:
    """Yield the calls of a service. If a call receives the service or a method of the service as an argument, yield the
    outermost call that receives this argument.
    """
    if isinstance(node, ast.Call):
        name = _called(service, node)
        hands_on = name is None and any(_hands_on(service, inner) for inner in _passed(node))
        if hands_on and not _is_followed(module, node):
            yield Site(module, node.lineno, node.end_lineno or node.lineno)
            return
        if name is not None and name != _CALLS_NOBODY:
            assert name in service.methods, f"{module}:{node.lineno}: {service.names} have no method {name}"
            yield Site(module, node.lineno, node.end_lineno or node.lineno)
    for inner in ast.iter_child_nodes(node):
        yield from _sites(service, module, inner)


def _is_followed(module: str, call: ast.Call) -> bool:
    """Return whether a call or ``partial`` targets a function or class of the analysed packages."""
    is_partial = isinstance(call.func, ast.Name) and call.func.id == "partial"
    function = call.args[0] if is_partial else call.func
    match function:
        case ast.Name(id=name):
            modules = {module, *imports(module)}
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            modules = {each for each in imports(module) if each.endswith(f".{owner}")}
        case _:
            return False
    here = [each for each in modules if within(each, *ROOMS, CARDS)]
    return any(Function(each, "", name) in _known() or Function(each, name, "__init__") in _known() for each in here)


@cache
def _known() -> frozenset[Function]:
    return frozenset(each for each, _ in _functions())


def _called(service: Service, call: ast.Call) -> str | None:
    match call.func:
        case ast.Attribute(value=value, attr=name) if _last_name(value) in service.names:
            return name
    return None


def _passed(call: ast.Call) -> list[ast.AST]:
    return [*call.args, *call.keywords]


def _hands_on(service: Service, node: ast.AST) -> bool:
    """Return whether a node refers to a service, or refers to a method of the service without calling the method."""
    match node:
        case ast.Call(func=ast.Attribute(value=value)) if _called(service, node) is None:
            return any(_hands_on(service, inner) for inner in [value, *_passed(node)])
        case ast.Call():
            return any(_hands_on(service, inner) for inner in _passed(node))
        case ast.Attribute(value=value, attr=name) if _last_name(value) in service.names:
            return name in service.methods
        case ast.Attribute() | ast.Name():
            return _last_name(node) in service.names
    return any(_hands_on(service, inner) for inner in ast.iter_child_nodes(node))


def site_at(module: str, line: int, service: Service) -> Site | None:
    """Return the call at a line of a module, or ``None`` outside the packages."""
    if not within(module, *ROOMS, CARDS):
        return None
    around = [site for site in _sites_in(service, module) if site.line <= line <= site.last_line]
    return min(around, key=lambda site: site.last_line - site.line, default=None)


@cache
def _sites_in(service: Service, module: str) -> tuple[Site, ...]:
    return tuple(_sites(service, module, tree(module)))


def _last_name(node: ast.AST) -> str:
    """Return the last name of an expression, for example ``store`` for ``self._store`` and ``hub().store``."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return str(name).strip("_")
    return ""
