// How a page looks. No file, font or address from elsewhere.
#pragma once

#include <string_view>

namespace mfl {

// In the page's meta element "generator", before the version.
inline constexpr std::string_view kPageGenerator = "mfl";

inline constexpr std::string_view kPageStyle = R"(:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: #1a1a1a; font: 16px/1.55 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1280px; margin: 0 auto; padding: 24px 20px 64px; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0.4em 0 0.3em; }
h2 { font-size: 1.35rem; line-height: 1.3; margin: 2.2em 0 0.6em; padding-top: 0.5em; border-top: 1px solid #d5d5d5; }
p, ul { max-width: 78ch; overflow-wrap: anywhere; }
.lead { font-size: 1.08rem; color: #333; }
a { color: #005a8e; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 18px; padding: 0; margin: 0.6em 0 0; max-width: none; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 20px 28px; margin: 18px 0; }
figure { margin: 0; min-width: 0; max-width: 760px; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { font-size: 0.9rem; color: #333; margin-top: 4px; overflow-wrap: anywhere; }
.table { overflow-x: auto; margin: 14px 0; }
table { border-collapse: collapse; font-size: 0.9rem; line-height: 1.4; }
caption { text-align: left; font-weight: 600; padding: 4px 0 6px; }
th, td { text-align: left; vertical-align: top; padding: 6px 14px 6px 0; border-bottom: 1px solid #e2e2e2; }
th { border-bottom: 2px solid #555; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { overflow-x: auto; background: #f6f6f6; border: 1px solid #e2e2e2; padding: 10px 12px; font-size: 0.85rem; line-height: 1.4; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Consolas, monospace; }
td code { font-size: 0.88em; }
.badge { display: inline-block; padding: 1px 9px; border-radius: 10px; border: 1px solid currentColor; font-weight: 600; font-size: 0.86rem; white-space: nowrap; }
.good { color: #00573f; background: #e3f4ee; }
.limited { color: #6b4700; background: #fdf3dc; }
.bad { color: #8a2b00; background: #fce8dd; }
.neutral { color: #444; background: #f0f0f0; }
@media (max-width: 600px) {
  main { padding: 12px 14px 40px; }
  h1 { font-size: 1.5rem; }
  h2 { font-size: 1.2rem; }
  table { font-size: 0.86rem; }
  .prose, .prose tbody, .prose tr, .prose td { display: block; }
  .prose thead { display: none; }
  .prose tr { padding: 8px 0; border-bottom: 1px solid #d5d5d5; }
  .prose td { border: 0; padding: 2px 0; overflow-wrap: anywhere; }
  .prose td::before { content: attr(data-title) ": "; color: #555; }
}
@media print {
  main { max-width: none; padding: 0; }
  nav { display: none; }
  .figures { grid-template-columns: 1fr 1fr; }
  figure, tr { break-inside: avoid; }
  .table, pre { overflow: visible; }
  pre { white-space: pre-wrap; }
}
)";

}  // namespace mfl
