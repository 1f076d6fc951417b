// How a page looks. No file, font or address from elsewhere.
#pragma once

#include <string_view>

namespace mfl {

// In the page's meta element "generator", before the version.
inline constexpr std::string_view kPageGenerator = "mfl";

inline constexpr std::string_view kPageStyle = R"(:root {
  color-scheme: light dark;
  --page: #fff; --text: #1c1f23; --quiet: #545b64; --rule: #dfe3e8; --strong-rule: #59616b; --code: #f5f6f8; --link: #005a8e;
  --good: #00573f; --good-back: #e3f4ee; --limited: #6b4700; --limited-back: #fdf3dc;
  --bad: #8a2b00; --bad-back: #fce8dd; --neutral: #444; --neutral-back: #f0f0f0;
  --ink: #000; --axis: #444; --mark: #8a8a8a; --guide: #bbb; --grid: #ddd;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #15181c; --text: #e4e7eb; --quiet: #a5adb8; --rule: #333a43; --strong-rule: #7b8592; --code: #1e2228; --link: #7cc0ee;
    --good: #7fd9b8; --good-back: #12332a; --limited: #efc66d; --limited-back: #382b0f;
    --bad: #ffab85; --bad-back: #42200f; --neutral: #c3c9d1; --neutral-back: #2a3038;
    --ink: #f0f2f4; --axis: #b4bbc4; --mark: #9aa1a9; --guide: #565e68; --grid: #2e343c;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 16px/1.6 Inter, "Source Sans 3", system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 72px; }
h1 { font-size: 2.1rem; line-height: 1.2; letter-spacing: -0.015em; margin: 0 0 0.4em; }
h2 { font-size: 1.4rem; line-height: 1.3; letter-spacing: -0.01em; margin: 2.4em 0 0.6em; padding-top: 0.9em; border-top: 1px solid var(--rule); }
p, ul { max-width: 82ch; overflow-wrap: anywhere; }
.lead { font-size: 1.12rem; color: var(--quiet); margin: 0.2em 0 0.8em; }
a { color: var(--link); }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 20px; padding: 0; margin: 0.6em 0 0; max-width: none; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 28px 32px; margin: 20px 0; }
figure { margin: 0; min-width: 0; }
figure:last-child:nth-child(odd) { grid-column: 1 / -1; justify-self: center; width: 100%; max-width: 560px; }
section:first-of-type .figures:first-of-type > figure:only-child { max-width: 840px; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { font-size: 0.9rem; color: var(--quiet); margin-top: 6px; overflow-wrap: anywhere; }
.table { overflow-x: auto; margin: 16px 0; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; line-height: 1.45; }
caption { text-align: left; font-weight: 600; padding: 4px 0 6px; }
th, td { text-align: left; vertical-align: top; padding: 7px 12px 7px 0; border-bottom: 1px solid var(--rule); }
th:last-child, td:last-child { padding-right: 0; }
th { border-bottom: 2px solid var(--strong-rule); vertical-align: bottom; line-height: 1.25; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
sub, sup { font-size: 0.75em; line-height: 0; }
pre { overflow-x: auto; background: var(--code); border: 1px solid var(--rule); border-radius: 6px; padding: 12px 14px; font-size: 0.85rem; line-height: 1.45; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace; }
td code { font-size: 0.88em; }
details { margin: 14px 0; }
summary { cursor: pointer; color: var(--link); }
.badge { display: inline-block; padding: 1px 10px; border-radius: 11px; border: 1px solid currentColor; font-weight: 600; font-size: 0.84rem; white-space: nowrap; }
.good { color: var(--good); background: var(--good-back); }
.limited { color: var(--limited); background: var(--limited-back); }
.bad { color: var(--bad); background: var(--bad-back); }
.neutral { color: var(--neutral); background: var(--neutral-back); }
@media (max-width: 600px) {
  main { padding: 16px 14px 40px; }
  h1 { font-size: 1.55rem; }
  h2 { font-size: 1.2rem; }
  table { font-size: 0.86rem; }
  table:not(.prose) td { white-space: nowrap; }
  figure > div { overflow-x: auto; }
  figure svg { min-width: 620px; }
  table:not(.prose) td:first-child { min-width: 8em; }
  .prose, .prose tbody, .prose tr, .prose td { display: block; }
  .prose thead { display: none; }
  .prose tr { padding: 8px 0; border-bottom: 1px solid var(--rule); }
  .prose td { border: 0; padding: 2px 0; overflow-wrap: anywhere; }
  .prose td::before { content: attr(data-title) ": "; color: var(--quiet); }
}
@media print {
  :root { color-scheme: light; }
  main { max-width: none; padding: 0; }
  nav { display: none; }
  .figures { grid-template-columns: 1fr 1fr; }
  figure, tr { break-inside: avoid; }
  .table, pre { overflow: visible; }
  pre { white-space: pre-wrap; }
}
)";

}  // namespace mfl
