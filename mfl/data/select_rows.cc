#include "mfl/data/select_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

#include "mfl/base/rng.h"

namespace mfl {
namespace {

Result<void> check_enough(std::size_t asked, std::size_t available, std::string_view what,
                          const std::string& source) {
  if (asked <= available) return {};
  return fail(ErrorCode::kBadData,
              fmt::format("{} {} samples asked for, but {} has {}", asked, what, source, available),
              fmt::format("ask for at most {}", available));
}

// The first `count` of `rows`, in order or drawn.
std::vector<std::uint32_t> draw_rows(const std::vector<std::uint32_t>& rows, std::size_t count,
                                     const DataOptions& options, Purpose purpose) {
  if (options.take == Take::kFirst) return {rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count)};
  std::vector<std::uint32_t> order = permutation(rows.size(), Stream(options.seed, purpose));
  order.resize(count);
  for (std::uint32_t& row : order) row = rows[row];
  return order;
}

std::vector<std::uint32_t> all_rows(std::size_t count) {
  std::vector<std::uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

Result<RowSelection> select_fold(std::size_t rows, const DataOptions& options) {
  MFL_CHECK(check_enough(options.folds, rows, "differently folded", options.source));
  const std::vector<std::uint32_t> order = permutation(rows, Stream(options.seed, Purpose::kTakeTest));
  std::vector<bool> tested(rows);
  for (std::size_t i = rows * options.fold / options.folds; i < rows * (options.fold + 1) / options.folds;
       ++i)
    tested[order[i]] = true;
  RowSelection selection{{}, std::vector<std::uint32_t>{}};
  for (std::uint32_t row = 0; row < rows; ++row)
    (tested[row] ? *selection.test : selection.train).push_back(row);
  return selection;
}

}  // namespace

Result<RowSelection> select_from_two(std::size_t pool_rows, std::size_t test_rows,
                                     const DataOptions& options) {
  const std::size_t train = options.train.value_or(pool_rows);
  const std::size_t test = options.test.value_or(test_rows);
  MFL_CHECK(check_enough(train, pool_rows, "training", options.source));
  MFL_CHECK(check_enough(test, test_rows, "test",
                         options.test_source.empty() ? options.source : options.test_source));
  RowSelection selection{draw_rows(all_rows(pool_rows), train, options, Purpose::kTakeTrain), std::nullopt};
  if (test > 0) selection.test = draw_rows(all_rows(test_rows), test, options, Purpose::kTakeTest);
  return selection;
}

Result<RowSelection> select_from_pool(std::size_t rows, std::size_t usual_test, const DataOptions& options) {
  if (options.folds != 0) return select_fold(rows, options);
  MFL_CHECK(check_enough(options.train.value_or(0), rows, "training", options.source));
  MFL_CHECK(check_enough(options.test.value_or(0), rows, "test", options.source));
  const std::size_t left = options.train ? rows - *options.train : 0;
  const std::size_t unsaid = usual_test != 0 ? std::min(usual_test, options.train ? left : rows) : left;
  const std::size_t test = options.test.value_or(unsaid);
  const std::size_t train = options.train.value_or(rows - test);
  if (train == 0 || train > rows - test)
    return fail(
        ErrorCode::kBadData,
        fmt::format("{} training and {} test samples asked for, but {} has {} in all",
                    options.train ? fmt::format("{}", train) : "all remaining", test, options.source, rows),
        "ask for less, or name a test source of its own");
  RowSelection selection{draw_rows(all_rows(rows), train, options, Purpose::kTakeTrain), std::nullopt};
  if (test == 0) return selection;
  std::vector<bool> taken(rows);
  for (const std::uint32_t row : selection.train) taken[row] = true;
  std::vector<std::uint32_t> rest;
  for (std::uint32_t row = 0; row < rows; ++row)
    if (!taken[row]) rest.push_back(row);
  selection.test = draw_rows(rest, test, options, Purpose::kTakeTest);
  return selection;
}

}  // namespace mfl
