// A data source is one entry of the table: a toy that this program adds is read, refused and suggested like those of the table.
#include "mfl/data/sources.h"

#include <numeric>

#include "mfl/data/task.h"
#include "tests/data/small_files.h"

namespace mfl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Rows (x, x^2), of which the last one is a test part.
Result<SourceParts> open_squares(const ParameterValues& values, const DataOptions& options) {
  const std::size_t rows = values.text().size() + options.seed;
  Dataset data{.rows = rows, .columns = 2, .scale = 1, .features = {}, .labels = std::vector<double>(rows)};
  std::iota(data.labels.begin(), data.labels.end(), 0.0);
  DenseRows<double> dense;
  for (const double x : data.labels) dense.values.insert(dense.values.end(), {x, x * x});
  data.features = std::move(dense);
  const std::vector<std::uint32_t> last = {static_cast<std::uint32_t>(rows - 1)};
  return SourceParts{rows_in_memory(data), rows_in_memory(take_rows(data, last))};
}

const SourceEntry& toy() {
  if (sources().find("toy-squares") == nullptr)
    sources().add({{.name = "toy-squares", .description = "squares of small numbers", .text = "TALLY"},
                   open_squares,
                   true,
                   true});
  return *sources().find("toy-squares");
}

DataOptions options_of(const std::string& source) {
  DataOptions options;
  options.source = source;
  return options;
}

const std::vector<double>& values_of(const Dataset& data) {
  return std::get<DenseRows<double>>(data.features).values;
}

TEST(Sources, AToyIsReadWholeAndInRows) {
  toy();
  DataOptions options = options_of("toy-squares:|||");
  options.seed = 1;
  options.scale = 0.5;
  const auto sets = load(options);
  ASSERT_TRUE(sets) << sets.error().text();
  EXPECT_THAT(values_of(sets->train), ElementsAre(0, 0, 1, 1, 2, 4, 3, 9));
  EXPECT_EQ(sets->train.scale, 0.5);
  EXPECT_THAT(sets->test->labels, ElementsAre(3));
  const auto rows = open_rows(options);
  ASSERT_TRUE(rows) << rows.error().text();
  const std::vector<std::uint32_t> some = {3, 1};
  EXPECT_THAT(values_of(rows->train.read(some).value()), ElementsAre(3, 9, 1, 1));
  options.folds = 2;  // the rows of the pool alone
  EXPECT_EQ(load(options)->test->rows, 2U);
  options = options_of("toy-squares:||");
  options.test_source = "toy-squares:||||";
  EXPECT_THAT(load(options)->test->labels, ElementsAre(3)) << "the test part of the other source";
}

TEST(Sources, AToyIsKnownByItsEntry) {
  toy();
  EXPECT_EQ(find_source("toy-squares:||"), &toy());
  EXPECT_TRUE(is_own_data("toy-squares:||"));
  EXPECT_EQ(default_task("toy-squares:||", TargetKind::kSigned), Task::kEvenOdd);
  DataOptions options = options_of("toy-squares:||");
  options.max_columns = 1;
  expect_error(load(options), ErrorCode::kBadData, {"toy-squares", "2"});
  options = options_of("toy-squares:||");
  options.csv.separator = ';';
  expect_error(load(options), ErrorCode::kBadConfig, {"separator", "toy-squares:||"});
  expect_error(load(options_of("toy-squares")), ErrorCode::kBadConfig, {"missing TALLY"});
  expect_error(load(options_of("toy-square:|")), ErrorCode::kBadConfig, {"did you mean \"toy-squares\"?"});
  EXPECT_THAT(load(options_of("nonsense")).error().hint, HasSubstr("toy-squares"));
}

TEST(Sources, EveryEntryOpensOrIsMadeByItsNodes) {
  for (const SourceEntry& entry : sources())
    EXPECT_EQ(entry.open == nullptr, entry.name == "fleet") << entry.name;
  expect_error(load(options_of("fleet:3x4")), ErrorCode::kBadConfig,
               {"fleet:3x4", "each node makes its own"});
}

TEST(Sources, ConfigurationsKeepASpecAsItIsWritten) {
  for (const char* spec : {"mnist", "memory", "synthetic", "synthetic:30x4", "synthetic-fedprox(1, 1)",
                           "csv:a (b).csv", "csv:c:d", "fleet:5-50x784,alpha=0.3"})
    EXPECT_EQ(source_text(spec).value(), spec);
  EXPECT_EQ(source_text(" mnist ").value(), "mnist");
  EXPECT_FALSE(source_text("synthetic-fedprox(-1)"));
}

TEST(Sources, MemoryIsNoChoiceOfAUser) {
  EXPECT_EQ(sources().find("memory"), nullptr);
  EXPECT_TRUE(is_own_data("memory"));
  expect_error(load(options_of("memory")), ErrorCode::kBadConfig, {"a program gave this data in memory"});
}

}  // namespace
}  // namespace mfl::test
