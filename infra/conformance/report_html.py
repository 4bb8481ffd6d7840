"""The HTML report of a run: one file without scripts that follows the reader's colour scheme. Failures come first."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from html import escape

from infra.conformance.check import Result
from infra.conformance.runner import Run
from infra.conformance.verdict import conclusion, groups_of_failures

_STYLE = """
:root { color-scheme: light dark; --back: #f7f7f5; --card: #fff; --text: #1d2430; --dim: #5a6472; --line: #dfe2e6;
  --good: #17703c; --bad: #b3261e; --warn: #8a5a00; --code: #f1f3f5; }
@media (prefers-color-scheme: dark) { :root { --back: #14171c; --card: #1c2027; --text: #e6e9ee; --dim: #9aa4b2;
  --line: #333a45; --good: #6cd197; --bad: #ff8f85; --warn: #f0b957; --code: #12151a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
.facts { color: var(--dim); margin: .3rem 0 1.4rem; overflow-wrap: anywhere; }
.verdict { border-left: .4rem solid var(--good); background: var(--card); padding: .9rem 1.1rem; font-size: 1.15rem;
  font-weight: 600; border-radius: .3rem; } .verdict.bad { border-color: var(--bad); }
  .verdict.open { border-color: var(--warn); }
.counts { display: flex; flex-wrap: wrap; gap: .8rem; list-style: none; padding: 0; margin: 1rem 0 0; }
.counts li { background: var(--card); border: 1px solid var(--line); border-radius: .3rem; padding: .5rem .9rem;
  color: var(--dim); } .counts b { color: var(--text); font-size: 1.3rem; margin-right: .4rem; }
details { background: var(--card); border: 1px solid var(--line); border-radius: .3rem; margin: .35rem 0; }
summary::before { content: "\\25b8"; color: var(--dim); } [open] > summary::before { content: "\\25be"; }
summary { cursor: pointer; padding: .5rem .8rem; display: flex; flex-wrap: wrap; gap: .2rem .7rem;
  align-items: baseline; } summary:focus-visible { outline: 2px solid var(--text); }
.mark { font-weight: 600; min-width: 4.6rem; }
.passed .mark { color: var(--good); } .failed .mark { color: var(--bad); }
.advice .mark { color: var(--warn); } .skipped .mark { color: var(--dim); }
code { font: .88rem ui-monospace, monospace; } summary code { min-width: 17rem; overflow-wrap: anywhere; }
summary .title { flex: 1 1 18rem; } summary .time { color: var(--dim); font-size: .85rem; }
.body { padding: 0 .8rem .8rem; border-top: 1px solid var(--line); }
dl { display: grid; grid-template-columns: 6rem 1fr; gap: .3rem .8rem; margin: .8rem 0; } dt { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; } .wrong { color: var(--bad); font-weight: 600; }
.advice .wrong { color: var(--warn); } .skipped .wrong { color: var(--dim); font-weight: 400; }
.exchange { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: .8rem; }
h4 { margin: 0 0 .3rem; font-size: .9rem; color: var(--dim); font-weight: 600; }
pre { margin: 0; padding: .7rem; background: var(--code); border: 1px solid var(--line); border-radius: .3rem;
  font: .82rem/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dt { margin-top: .4rem; } }
"""


def render(run: Run) -> str:
    """Render the report as one HTML document."""
    title = f"Conformance of {escape(run.bic)}, version {run.version}"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n'
        f"{''.join(_parts(run, title))}</main>\n</body>\n</html>\n"
    )


def _parts(run: Run, title: str) -> Iterator[str]:
    yield f"<h1>{title}</h1>\n"
    yield f'<p class="facts">{escape(run.address)} · started {escape(run.started_at)} · {run.seconds:.1f} s</p>\n'
    kind = " bad" if not run.is_good else " open" if run.unplayed else ""
    yield f'<p class="verdict{kind}">{escape(conclusion(run))}</p>\n'
    if run.narrowed:
        yield f'<p class="facts">As far as the file goes: {escape(run.narrowed)}.</p>\n'
    counts = (
        (run.count("passed"), "passed"),
        (run.count("failed", "mandatory"), "failed"),
        (run.count("failed", "advice"), "advised"),
        (run.count("skipped"), "skipped"),
    )
    items = "".join(f"<li><b>{count}</b>{name}</li>" for count, name in counts)
    yield f'<ul class="counts">{items}</ul>\n'
    failed = [result for result in run.results if result.fails_run]
    advised = [result for result in run.results if result.outcome == "failed" and not result.fails_run]
    examples = {alike[0].check.check_id for alike in groups_of_failures(run)}
    yield from _section("Failed", failed, examples)
    yield from _section("Advice", advised)
    others = [result for result in run.results if result.outcome != "failed"]
    for group in dict.fromkeys(result.check.group for result in others):
        yield from _section(group, [result for result in others if result.check.group == group])


def _section(name: str, results: list[Result], unfolded: Collection[str] = ()) -> Iterator[str]:
    if results:
        yield f"<h2>{escape(name)}</h2>\n"
        yield from (_row(result, result.check.check_id in unfolded) for result in results)


def _row(result: Result, is_open: bool) -> str:
    check = result.check
    kind = "advice" if result.outcome == "failed" and not result.fails_run else result.outcome
    opened = " open" if is_open else ""
    head = (
        f'<span class="mark">{kind}</span><code>{escape(check.check_id)}</code>'
        f'<span class="title">{escape(check.title)}</span><span class="time">{result.seconds * 1000:.0f} ms</span>'
    )
    rows = [("Expected", escape(check.expected), ""), ("Rule", f"{escape(check.paragraph)} ({check.level})", "")]
    if result.problem:
        name = "Reason" if result.outcome == "skipped" else "Wrong"
        rows.insert(0, (name, escape(result.problem), ' class="wrong"'))
    facts = "".join(f"<dt>{name}</dt><dd{style}>{text}</dd>" for name, text, style in rows)
    exchange = "".join(
        f"<div><h4>{escape(label[0].upper() + label[1:])}</h4><pre>{escape(text)}</pre></div>"
        for label, text in result.exchange
    )
    shown = f'<div class="exchange">{exchange}</div>' if exchange else ""
    return (
        f'<details class="{kind}"{opened}><summary>{head}</summary>'
        f'<div class="body"><dl>{facts}</dl>{shown}</div></details>\n'
    )
