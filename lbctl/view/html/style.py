"""How pages look: light and dark by what the reader's system says, and on paper; no font or picture is loaded."""

from __future__ import annotations

from typing import Final

_LIGHT: Final = """
  --page: #f6f7f9; --panel: #ffffff; --text: #1c2128; --muted: #626b78; --line: #dfe3e8; --grid: #eceff3;
  --accent: #2f6fd0; --latency: #7a55b8; --ok: #1f7a46; --warn: #94600a; --err: #bf3126;
  --ok-soft: #e9f5ee; --warn-soft: #fbf3e2; --err-soft: #fcecea; --muted-soft: #eef0f3;
  --c0: #2f6fd0; --c1: #c25a12; --c2: #1f7f5c; --c3: #a63d8f; --c4: #8a6d00; --c5: #5b4bc4;
  --c6: #0e7c93; --c7: #b5303f;
"""
_DARK: Final = """
  --page: #101317; --panel: #181c22; --text: #e3e7ec; --muted: #98a1ae; --line: #2b313a; --grid: #232931;
  --accent: #6ea3f5; --latency: #b39aec; --ok: #58c98a; --warn: #dcae4c; --err: #f5837a;
  --ok-soft: #15271e; --warn-soft: #2a2314; --err-soft: #2e1a1a; --muted-soft: #20262e;
  --c0: #6ea3f5; --c1: #f0965a; --c2: #54c79b; --c3: #e08ccf; --c4: #d6b84a; --c5: #a99cf5;
  --c6: #5cc4da; --c7: #f2858f;
"""
_RULES: Final = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--text); font: 14px/1.5 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", Arial, sans-serif; font-variant-numeric: tabular-nums; }
main { max-width: 1160px; margin: 0 auto; padding: 32px 24px 48px; }
h1 { margin: 0; font-size: 24px; line-height: 1.25; font-weight: 650; overflow-wrap: anywhere; }
h2 { margin: 0 0 12px; font-size: 14px; font-weight: 650; }
h2 small { font-weight: 400; font-size: 13px; color: var(--muted); margin-left: 8px; }
p { margin: 0; }
code, pre, .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: 0.93em; }
.method { font-size: 15px; color: var(--muted); overflow-wrap: anywhere; margin-top: 2px; }
.facts { display: flex; flex-wrap: wrap; gap: 2px 24px; margin: 12px 0 20px; padding: 0; list-style: none; }
.facts li { overflow-wrap: anywhere; min-width: 0; }
.facts span { color: var(--muted); margin-right: 6px; }
section, .panel { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 16px 20px;
  margin-top: 16px; min-width: 0; }
.pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 16px; margin-top: 16px; }
.pair > section { margin-top: 0; }
.verdict { border-left-width: 4px; }
.verdict strong { margin-right: 8px; }
.verdict p + p { margin-top: 4px; color: var(--muted); }
.verdict.ok { border-left-color: var(--ok); } .verdict.err { border-left-color: var(--err); }
.verdict.warn { border-left-color: var(--warn); } .verdict.none { border-left-color: var(--muted); }
.ok > strong, .is-ok { color: var(--ok); } .err > strong, .is-err { color: var(--err); }
.warn > strong, .is-warn { color: var(--warn); } .muted, .is-none { color: var(--muted); }
.tiles { display: grid; grid-template-columns: repeat(7, minmax(0, 1fr)); gap: 1px; background: var(--line);
  border: 1px solid var(--line); border-radius: 8px; overflow: hidden; margin: 16px 0 0; }
.tiles div { background: var(--panel); padding: 12px 16px; min-width: 0; }
.tiles dt { color: var(--muted); font-size: 12px; }
.tiles dd { margin: 0; font-size: 21px; line-height: 1.35; font-weight: 600; white-space: nowrap; }
.tiles small { display: block; color: var(--muted); font-size: 12px; font-weight: 400; white-space: normal; }
.scroll { overflow-x: auto; margin: 0 -20px; padding: 0 20px; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 500; font-size: 12px; color: var(--muted); white-space: nowrap; }
th, td { padding: 5px 0 5px 16px; border-bottom: 1px solid var(--grid); vertical-align: middle; }
th:first-child, td:first-child { padding-left: 0; }
tr:last-child td { border-bottom: 0; }
td { white-space: nowrap; }
td:first-child > .mono { display: inline-block; max-width: 28em; overflow: hidden; text-overflow: ellipsis;
  vertical-align: bottom; }
.between { display: inline-block; min-width: 140px; margin-left: 8px; color: var(--muted); }
td small { display: block; color: var(--muted); font-size: 12px; }
table.narrow { width: auto; }
td.words { white-space: normal; overflow-wrap: anywhere; min-width: 12em; }
.num { text-align: right; }
.share { width: 26%; min-width: 130px; }
.bar { position: relative; display: block; height: 10px; background: var(--muted-soft); border-radius: 2px; }
.bar i { position: absolute; inset: 0 auto 0 0; background: var(--accent); border-radius: 2px; opacity: 0.85; }
.bar u { position: absolute; top: -3px; bottom: -3px; border: solid var(--text); border-width: 0 2px; }
.bar u::after { content: ""; position: absolute; left: 0; right: 0; top: 50%; border-top: 1px solid var(--text); }
.bar b { position: absolute; top: -3px; bottom: -3px; width: 2px; margin-left: -1px; background: var(--text); }
td.range-of { width: 22%; min-width: 160px; }
.range { position: relative; display: block; height: 12px; min-width: 140px; }
.range::before { content: ""; position: absolute; left: 50%; top: 0; bottom: 0; border-left: 1px solid var(--muted); }
.range i { position: absolute; top: 4px; height: 4px; border-radius: 2px; background: currentColor; min-width: 2px; }
.range b { position: absolute; top: 1px; height: 10px; width: 2px; margin-left: -1px; background: currentColor; }
.chart { display: grid; grid-template-columns: 52px minmax(0, 1fr); grid-template-rows: 210px 20px; }
.chart .y { position: relative; } .chart .x { position: relative; grid-column: 2; }
.chart .plot { position: relative; border-left: 1px solid var(--line); border-bottom: 1px solid var(--line); }
.chart svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; display: block; }
.chart .y span { position: absolute; right: 8px; transform: translateY(50%); font-size: 11px; color: var(--muted);
  line-height: 1; white-space: nowrap; }
.chart .x span { position: absolute; top: 6px; transform: translateX(-50%); font-size: 11px; color: var(--muted);
  line-height: 1; white-space: nowrap; }
.chart .x span.end { transform: translateX(-100%); }
.chart .mark { position: absolute; top: 0; transform: translateX(4px); font-size: 11px; line-height: 1.2;
  color: var(--muted); white-space: nowrap; pointer-events: none; }
.chart .mark.left { transform: translateX(calc(-100% - 4px)); }
svg * { vector-effect: non-scaling-stroke; }
.grid { stroke: var(--grid); stroke-width: 1; }
.line { fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; }
.line.latency { stroke: var(--latency); } .line.p50 { stroke: var(--latency); stroke-width: 1; opacity: 0.75; }
.line.curve { stroke: var(--muted); stroke-width: 1.5; } .line.err { stroke: var(--err); stroke-width: 1.5; }
.line.thin { stroke: var(--muted); stroke-width: 1; opacity: 0.55; }
.line.thin:hover { stroke: var(--text); opacity: 1; stroke-width: 2; }
.area { fill: var(--accent); opacity: 0.12; } .column { fill: var(--latency); opacity: 0.8; }
.column:hover { opacity: 1; }
.at { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 3 3; } .event { stroke: var(--muted); stroke-width: 1; }
.event.bad { stroke: var(--err); } .event.change { stroke: var(--warn); } .event.good { stroke: var(--ok); }
.level { stroke: var(--err); stroke-width: 1.5; stroke-dasharray: 5 4; opacity: 0.8; }
.dot { position: absolute; transform: translate(-50%, 50%); font-size: 13px; line-height: 1; font-weight: 700;
  cursor: default; }
.swatch.limit { border-color: var(--err); border-top: 2px dashed var(--err); }
.hit { stroke: transparent; stroke-width: 9; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 8px 0 0 52px; font-size: 12px; color: var(--muted); }
.swatch { display: inline-block; width: 14px; height: 0; border-top: 3px solid var(--accent); vertical-align: middle;
  margin-right: 6px; border-radius: 1px; }
.swatch.latency { border-color: var(--latency); } .swatch.err { border-color: var(--err); }
.swatch.p50 { border-color: var(--latency); border-top-width: 1px; }
.swatch.thin { border-color: var(--muted); border-top-width: 1px; }
.when { color: var(--muted); width: 1%; }
.level { display: inline-block; width: 8px; height: 8px; border-radius: 50%; background: var(--muted); }
.level.bad { background: var(--err); } .level.change { background: var(--warn); } .level.good { background: var(--ok); }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--muted-soft); border-radius: 6px;
  padding: 10px 14px; line-height: 1.45; }
pre.wide { white-space: pre; overflow-x: auto; overflow-wrap: normal; }
pre + p, table + p, .scroll + p, p + pre { margin-top: 10px; }
details { margin-top: 16px; } details summary { cursor: pointer; color: var(--muted); }
details pre { margin-top: 10px; }
footer { margin-top: 24px; color: var(--muted); font-size: 12px; }
@media screen and (max-width: 860px) { .pair { grid-template-columns: minmax(0, 1fr); }
  .tiles { grid-template-columns: repeat(4, minmax(0, 1fr)); } .tiles div:first-child { grid-column: span 2; } }
@media screen and (max-width: 560px) { main { padding: 20px 12px 32px; } section, .panel { padding: 14px; }
  .scroll { margin: 0 -14px; padding: 0 14px; } .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .chart { grid-template-columns: 44px minmax(0, 1fr); grid-template-rows: 180px 20px; } .legend { margin-left: 44px; }
  .facts { gap: 2px 16px; } th, td { padding-left: 12px; } th, td:last-child { white-space: normal; }
  .range-of { display: none; }
  .between { display: block; min-width: 0; margin: 0; font-size: 12px; } }
"""
_PRINT: Final = """
@media print { :root { --page: #ffffff; } main { max-width: none; padding: 0; } body { font-size: 11px; }
  section, .panel, .tiles, tr { break-inside: avoid; } details, footer { display: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } .scroll { overflow: visible; } }
@page { margin: 14mm; }
"""
COLOURS: Final = 8  # of groups; further ones start again, with another dash
_GROUPS: Final = "\n".join(
    f".g{n} {{ stroke: var(--c{n}); }} .s{n} {{ border-color: var(--c{n}); }} .t{n} {{ color: var(--c{n}); }}"
    for n in range(COLOURS)
)
_DASHED: Final = ".again { stroke-dasharray: 6 4; } .faint { stroke-width: 1; opacity: 0.5; }"

STYLE: Final = "\n".join(
    (
        f":root {{ color-scheme: light dark; {_LIGHT} }}",
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}",
        _RULES,
        _GROUPS,
        _DASHED,
        _PRINT,
    )
)
