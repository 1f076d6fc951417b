#include "mfl/base/result.h"

#include <gtest/gtest.h>

namespace mfl {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) return fail(ErrorCode::kBadData, "odd number", "use an even one");
  return x / 2;
}

Result<int> quarter(int x) {
  MFL_TRY(const int y, half(x));
  MFL_CHECK(half(y));
  return y / 2;
}

TEST(Result, TryPassesValuesAndErrors) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(3).error().message, "odd number");
  EXPECT_EQ(quarter(6).error().hint, "use an even one");
}

TEST(Error, CausesAreChained) {
  const Error error = fail_because(half(1).error(), "reading x.csv").value();
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_EQ(error.text(), "reading x.csv: odd number");
  EXPECT_EQ(error.first_hint(), "use an even one");
  EXPECT_EQ(error_code_name(error.code), "bad_data");
}

}  // namespace
}  // namespace mfl
