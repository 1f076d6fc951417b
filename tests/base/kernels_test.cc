// Every kernel set against a plain scalar implementation of the contract in kernels.h: equal bits.
#include "mfl/base/kernels/kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "mfl/base/math.h"
#include "mfl/base/rng.h"
#include "tests/base/row_block.h"

namespace mfl {
namespace {

template <class T>
constexpr std::size_t kReferenceLanes = sizeof(T) == 4 ? 16 : 8;

template <class T>
T reference_tree(std::vector<T> lanes) {
  for (std::size_t n = lanes.size() / 2; n > 0; n /= 2)
    for (std::size_t i = 0; i < n; ++i) lanes[i] += lanes[i + n];
  return lanes[0];
}

template <class T>
double reference_margin(const std::vector<T>& row, T scale, const std::vector<T>& w) {
  std::vector<T> lanes(kReferenceLanes<T>, T{0});
  for (std::size_t j = 0; j < row.size(); ++j) {
    T& lane = lanes[j % lanes.size()];
    lane = std::fma(row[j], w[j], lane);
  }
  return static_cast<double>(scale * reference_tree(lanes));
}

struct LossAndSlope {
  double loss, slope;
};

LossAndSlope reference_loss(Loss loss, double z, double y) {
  switch (loss) {
    case Loss::kHinge: return y * z >= 1 ? LossAndSlope{0, 0} : LossAndSlope{0.5 * (1 - y * z), -(0.5 * y)};
    case Loss::kSquaredHinge: {
      const double lack = 1 - y * z;
      return y * z >= 1 ? LossAndSlope{0, 0} : LossAndSlope{0.5 * (lack * lack), -(y * lack)};
    }
    case Loss::kSquared: return {0.5 * ((z - y) * (z - y)), z - y};
    case Loss::kLogistic: {
      const double e = portable_exp(-std::abs(z));
      return {(z >= 0 ? z : 0) + portable_log1p_unit(e) - y * z, (z >= 0 ? 1 : e) / (1 + e) - y};
    }
  }
  return {};
}

// Rows with zeros, in the three forms that hold the same numbers.
template <class T>
struct TestRows {
  TestRows(std::size_t row_count, std::size_t column_count, std::uint64_t seed)
      : rows(row_count), columns(column_count) {
    Stream stream(seed, Purpose::kSynthetic);
    starts.push_back(0);
    chunks.resize(rows * chunk_words(columns));
    for (std::size_t r = 0; r < rows; ++r) {
      bool empty = false;
      for (std::size_t j = 0; j < columns; ++j) {
        if (j % kChunk == 0) empty = stream.below(2) == 0;
        const auto byte = static_cast<std::uint8_t>(!empty && stream.below(3) == 0 ? stream.below(256) : 0);
        bytes.push_back(byte);
        values.push_back(byte);
        if (byte == 0) continue;
        if (const std::size_t c = j / kChunk; c < columns / kChunk)
          chunks[r * chunk_words(columns) + c / 64] |= std::uint64_t{1} << (c % 64);
        positions.push_back(static_cast<std::uint32_t>(j));
        entries.push_back(byte);
      }
      starts.push_back(positions.size());
      y.push_back(stream.below(2) == 0 ? T{1} : T{-1});
    }
    for (std::size_t j = 0; j < columns; ++j) w.push_back(static_cast<T>(stream.normal() * 0.02));
  }

  RowBlock<T> block(RowKind kind, bool with_chunks = false) const {
    return testing::row_block<T>(*this, kind, with_chunks);
  }
  std::vector<T> row(std::size_t r) const {
    const auto at = static_cast<std::ptrdiff_t>(r * columns);
    return {values.begin() + at, values.begin() + at + static_cast<std::ptrdiff_t>(columns)};
  }

  std::size_t rows, columns;
  std::vector<std::uint8_t> bytes;
  std::vector<T> values, entries, y, w;
  std::vector<std::uint64_t> starts, chunks;
  std::vector<std::uint32_t> positions;
};

template <class T>
class KernelsOf : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(KernelsOf, Precisions);

constexpr std::pair<std::size_t, std::size_t> kShapes[] = {
    {1, 1}, {1, 784}, {7, 16}, {8, 15}, {9, 17}, {16, 3}, {23, 64}, {64, 100}, {256, 33}, {9, 1100}};
constexpr Loss kLosses[] = {Loss::kHinge, Loss::kSquaredHinge, Loss::kSquared, Loss::kLogistic};
constexpr RowKind kKinds[] = {RowKind::kBytes, RowKind::kDense, RowKind::kSparse};

TYPED_TEST(KernelsOf, LossAndGradientKeepTheContract) {
  using T = TypeParam;
  for (const auto& [rows, columns] : kShapes) {
    const TestRows<T> data(rows, columns, rows * 1000 + columns);
    for (const Loss loss : kLosses) {
      double expected_loss = 0;
      std::vector<double> expected_margins;
      std::vector<T> expected_gradient(columns, T{0});
      double tile = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        expected_margins.push_back(reference_margin(data.row(r), static_cast<T>(1.0 / 255), data.w));
        const auto value = reference_loss(loss, expected_margins.back(), static_cast<double>(data.y[r]));
        tile += value.loss;
        if (r % 8 == 7 || r + 1 == rows) {
          expected_loss += tile;
          tile = 0;
        }
        for (std::size_t j = 0; j < columns; ++j)
          expected_gradient[j] = std::fma(static_cast<T>(value.slope), data.row(r)[j], expected_gradient[j]);
      }
      for (const KernelSet& set : kernel_sets())
        for (const RowKind kind : kKinds)
          for (const bool with_chunks : {false, true}) {
            SCOPED_TRACE(std::string(set.name) + " rows " + std::to_string(rows) + " columns " +
                         std::to_string(columns) + " loss " + std::to_string(static_cast<int>(loss)));
            const RowBlock<T> block = data.block(kind, with_chunks);
            std::vector<double> z(rows);
            set.of<T>().margins(block, data.w.data(), z.data());
            ASSERT_EQ(z, expected_margins);
            ASSERT_EQ(set.of<T>().losses(loss, rows, z.data(), data.y.data(), nullptr), expected_loss);
            // The same weights together with others, at every position of a batch.
            for (const std::size_t settings : {1, 2, 3, 4, 5, 16}) {
              const std::vector<T> other(columns, static_cast<T>(0.01));
              std::vector<std::vector<T>> gradients(settings, std::vector<T>(columns, T{0}));
              std::vector<const T*> w(settings, other.data());
              std::vector<T*> g;
              for (auto& gradient : gradients) g.push_back(gradient.data());
              const std::size_t place = (rows + columns) % settings;
              w[place] = data.w.data();
              std::vector<double> sums(settings, -1);
              std::vector<T> packed(packed_size(columns, settings));
              set.of<T>().pack(columns, settings, w.data(), packed.data());
              set.of<T>().loss_and_gradient(block, loss, data.y.data(), settings,
                                            settings == 1 ? w[0] : packed.data(), g.data(), sums.data());
              ASSERT_EQ(std::bit_cast<std::uint64_t>(sums[place]),
                        std::bit_cast<std::uint64_t>(expected_loss));
              ASSERT_EQ(gradients[place], expected_gradient);
            }
          }
    }
  }
}

// Numbers that a shortcut could treat otherwise: zeros of both signs, subnormal ones, and ones that are not finite.
template <class T>
T awkward(Stream& stream, bool finite) {
  using Limits = std::numeric_limits<T>;
  switch (stream.below(finite ? 6 : 8)) {
    case 0: return T{0};
    case 1: return -T{0};
    case 2: return Limits::denorm_min() * static_cast<T>(1 + stream.below(9));
    case 3: return -Limits::denorm_min();
    case 6: return Limits::infinity();
    case 7: return Limits::quiet_NaN();
    default: return static_cast<T>(stream.normal());
  }
}

// The sign of a NaN is not part of the contract, and neither is that of a margin of zero.
template <class T>
std::vector<std::uint64_t> bits_of(const std::vector<T>& numbers) {
  std::vector<std::uint64_t> out;
  for (const T x : numbers)
    out.push_back(std::isnan(x) ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(static_cast<double>(x)));
  return out;
}

TYPED_TEST(KernelsOf, AwkwardNumbersGiveTheSameBitsInEverySet) {
  using T = TypeParam;
  Stream stream(17, Purpose::kSynthetic);
  for (int drawn = 0; drawn < 400; ++drawn) {
    TestRows<T> data(1 + stream.below(40), 1 + stream.below(100), static_cast<std::uint64_t>(drawn));
    const bool finite = drawn % 4 != 3, one_active = drawn % 3 == 0;
    for (T& w : data.w) w = awkward<T>(stream, finite);
    std::vector<T> c(data.rows), start(data.columns);
    for (T& x : c) x = one_active ? T{0} : awkward<T>(stream, finite);
    c[stream.below(data.rows)] = awkward<T>(stream, finite);
    for (T& x : start) x = awkward<T>(stream, true);
    if (drawn % 2 == 0)  // rows of any sign
      for (T& x : data.values)
        if (x != 0) x = awkward<T>(stream, true);
    for (const RowKind kind : {RowKind::kBytes, RowKind::kDense})
      for (const bool with_chunks : {false, true}) {
        const RowBlock<T> block = data.block(kind, with_chunks);
        const auto results = [&](const Kernels<T>& kernels) {
          std::vector<std::vector<std::uint64_t>> out;
          std::vector<double> sums(std::size(kLosses));
          for (std::size_t l = 0; l < sums.size(); ++l) {
            std::vector<T> g = start;
            T* const to = g.data();
            kernels.loss_and_gradient(block, kLosses[l], data.y.data(), 1, data.w.data(), &to, &sums[l]);
            out.push_back(bits_of(g));
          }
          std::vector<double> z(data.rows);
          kernels.margins(block, data.w.data(), z.data());
          for (double& margin : z) margin += 0.0;
          std::vector<T> g = start;
          kernels.add_rows(block, c.data(), g.data());
          for (const auto& more : {bits_of(z), bits_of(sums), bits_of(g)}) out.push_back(more);
          return out;
        };
        const auto expected = results(kernel_sets().back().of<T>());
        for (const KernelSet& set : kernel_sets())
          ASSERT_EQ(results(set.of<T>()), expected)
              << set.name << " draw " << drawn << " rows " << data.rows << " columns " << data.columns
              << " chunks " << with_chunks;
      }
  }
}

TYPED_TEST(KernelsOf, ASettingGetsTheSameBitsAloneAndWithOthers) {
  using T = TypeParam;
  Stream stream(18, Purpose::kSynthetic);
  for (int drawn = 0; drawn < 60; ++drawn) {
    const TestRows<T> data(1 + stream.below(100), 1 + stream.below(drawn % 3 == 0 ? 2200 : 100),
                           static_cast<std::uint64_t>(drawn));
    const std::size_t settings = 2 + stream.below(kMaxBatch - 1);
    std::vector<std::vector<T>> weights(settings, std::vector<T>(data.columns));
    for (std::size_t s = 0; s < settings; ++s)
      for (T& w : weights[s])
        w = s == 1 ? awkward<T>(stream, drawn % 4 != 3) : static_cast<T>(stream.normal());
    std::vector<const T*> w;
    for (const auto& one : weights) w.push_back(one.data());
    for (const KernelSet& set : kernel_sets())
      for (const RowKind kind : {RowKind::kBytes, RowKind::kDense})
        for (const bool with_chunks : {false, true})
          for (const Loss loss : kLosses) {
            SCOPED_TRACE(std::string(set.name) + " draw " + std::to_string(drawn) + " rows " +
                         std::to_string(data.rows) + " columns " + std::to_string(data.columns));
            const Kernels<T>& kernels = set.of<T>();
            const RowBlock<T> block = data.block(kind, with_chunks);
            std::vector<std::vector<T>> together(settings, std::vector<T>(data.columns, T{0}));
            std::vector<T*> to;
            for (auto& g : together) to.push_back(g.data());
            std::vector<T> packed(packed_size(data.columns, settings));
            kernels.pack(data.columns, settings, w.data(), packed.data());
            std::vector<double> sums(settings);
            kernels.loss_and_gradient(block, loss, data.y.data(), settings, packed.data(), to.data(),
                                      sums.data());
            for (std::size_t s = 0; s < settings; ++s) {
              std::vector<T> alone(data.columns, T{0});
              T* const g = alone.data();
              double sum = 0;
              kernels.loss_and_gradient(block, loss, data.y.data(), 1, w[s], &g, &sum);
              ASSERT_EQ(bits_of(together[s]), bits_of(alone)) << s;
              ASSERT_EQ(bits_of(std::vector{sums[s]}), bits_of(std::vector{sum})) << s;
            }
          }
  }
}

// Whatever path w takes, and however few rows are visited, the hinge sums are those of a pass over all rows.
TYPED_TEST(KernelsOf, HingeSumsFollowTheGradient) {
  using T = TypeParam;
  for (const auto& [rows, columns] : kShapes) {
    const TestRows<T> data(rows, columns, rows * 1000 + columns);
    std::vector<float> lengths;
    for (std::size_t r = 0; r < rows; ++r) {
      double squares = 0;
      for (const T x : data.row(r)) squares += static_cast<double>(x) * static_cast<double>(x);
      lengths.push_back(static_cast<float>(std::sqrt(squares) / 255 * 1.001));
    }
    for (const KernelSet& set : kernel_sets())
      for (const bool with_chunks : {false, true}) {
        SCOPED_TRACE(std::string(set.name) + " rows " + std::to_string(rows) + " columns " +
                     std::to_string(columns));
        const Kernels<T>& kernels = set.of<T>();
        RowBlock<T> block = data.block(RowKind::kBytes, with_chunks);
        block.lengths = lengths.data();
        std::vector<std::uint32_t> active(kActiveWords);
        std::vector<std::int32_t> sums(columns);
        std::vector<float> reach(rows, -1);
        HingeSums hinge{active.data(), sums.data(), reach.data(), 0};
        Stream stream(5, Purpose::kSynthetic);
        std::vector<T> w(columns, T{0}), last = w;
        for (int pass = 0; pass < 40; ++pass) {
          hinge.travelled += std::sqrt(kernels.squared_distance(columns, w.data(), last.data())) * 1.001;
          last = w;
          std::vector<T> expected(columns, T{0}), gradient(columns);
          std::vector<T*> to = {expected.data()};
          double expected_loss = 0, loss = 0;
          kernels.loss_and_gradient(block, Loss::kHinge, data.y.data(), 1, w.data(), to.data(),
                                    &expected_loss);
          if (pass % 3 == 0) {
            kernels.loss_and_hinge_sums(block, data.y.data(), 1, w.data(), &hinge, &loss);
            ASSERT_EQ(loss, expected_loss);
          } else {
            kernels.follow_hinge_sums(block, data.y.data(), w.data(), hinge, 1e-3);
          }
          kernels.halve(columns, 1, sums.data(), gradient.data());
          ASSERT_EQ(gradient, expected);
          for (T& x : w) x += static_cast<T>(stream.normal() * (pass % 7 == 0 ? 0.1 : 0.001));
        }
      }
  }
}

TYPED_TEST(KernelsOf, AddedRowsKeepTheContract) {
  using T = TypeParam;
  for (const auto& [rows, columns] : kShapes) {
    const TestRows<T> data(rows, columns, rows * 2000 + columns);
    std::vector<T> c(rows), expected(columns, static_cast<T>(0.25));
    for (std::size_t r = 0; r < rows; ++r)
      c[r] = r % 5 == 3 ? T{0} : static_cast<T>(0.1) * data.w[r % columns];
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = 0; j < columns; ++j) expected[j] = std::fma(c[r], data.row(r)[j], expected[j]);
    for (const KernelSet& set : kernel_sets())
      for (const RowKind kind : kKinds)
        for (const bool with_chunks : {false, true}) {
          std::vector<T> g(columns, static_cast<T>(0.25));
          set.of<T>().add_rows(data.block(kind, with_chunks), c.data(), g.data());
          ASSERT_EQ(g, expected) << set.name << " rows " << rows << " columns " << columns;
        }
  }
}

TYPED_TEST(KernelsOf, VectorStepsKeepTheContract) {
  using T = TypeParam;
  const T eta = static_cast<T>(0.002), gamma = static_cast<T>(0.9), lambda = static_cast<T>(0.3);
  for (const std::size_t n : {1, 7, 16, 33, 784}) {
    const TestRows<T> data(3, n, n);
    const std::vector<T> g = data.row(0), d0 = data.row(1), w0 = data.w;
    for (const KernelSet& set : kernel_sets()) {
      SCOPED_TRACE(set.name);
      std::vector<T> d = d0, w = w0, v = w0, f = g, sum = d0;
      set.of<T>().momentum_step(n, eta, gamma, g.data(), d.data(), w.data());
      set.of<T>().descent_step(n, eta, g.data(), v.data());
      set.of<T>().finish_gradient(n, eta, lambda, w0.data(), f.data());
      set.of<T>().add(n, g.data(), sum.data());
      std::vector<double> lanes(8, 0.0);
      for (std::size_t j = 0; j < n; ++j) {
        const T dj = std::fma(gamma, d0[j], g[j]);
        ASSERT_EQ(d[j], dj);
        ASSERT_EQ(w[j], std::fma(-eta, dj, w0[j]));
        ASSERT_EQ(v[j], std::fma(-eta, g[j], w0[j]));
        ASSERT_EQ(f[j], std::fma(lambda, w0[j], eta * g[j]));
        ASSERT_EQ(sum[j], d0[j] + g[j]);
        lanes[j % 8] = std::fma(static_cast<double>(w0[j]), static_cast<double>(w0[j]), lanes[j % 8]);
      }
      ASSERT_EQ(set.of<T>().squared_norm(n, w0.data()), reference_tree(lanes));
    }
  }
}

TYPED_TEST(KernelsOf, ExtremeMarginsAreTheSameEverywhere) {
  using T = TypeParam;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> z = {0,   -0.0, 1,     -1,     36,   -36,   709,    -709,
                                 746, -746, 1e300, -1e300, kInf, -kInf, 5e-324, 1e-17};
  for (const T y : {T{0}, T{1}, T{-1}}) {
    const std::vector<T> targets(z.size(), y);
    for (const Loss loss : kLosses)
      for (const KernelSet& set : kernel_sets())
        for (std::size_t i = 0; i < z.size(); ++i) {
          T slope = 0;
          const double got = set.of<T>().losses(loss, 1, &z[i], &targets[i], &slope);
          const auto expected = reference_loss(loss, z[i], static_cast<double>(y));
          if (std::isnan(expected.loss)) {
            EXPECT_TRUE(std::isnan(got)) << set.name << " z = " << z[i];
          } else {
            EXPECT_EQ(got, expected.loss) << set.name << " z = " << z[i];
            EXPECT_EQ(slope, static_cast<T>(expected.slope)) << set.name << " z = " << z[i];
          }
        }
  }
}

TYPED_TEST(KernelsOf, NotANumberIsNeverHidden) {
  using T = TypeParam;
  const double z = std::nan("");
  const T y = 1;
  for (const Loss loss : kLosses)
    for (const KernelSet& set : kernel_sets())
      EXPECT_TRUE(std::isnan(set.of<T>().losses(loss, 1, &z, &y, nullptr))) << set.name;
}

TYPED_TEST(KernelsOf, ExtentsAreThoseOfTheSizes) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  for (const KernelSet& set : kernel_sets())
    for (const std::size_t n : {1, 7, 16, 33, 256}) {
      SCOPED_TRACE(set.name);
      std::vector<T> x(n, T{0});
      x[n / 2] = -T{0};
      EXPECT_EQ(set.of<T>().extent(n, x.data()).most, T{0});
      EXPECT_EQ(set.of<T>().extent(n, x.data()).least, Limits::infinity());
      x[n - 1] = -Limits::denorm_min();
      EXPECT_EQ(set.of<T>().extent(n, x.data()).least, Limits::denorm_min());
      x[0] = -Limits::max();
      EXPECT_EQ(set.of<T>().extent(n, x.data()).most, Limits::max());
      EXPECT_EQ(set.of<T>().extent(n, x.data()).least, n == 1 ? Limits::max() : Limits::denorm_min());
      x[n / 3] = -Limits::infinity();
      EXPECT_EQ(set.of<T>().extent(n, x.data()).most, Limits::infinity());
      x[n / 3] = Limits::quiet_NaN();
      EXPECT_TRUE(std::isnan(set.of<T>().extent(n, x.data()).most));
    }
}

TEST(Digits, ProductsOfDoublesLoseNothing) {
  constexpr double kWeight = 4'000'000'007;
  for (const std::size_t n : {1, 7, 16, 33, 256}) {
    const TestRows<double> data(3, n, n);
    const std::vector<double> x = data.row(1);
    for (const KernelSet& set : kernel_sets()) {
      SCOPED_TRACE(set.name);
      std::vector<double> high(n), low(n);
      set.digits.products(n, x.data(), kWeight, high.data(), low.data());
      for (std::size_t j = 0; j < n; ++j) {
        ASSERT_EQ(high[j], x[j] * kWeight);
        ASSERT_EQ(low[j], std::fma(x[j], kWeight, -high[j]));
      }
      for (std::vector<double>* rest : {&high, &low}) {
        const std::vector<double> before = *rest;
        std::vector<double> sum(n, 0.0);
        bool more = true;
        for (int exponent = 32; more; exponent -= 32) {
          ASSERT_GT(exponent, -200);
          const double unit = std::ldexp(1.0, exponent);
          std::vector<std::int64_t> digits(n, 5);
          more = set.digits.take_digits(n, unit, rest->data(), digits.data());
          for (std::size_t j = 0; j < n; ++j) {
            ASSERT_LE(std::abs(digits[j] - 5), std::int64_t{1} << 32U);
            ASSERT_LE(std::abs((*rest)[j]), unit / 2);
            sum[j] += static_cast<double>(digits[j] - 5) * unit;
          }
        }
        ASSERT_EQ(sum, before);
      }
    }
  }
}

TEST(Digits, ProductsOfFloatsLoseNothing) {
  constexpr double kWeight = (1U << 29U) - 1;
  constexpr std::size_t kPlanes = 7;  // down to the last bit of the smallest float
  for (const std::size_t n : {1, 7, 16, 33, 256}) {
    const TestRows<float> data(3, n, n);
    std::vector<float> x = data.row(1);
    x[n / 2] = std::numeric_limits<float>::denorm_min();
    for (const KernelSet& set : kernel_sets()) {
      SCOPED_TRACE(set.name);
      std::vector<std::vector<std::int64_t>> digits(kPlanes, std::vector<std::int64_t>(n, 5));
      std::vector<std::int64_t*> planes;
      for (auto& plane : digits) planes.push_back(plane.data());
      set.digits.add_products(n, x.data(), kWeight, 0x1p32, kPlanes, planes.data());
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < kPlanes; ++k) {
          ASSERT_LE(std::abs(digits[k][j] - 5), std::int64_t{1} << 32U);
          sum += static_cast<double>(digits[k][j] - 5) * std::ldexp(1.0, 32 - 32 * static_cast<int>(k));
        }
        ASSERT_EQ(sum, static_cast<double>(x[j]) * kWeight);
      }
    }
  }
}

// exact_mean_test compares every bit with long division; here every set of kernels is close to it and exact where f64 is.
TYPED_TEST(KernelsOf, QuotientsOfDigitsAreRoundedOnceOrUndecided) {
  using T = TypeParam;
  constexpr std::size_t kPlanes = 3;
  const double units[kPlanes] = {0x1p32, 1, 0x1p-32};
  for (const std::size_t n : {1, 3, 8, 9, 250}) {
    Stream stream(n, Purpose::kSynthetic);
    std::vector<std::vector<std::int64_t>> digits(kPlanes, std::vector<std::int64_t>(n));
    std::vector<const std::int64_t*> planes;
    for (auto& plane : digits) {
      for (auto& digit : plane)
        if (stream.below(4) != 0) digit = static_cast<std::int64_t>(stream.below(1U << 16U)) - (1 << 15);
      planes.push_back(plane.data());
    }
    for (std::size_t k = 0; k < kPlanes; ++k) digits[k][n / 2] = 0;
    for (const double weight : {1.0, 2.0, 60.0, 5000.0, 0x1p52 + 1})
      for (const KernelSet& set : kernel_sets()) {
        SCOPED_TRACE(std::string(set.name) + " weight " + std::to_string(weight));
        std::vector<T> out(n);
        std::vector<std::uint32_t> undecided(n);
        undecided.resize(set.of<T>().divide_digits(n, kPlanes, planes.data(), units, weight, out.data(),
                                                   undecided.data()));
        ASSERT_TRUE(std::ranges::is_sorted(undecided));
        ASSERT_LE(undecided.size(), n / 4);
        for (std::size_t j = 0; j < n; ++j) {
          if (std::ranges::binary_search(undecided, j)) continue;
          double high = 0, low = 0;
          for (std::size_t k = 0; k < kPlanes; ++k) {
            const double term = static_cast<double>(digits[k][j]) * units[k], next = high + term;
            low += std::abs(high) >= std::abs(term) ? (high - next) + term : (term - next) + high;
            high = next;
          }
          if (low == 0 && std::fma(high / weight, weight, -high) == 0) {
            ASSERT_EQ(out[j], static_cast<T>(high / weight));
          }
          ASSERT_NEAR(static_cast<double>(out[j]), high / weight,
                      std::abs(high / weight) * static_cast<double>(std::numeric_limits<T>::epsilon()));
        }
        ASSERT_EQ(out[n / 2], T{0});
        ASSERT_FALSE(std::signbit(out[n / 2]));
      }
  }
}

TEST(KernelSets, PortableIsAlwaysThereAndNamesAreFound) {
#ifdef MFL_SANITIZED
  EXPECT_EQ(kernel_sets().size(), 1);
#else
  EXPECT_EQ(kernel_sets().back().name, "portable");
#endif
  for (const KernelSet& set : kernel_sets()) EXPECT_EQ(find_kernel_set(set.name), &set);
  EXPECT_EQ(find_kernel_set("sse9"), nullptr);
}

}  // namespace
}  // namespace mfl
