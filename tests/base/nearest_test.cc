#include "mfl/base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace mfl {
namespace {

TEST(Nearest, FindsTheWordThatWasMeant) {
  constexpr std::array<std::string_view, 4> kWords = {"gamma", "lambda", "tau", "eta"};
  EXPECT_EQ(nearest("gama", kWords), "gamma");
  EXPECT_EQ(nearest("lambad", kWords), "lambda");
  EXPECT_EQ(nearest("taus", kWords), "tau");
  EXPECT_EQ(nearest("gamma", kWords), "gamma");
  EXPECT_EQ(nearest("partition", kWords), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(Nearest, EndsAMessageWithTheWord) {
  constexpr std::array<std::string_view, 2> kWords = {"gamma", "tau"};
  EXPECT_EQ(did_you_mean("gama", kWords), "; did you mean \"gamma\"?");
  EXPECT_EQ(did_you_mean("partition", kWords), "");
}

}  // namespace
}  // namespace mfl
