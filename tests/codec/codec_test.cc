#include "mfl/codec/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace mfl {
namespace {

using ::testing::HasSubstr;

CodecChain chain(std::string_view text) { return CodecChain::parse(text).value(); }

TEST(Codec, ClipShortensByTheNormOfAllVectors) {
  const std::vector<Vector<double>> origin = {{1, 1}, {0}};
  std::vector<Vector<double>> far = {{4, 1}, {4}};  // changes 3, 0 and 4: 5 in all
  chain("clip(10)").pass<double>(update_vectors(far, origin));
  EXPECT_EQ(far, (std::vector<Vector<double>>{{4, 1}, {4}})) << "within the norm nothing changes";
  chain("clip(2.5)").pass<double>(update_vectors(far, origin));
  EXPECT_EQ(far, (std::vector<Vector<double>>{{2.5, 1}, {2}}));
}

TEST(Codec, Bf16RoundsChangesToNearestEven) {
  const std::vector<Vector<float>> origin = {{0, 0, 0, 0, 0, 100}};
  std::vector<Vector<float>> x = {{1, 1.00390625F, 1.01171875F, -2.5F, 3e-40F, 100.5F}};
  chain("bf16").pass<float>(update_vectors(x, origin));
  EXPECT_EQ(x[0][0], 1);
  EXPECT_EQ(x[0][1], 1) << "a tie goes to the even one";
  EXPECT_EQ(x[0][2], 1.015625F) << "a tie goes to the even one";
  EXPECT_EQ(x[0][3], -2.5F);
  EXPECT_NEAR(x[0][4], 3e-40F, 1e-40F);
  EXPECT_EQ(x[0][5], 100.5F) << "the change is rounded, not the number";
  std::vector<Vector<float>> bad = {{std::numeric_limits<float>::quiet_NaN(),
                                     std::numeric_limits<float>::infinity(),
                                     std::numeric_limits<float>::max(), 0, 0, 0}};
  chain("bf16").pass<float>(update_vectors(bad, origin));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(std::isfinite(bad[0][i]));
}

template <class T>
void check_halves(const std::vector<T>& numbers, const std::vector<T>& starts, const char* text) {
  const std::size_t n = std::min(numbers.size(), starts.size());
  const std::vector<Vector<T>> origin = {{starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(n)},
                                         {T(0.25)}};
  const std::vector<Vector<T>> update = {{numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(n)},
                                         {T(3)}};
  auto passed = update, sent = update;
  auto received = std::vector<Vector<T>>{Vector<T>(n), Vector<T>(1)};
  const CodecChain codecs = chain(text);
  codecs.pass<T>(update_vectors(passed, origin));
  const std::string bytes = codecs.encode<T>(update_vectors(sent, origin));
  RC_ASSERT(bytes.size() == (n + 1) * codecs.bytes_per_number<T>());
  codecs.decode<T>(bytes, update_vectors(received, origin));
  for (std::size_t v = 0; v < passed.size(); ++v)
    for (std::size_t i = 0; i < passed[v].size(); ++i)
      RC_ASSERT(passed[v][i] == received[v][i] || (std::isnan(passed[v][i]) && std::isnan(received[v][i])));
}

// What a simulation computes is what a server gets.
RC_GTEST_PROP(CodecLaws, PassIsEncodeThenDecode,
              (const std::vector<float>& numbers, const std::vector<float>& starts,
               const std::vector<double>& more, const std::vector<double>& more_starts)) {
  for (const char* text : {"", "clip(0.5)", "bf16", "clip(2), bf16"}) {
    check_halves(numbers, starts, text);
    check_halves(more, more_starts, text);
  }
}

TEST(Codec, ChainsAreReadAndWritten) {
  EXPECT_TRUE(chain("").empty());
  EXPECT_TRUE(chain("  ").empty());
  EXPECT_EQ(chain(" clip( 10 ) ,bf16").spec(), "clip(norm=10), bf16");
  EXPECT_EQ(chain("clip(norm=10), bf16").spec(), "clip(norm=10), bf16");
  EXPECT_EQ(chain("bf16").encoding<double>(), "bf16");
  EXPECT_EQ(chain("clip(1)").encoding<double>(), "f64");
  EXPECT_EQ(chain("").bytes_per_number<float>(), 4U);
  EXPECT_EQ(chain("clip(1), bf16").bytes_per_number<double>(), 2U);
}

TEST(Codec, BadChainsSayWhatIsWrong) {
  const auto message = [](std::string_view text) { return CodecChain::parse(text).error().text(); };
  EXPECT_THAT(message("bf61"), HasSubstr("did you mean \"bf16\"?"));
  EXPECT_THAT(message("bf16, clip(1)"), HasSubstr("follows bf16, which encodes"));
  EXPECT_THAT(message("bf16, bf16"), HasSubstr("follows bf16"));
  EXPECT_THAT(message("clip(0)"), HasSubstr("> 0"));
  EXPECT_THAT(message("clip"), HasSubstr("norm"));
  EXPECT_FALSE(CodecChain::parse("clip(1),"));
  EXPECT_FALSE(CodecChain::parse(",bf16"));
  EXPECT_FALSE(CodecChain::parse("clip(1"));
}

}  // namespace
}  // namespace mfl
