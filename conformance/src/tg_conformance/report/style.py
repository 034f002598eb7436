"""The looks of the page, in light and dark."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root { --ink: #1c2330; --soft: #5a6478; --line: #dfe3ea; --head: #f4f6f9; --paper: #fff;
  --good: #14622c; --good-fill: #e3f4e7; --bad: #93191b; --bad-fill: #fbdcdc;
  --known: #7a5300; --known-fill: #fdf0cf; --none: #68708a; --none-fill: #eef0f4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dfe4ee; --soft: #9aa4b8; --line: #303744; --head: #1d222b; --paper: #14171d;
    --good: #9fe0b3; --good-fill: #17331f; --bad: #ffb3b3; --bad-fill: #4b1c1d;
    --known: #f3d588; --known-fill: #46370f; --none: #98a1b5; --none-fill: #232833; }
}
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto 4rem; max-width: 66rem;
  padding: 0 1rem; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.7rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.4rem 0 .5rem; }
p.headline { margin: .2rem 0 1.2rem; color: var(--soft); }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: 0 0 1.4rem; }
.tile { border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .9rem;
  min-width: 5.5rem; }
.tile b { display: block; font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .85rem; }
.tile.passed b { color: var(--good); } .tile.failed b { color: var(--bad); }
.tile.xfailed b { color: var(--known); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .55rem; border: 1px solid var(--line); text-align: center;
  font-weight: 400; }
thead th { background: var(--head); font-weight: 600; }
th.name { text-align: left; }
th.name small { color: var(--soft); font-size: .88em; display: block; }
table.levels { width: 100%; }
td.passed { background: var(--good-fill); color: var(--good); }
td.failed { background: var(--bad-fill); color: var(--bad); font-weight: 700; }
td.xfailed { background: var(--known-fill); color: var(--known); }
td.undeclared { background: var(--none-fill); color: var(--none); }
.scroll { overflow-x: auto; }
table.matrix th.name { white-space: nowrap; } table.matrix td { padding: .1rem 0; width: 2.1rem; }
table.matrix thead th { vertical-align: bottom; padding: .4rem 0; }
table.matrix thead th span { writing-mode: vertical-rl; transform: rotate(180deg);
  font-weight: 600; font-size: .88rem; }
table.matrix tr.group th { background: var(--head); font-weight: 600; text-align: left; }
.legend { color: var(--soft); margin: .4rem 0; } .legend i { font-style: normal; padding: 0 .45em;
  margin: 0 .15em 0 .8em; border: 1px solid var(--line); }
ul { padding-left: 1.2rem; } li { margin: .25rem 0; } code { font-size: .9em; }
pre { margin: .2rem 0; white-space: pre-wrap; font-size: .85em; color: var(--soft); }
details { margin: .35rem 0; } details summary { cursor: pointer; }
details table { margin: .5rem 0; }
"""
