#include "mfl/report/test_metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "mfl/base/json.h"
#include "mfl/report/table.h"

namespace mfl {
namespace {

constexpr std::string_view kConfusionTitle = "confusion matrix (rows: true class, columns: predicted)\n";

double real_of(const Json& number) {
  return number.is_double() ? number.number() : std::strtod(number.dump().c_str(), nullptr);
}

double real_of(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  return found == nullptr ? 0 : real_of(*found);
}

std::optional<double> maybe_real(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  return found == nullptr || found->is_null() ? std::nullopt : std::optional(real_of(*found));
}

std::uint64_t count_of(const Json& number) { return std::strtoull(number.dump().c_str(), nullptr, 10); }

std::vector<std::vector<std::uint64_t>> read_matrix(const Json* rows, std::size_t classes) {
  std::vector<std::vector<std::uint64_t>> out;
  if (rows == nullptr) return out;
  for (const Json& row : rows->elements()) {
    auto& counts = out.emplace_back();
    for (const Json& count : row.elements()) counts.push_back(count_of(count));
    if (counts.size() != classes) return {};
  }
  return out.size() == classes ? out : std::vector<std::vector<std::uint64_t>>{};
}

std::optional<TestedClasses::Top> read_top(const Json& metrics) {
  constexpr std::string_view kPrefix = "top_";
  std::optional<TestedClasses::Top> least;
  for (const auto& [key, value] : metrics.members()) {
    if (!key.starts_with(kPrefix)) continue;
    const std::uint64_t k = std::strtoull(key.c_str() + kPrefix.size(), nullptr, 10);
    if (!least || k < least->k) least = {k, real_of(value)};
  }
  return least;
}

// The classes that a table shows, in its order.
std::vector<std::size_t> shown_classes(const std::vector<TestedClass>& classes) {
  std::vector<std::size_t> order(classes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (classes.size() <= kMostClassLines) return order;
  std::ranges::stable_sort(order, {},
                           [&](std::size_t c) { return std::pair(classes[c].count == 0, classes[c].f1); });
  order.resize(kMostClassLines);
  return order;
}

std::string scores_text(double precision, double recall, double f1) {
  return fmt::format("precision {}, recall {}, F1 {}", percent_text(precision), percent_text(recall),
                     percent_text(f1));
}

std::size_t widest_line(std::string_view text) {
  std::size_t widest = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    widest = std::max(widest, end - start);
    start = end + 1;
  }
  return widest;
}

}  // namespace

std::optional<TestedClasses> read_test_metrics(std::string_view json) {
  const Json metrics = Json::parse(json).value_or(nullptr);
  const Json* classes = metrics.find("classes");
  const Json* macro = metrics.find("macro");
  if (classes == nullptr || macro == nullptr || classes->elements().empty()) return std::nullopt;
  TestedClasses out;
  for (const Json& one : classes->elements()) {
    const Json* name = one.find("class");
    const Json* support = one.find("support");
    if (name == nullptr || support == nullptr) return std::nullopt;
    out.classes.push_back({std::string(name->text()), real_of(one, "precision"), real_of(one, "recall"),
                           real_of(one, "f1"), count_of(*support)});
  }
  out.precision = real_of(*macro, "precision");
  out.recall = real_of(*macro, "recall");
  out.f1 = real_of(*macro, "f1");
  out.top = read_top(metrics);
  out.auc = maybe_real(metrics, "roc_auc");
  out.confusion = read_matrix(metrics.find("confusion"), out.classes.size());
  return out;
}

std::optional<TestedNumbers> read_test_numbers(std::string_view json) {
  const Json metrics = Json::parse(json).value_or(nullptr);
  const auto rmse = maybe_real(metrics, "rmse"), mae = maybe_real(metrics, "mae");
  if (!rmse || !mae) return std::nullopt;
  return TestedNumbers{*rmse, *mae, maybe_real(metrics, "r2")};
}

std::string macro_text(const TestedClasses& tested) {
  return scores_text(tested.precision, tested.recall, tested.f1) + " (macro)";
}

std::string numbers_text(const TestedNumbers& tested) {
  return fmt::format("RMSE {}, MAE {}{}", number_text(tested.rmse), number_text(tested.mae),
                     tested.r2 ? fmt::format(", R^2 {}", number_text(tested.r2)) : "");
}

std::vector<std::pair<std::string, std::string>> metric_lines(std::string_view json) {
  std::vector<std::pair<std::string, std::string>> lines;
  if (const auto numbers = read_test_numbers(json)) lines.emplace_back("test errors", numbers_text(*numbers));
  const auto tested = read_test_metrics(json);
  if (!tested) return lines;
  lines.emplace_back("by class", macro_text(*tested));
  if (tested->classes.size() != 2) return lines;
  const TestedClass& positive = tested->classes.back();
  constexpr std::size_t kNameWidth = 20;
  lines.emplace_back("positive", fmt::format("{}: {}", short_text(printable(positive.name), kNameWidth),
                                             scores_text(positive.precision, positive.recall, positive.f1)));
  if (tested->auc) lines.emplace_back("ROC AUC", number_text(*tested->auc));
  return lines;
}

std::string class_tables_text(std::string_view json) {
  const auto tested = read_test_metrics(json);
  if (!tested) return {};
  const std::string matrix = confusion_text(*tested);
  return "\n" + classes_text(*tested) + (matrix.empty() ? "" : "\n" + matrix);
}

std::string top_text(const TestedClasses& tested) {
  return tested.top ? fmt::format(" (top {}: {})", tested.top->k, percent_text(tested.top->accuracy)) : "";
}

std::string classes_text(const TestedClasses& tested) {
  constexpr std::size_t kNameWidth = 20;
  Table table({{"class"},
               {"precision", Align::kRight},
               {"recall", Align::kRight},
               {"F1", Align::kRight},
               {"count", Align::kRight}});
  for (const std::size_t c : shown_classes(tested.classes)) {
    const TestedClass& one = tested.classes[c];
    table.add({short_text(one.name, kNameWidth), percent_text(one.precision), percent_text(one.recall),
               percent_text(one.f1), fmt::format("{}", one.count)});
  }
  if (tested.classes.size() <= kMostClassLines) return table.text();
  return table.text() + fmt::format("{} of {} classes, those with the lowest F1; all of them: --json\n",
                                    kMostClassLines, tested.classes.size());
}

std::string confusion_text(const TestedClasses& tested, std::size_t width) {
  constexpr std::size_t kNameWidth = 8;
  if (tested.confusion.empty() || tested.classes.size() > kMostConfusionClasses) return {};
  std::vector<Column> columns = {{"class"}};
  for (const TestedClass& one : tested.classes)
    columns.push_back({short_text(printable(one.name), kNameWidth), Align::kRight});
  Table table(std::move(columns));
  for (std::size_t truth = 0; truth < tested.classes.size(); ++truth) {
    std::vector<std::string> cells = {short_text(tested.classes[truth].name, kNameWidth)};
    for (const std::uint64_t count : tested.confusion[truth]) cells.push_back(fmt::format("{}", count));
    table.add(std::move(cells));
  }
  const std::string text = table.text();
  return widest_line(text) > width ? std::string() : std::string(kConfusionTitle) + text;
}

}  // namespace mfl
