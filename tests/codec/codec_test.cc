#include "mfl/codec/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mfl {
namespace {

using ::testing::HasSubstr;

CodecChain chain(std::string_view text) { return CodecChain::parse(text).value(); }

// What the server makes of an update.
template <class T>
void pass(std::string_view codecs, std::vector<Vector<T>>& update, const std::vector<Vector<T>>& origin,
          std::span<Vector<T>> residuals = {}, const CodecDraws& draws = {}) {
  chain(codecs).send<T>(update_vectors(update, origin), draws, residuals);
}

TEST(Codec, ClipShortensByTheNormOfAllVectors) {
  const std::vector<Vector<double>> origin = {{1, 1}, {0}};
  std::vector<Vector<double>> far = {{4, 1}, {4}};  // changes 3, 0 and 4: 5 in all
  pass("clip(10)", far, origin);
  EXPECT_EQ(far, (std::vector<Vector<double>>{{4, 1}, {4}})) << "within the norm nothing changes";
  pass("clip(2.5)", far, origin);
  EXPECT_EQ(far, (std::vector<Vector<double>>{{2.5, 1}, {2}}));
}

TEST(Codec, Bf16RoundsChangesToNearestEven) {
  const std::vector<Vector<float>> origin = {{0, 0, 0, 0, 0, 100}};
  std::vector<Vector<float>> x = {{1, 1.00390625F, 1.01171875F, -2.5F, 3e-40F, 100.5F}};
  pass("bf16", x, origin);
  EXPECT_EQ(x[0][0], 1);
  EXPECT_EQ(x[0][1], 1) << "a tie goes to the even one";
  EXPECT_EQ(x[0][2], 1.015625F) << "a tie goes to the even one";
  EXPECT_EQ(x[0][3], -2.5F);
  EXPECT_NEAR(x[0][4], 3e-40F, 1e-40F);
  EXPECT_EQ(x[0][5], 100.5F) << "the change is rounded, not the number";
}

TEST(Codec, NumbersThatAreNotFiniteStayThatWay) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  for (const char* text : {"bf16", "int8", "topk(0.4)", "topk(0.4), int8", "clip(1), topk(0.2), bf16"})
    for (const float bad : {kNan, kInf, -kInf}) {
      const std::vector<Vector<float>> origin = {{0, 0, 0, 0, 0}};
      std::vector<Vector<float>> x = {{1, 2, bad, -std::numeric_limits<float>::max(), 0}}, residuals = origin;
      pass<float>(text, x, origin, residuals);
      EXPECT_TRUE(std::ranges::any_of(x[0], [](float v) { return !std::isfinite(v); })) << text << " " << bad;
    }
}

TEST(Codec, TopkSendsTheLargestChangesAndKeepsTheRest) {
  const std::vector<Vector<double>> origin = {{10, 10, 10, 10, 10}};
  std::vector<Vector<double>> residuals = {{0, 0, 0, 0, 0}};
  std::vector<Vector<double>> x = {{11, 7, 10, 13, 12}};  // changes 1, -3, 0, 3 and 2
  pass<double>("topk(0.2)", x, origin, residuals);
  EXPECT_EQ(x[0], (Vector<double>{10, 7, 10, 10, 10})) << "a tie goes to the lower index";
  EXPECT_EQ(residuals[0], (Vector<double>{1, 0, 0, 3, 2}));
  x = {{11, 10, 10, 10, 11}};
  pass<double>("topk(0.2)", x, origin, residuals);
  EXPECT_EQ(x[0], (Vector<double>{10, 10, 10, 13, 10})) << "what was kept is added";
  EXPECT_EQ(residuals[0], (Vector<double>{2, 0, 0, 0, 3}));
}

TEST(Codec, TopkWithInt8KeepsTheRoundingToo) {
  const std::vector<Vector<float>> origin = {Vector<float>(300)};
  std::vector<Vector<float>> x = origin, residuals = origin;
  for (std::size_t i = 0; i < 300; ++i) x[0][i] = std::sin(static_cast<float>(i));
  const auto before = x;
  pass<float>("topk(0.1), int8", x, origin, residuals, {1, 2, 3});
  std::size_t sent = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    sent += x[0][i] != 0 ? 1 : 0;
    EXPECT_EQ(residuals[0][i], before[0][i] - x[0][i]);
  }
  EXPECT_EQ(sent, 30U);
}

// The formula once more: floor(u / step + r), with the draws in the order of the numbers.
TEST(Codec, Int8RoundsByCounterBasedDraws) {
  constexpr std::size_t kNumbers = 2'500, kBlock = 1'024;
  const std::vector<Vector<double>> origin = {Vector<double>(kNumbers, 1), Vector<double>(3)};
  std::vector<Vector<double>> x = {Vector<double>(kNumbers), {5, 0, -5}};
  for (std::size_t i = 0; i < kNumbers; ++i) x[0][i] = 1 + std::cos(static_cast<double>(i)) / 8;
  for (std::size_t i = kBlock; i < 2 * kBlock; ++i) x[0][i] = 1;  // a block without a change
  const auto before = x;
  pass<double>("int8", x, origin, {}, {7, 3, 11});
  for (std::size_t v = 0; v < 2; ++v) {
    Stream stream(7, Purpose::kCodec, 3, 11, v);
    for (std::size_t first = 0; first < x[v].size(); first += kBlock) {
      const std::size_t end = std::min(first + kBlock, x[v].size());
      double largest = 0;
      for (std::size_t i = first; i < end; ++i)
        largest = std::max(largest, std::abs(before[v][i] - origin[v][i]));
      const auto step = static_cast<float>(largest / 127);
      for (std::size_t i = first; i < end; ++i) {
        const double r = stream.uniform();
        const double q = step > 0 ? std::min(127.0, std::floor((before[v][i] - origin[v][i]) / step + r)) : 0;
        EXPECT_EQ(x[v][i], origin[v][i] + std::max(-127.0, q) * step) << v << " " << i;
      }
    }
  }
}

TEST(Codec, Int8IsUnbiased) {
  constexpr int kRounds = 4'000;
  const std::vector<Vector<double>> origin = {{0, 0, 0}};
  double sum = 0;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    std::vector<Vector<double>> x = {{127, 0.3, -0.7}};  // the step is 1
    pass<double>("int8", x, origin, {}, {1, round, 2});
    EXPECT_TRUE(x[0][1] == 0 || x[0][1] == 1);
    sum += x[0][1];
  }
  EXPECT_NEAR(sum / kRounds, 0.3, 0.04) << "five standard deviations";
}

template <class T>
void check_halves(const std::vector<T>& numbers, const std::vector<T>& starts, const char* text) {
  const std::size_t n = std::min(numbers.size(), starts.size());
  const auto end = static_cast<std::ptrdiff_t>(n);
  const std::vector<Vector<T>> origin = {{starts.begin(), starts.begin() + end}, {T(0.25)}};
  std::vector<Vector<T>> sent = {{numbers.begin(), numbers.begin() + end}, {T(3)}};
  std::vector<Vector<T>> received = {Vector<T>(n), Vector<T>(1)}, residuals = received;
  const CodecChain codecs = chain(text);
  std::string bytes;
  codecs.send<T>(update_vectors(sent, origin), {1, 2, 3}, residuals, &bytes);
  RC_ASSERT(bytes.size() <= codecs.most_bytes<T>(n) + codecs.most_bytes<T>(1));
  RC_ASSERT(codecs.receive<T>(bytes, update_vectors(received, origin)).has_value());
  for (std::size_t v = 0; v < sent.size(); ++v)
    for (std::size_t i = 0; i < sent[v].size(); ++i)
      RC_ASSERT(sent[v][i] == received[v][i] || (std::isnan(sent[v][i]) && std::isnan(received[v][i])));
  RC_ASSERT(!codecs.receive<T>(bytes + "x", update_vectors(received, origin)));
  RC_ASSERT(!codecs.receive<T>(bytes.substr(0, bytes.size() - 1), update_vectors(received, origin)));
}

constexpr const char* kChains[] = {"",
                                   "clip(0.5)",
                                   "bf16",
                                   "clip(2), bf16",
                                   "topk(0.3)",
                                   "int8",
                                   "topk(0.3), int8",
                                   "clip(2), topk(0.6), bf16"};

// What a simulation computes is what a server gets.
RC_GTEST_PROP(CodecLaws, TheServerGetsWhatTheNodeLeaves,
              (const std::vector<float>& numbers, const std::vector<float>& starts,
               const std::vector<double>& more, const std::vector<double>& more_starts)) {
  for (const char* text : kChains) {
    check_halves(numbers, starts, text);
    check_halves(more, more_starts, text);
  }
}

// Anything may arrive: it is refused, or it is numbers.
RC_GTEST_PROP(CodecLaws, AnyBytesAreNumbersOrRefused, (const std::string& bytes)) {
  const std::vector<Vector<float>> origin = {Vector<float>(9), Vector<float>(1)};
  for (const char* text : kChains) {
    std::vector<Vector<float>> update = origin;
    if (const auto received = chain(text).receive<float>(bytes, update_vectors(update, origin)); !received)
      RC_ASSERT(received.error().code == ErrorCode::kBadData);
  }
}

TEST(Codec, BytesThatNobodyEncodedAreRefused) {
  const std::vector<Vector<float>> origin = {Vector<float>(5)};
  std::vector<Vector<float>> update = origin;
  const auto answer = [&](std::string indices, std::size_t values) {
    const auto received = chain("topk(0.4)")
                              .receive<float>(indices + std::string(values * sizeof(float), '\0'),
                                              update_vectors(update, origin));
    return received ? "taken" : received.error().message;
  };
  const auto pair = [](unsigned first, unsigned second) {  // 3 bits each
    return std::string(1, static_cast<char>(first | second << 3U));
  };
  EXPECT_EQ(answer(pair(1, 4), 2), "taken");
  EXPECT_EQ(answer(pair(4, 1), 2), "vector 0 in topk+f32: index 1 follows 4");
  EXPECT_EQ(answer(pair(2, 2), 2), "vector 0 in topk+f32: index 2 follows 2");
  EXPECT_EQ(answer(pair(1, 5), 2), "vector 0 in topk+f32: index 5 of a vector of 5 numbers");
  EXPECT_EQ(answer(std::string(1, '\x61'), 2),
            "vector 0 in topk+f32: bits behind the last index are not zero");
  EXPECT_EQ(answer(pair(1, 4), 1), "vector 0 in topk+f32: 4 bytes are left where 8 are needed");
  EXPECT_EQ(answer(pair(1, 4), 3), "vector 0 in topk+f32: 4 bytes follow the last vector");
  EXPECT_EQ(answer("", 0), "vector 0 in topk+f32: 0 bytes are left where 1 are needed");
}

TEST(Codec, ChainsAreReadAndWritten) {
  EXPECT_TRUE(chain("").empty());
  EXPECT_TRUE(chain("  ").empty());
  EXPECT_EQ(chain(" clip( 10 ) ,bf16").spec(), "clip(norm=10), bf16");
  EXPECT_EQ(chain("clip(norm=10), bf16").spec(), "clip(norm=10), bf16");
  EXPECT_EQ(chain("bf16").encoding<double>(), "bf16");
  EXPECT_EQ(chain("clip(1)").encoding<double>(), "f64");
  EXPECT_EQ(chain("clip(1), topk(0.1)").encoding<float>(), "topk+f32");
  EXPECT_EQ(chain("topk(0.1), int8").encoding<float>(), "topk+int8");
}

TEST(Codec, SizesAreKnownBeforehand) {
  EXPECT_EQ(chain("").most_bytes<float>(10), 40U);
  EXPECT_EQ(chain("clip(1), bf16").most_bytes<double>(10), 20U);
  EXPECT_EQ(chain("int8").most_bytes<double>(2'049), 2'049U + 3 * 4);
  EXPECT_EQ(chain("topk(0.01)").most_bytes<float>(784), 8U * 10 / 8 + 8 * 4) << "8 indices of 10 bits";
  EXPECT_EQ(chain("topk(0.01), int8").most_bytes<float>(784), 8U * 10 / 8 + 8 + 4);
  EXPECT_EQ(chain("topk(1)").most_bytes<double>(1), 8U) << "no bit is needed for the only index";
  EXPECT_EQ(chain("topk(1)").most_bytes<double>(0), 0U);
}

TEST(Codec, BadChainsSayWhatIsWrong) {
  const auto message = [](std::string_view text) { return CodecChain::parse(text).error().text(); };
  EXPECT_THAT(message("bf61"), HasSubstr("did you mean \"bf16\"?"));
  EXPECT_THAT(message("bf16, clip(1)"), HasSubstr("follows bf16, which encodes all numbers"));
  EXPECT_THAT(message("bf16, bf16"), HasSubstr("follows bf16"));
  EXPECT_THAT(message("int8, topk(0.1)"), HasSubstr("follows int8, which encodes all numbers"));
  EXPECT_THAT(message("topk(0.1), clip(1)"), HasSubstr("follows topk(fraction=0.1), which encodes"));
  EXPECT_THAT(message("topk(0.1), topk(0.1)"), HasSubstr("follows topk(fraction=0.1)"));
  EXPECT_THAT(message("topk(0)"), HasSubstr("in (0, 1]"));
  EXPECT_THAT(message("clip(0)"), HasSubstr("> 0"));
  EXPECT_THAT(message("clip"), HasSubstr("norm"));
  EXPECT_FALSE(CodecChain::parse("clip(1),"));
  EXPECT_FALSE(CodecChain::parse(",bf16"));
  EXPECT_FALSE(CodecChain::parse("clip(1"));
}

}  // namespace
}  // namespace mfl
