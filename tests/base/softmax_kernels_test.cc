// The kernels of softmax regression against a plain scalar implementation of the contract in kernels.h: equal bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "mfl/base/kernels/kernels.h"
#include "mfl/base/math.h"
#include "mfl/base/rng.h"
#include "tests/base/row_block.h"

namespace mfl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

#ifdef __SANITIZE_ADDRESS__
constexpr std::ptrdiff_t kGuards = 0;  // the sanitizer sees reads as well
#else
constexpr std::ptrdiff_t kGuards = 64;
#endif

// n numbers with others around them that must neither be written nor have an effect.
template <class T>
class Guarded {
 public:
  Guarded(std::size_t n, T value) : all_(n + 2 * kGuards, kGuard) { std::fill(data(), data() + n, value); }
  explicit Guarded(const std::vector<T>& numbers) : Guarded(numbers.size(), T{0}) {
    std::ranges::copy(numbers, data());
  }
  T* data() { return all_.data() + kGuards; }
  std::vector<T> numbers() const { return {all_.begin() + kGuards, all_.end() - kGuards}; }
  bool intact() const {
    return std::all_of(all_.begin(), all_.begin() + kGuards, [](T x) { return std::isnan(x); }) &&
           std::all_of(all_.end() - kGuards, all_.end(), [](T x) { return std::isnan(x); });
  }

 private:
  static constexpr T kGuard = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> all_;
};

// Rows of which a share of the numbers is not zero, in the three forms that hold the same numbers.
template <class T>
struct SoftmaxRows {
  SoftmaxRows(std::size_t row_count, std::size_t column_count, std::size_t class_count, unsigned percent,
              std::uint64_t seed)
      : rows(row_count), columns(column_count), classes(class_count), chunks(rows * chunk_words(columns)) {
    Stream stream(seed, Purpose::kSynthetic);
    starts.push_back(0);
    for (std::size_t r = 0; r < rows; ++r) {
      bool empty = false;
      for (std::size_t j = 0; j < columns; ++j) {
        if (j % kChunk == 0) empty = stream.below(100) >= 50 + percent;
        const auto byte =
            static_cast<std::uint8_t>(!empty && stream.below(100) < percent ? 1 + stream.below(255) : 0);
        bytes.push_back(byte);
        values.push_back(byte);
        if (byte == 0) continue;
        if (const std::size_t c = j / kChunk; c < columns / kChunk)
          chunks[r * chunk_words(columns) + c / 64] |= std::uint64_t{1} << (c % 64);
        positions.push_back(static_cast<std::uint32_t>(j));
        entries.push_back(byte);
      }
      starts.push_back(positions.size());
      y.push_back(static_cast<T>(stream.below(static_cast<std::uint32_t>(classes))));
    }
    for (std::size_t i = 0; i < softmax_size(columns, classes, true); ++i)
      w.push_back(static_cast<T>(stream.normal() * 0.1));
    for (std::vector<T>* numbers : {&values, &entries, &y, &w}) numbers->shrink_to_fit();
    bytes.shrink_to_fit();
    positions.shrink_to_fit();
  }

  RowBlock<T> block(RowKind kind, bool with_chunks = false) const {
    return testing::row_block<T>(*this, kind, with_chunks);
  }

  std::size_t rows, columns, classes;
  std::vector<std::uint8_t> bytes;
  std::vector<T> values, entries, y, w;
  std::vector<std::uint64_t> starts, chunks;
  std::vector<std::uint32_t> positions;
};

template <class T>
std::vector<T> reference_logits(const SoftmaxRows<T>& data, bool intercept) {
  const T scale = static_cast<T>(1.0 / 255);
  std::vector<T> z;
  for (std::size_t r = 0; r < data.rows; ++r)
    for (std::size_t k = 0; k < data.classes; ++k) {
      T chain = 0;
      for (std::size_t j = 0; j < data.columns; ++j)
        chain = std::fma(data.values[r * data.columns + j], data.w[j * data.classes + k], chain);
      z.push_back(intercept ? std::fma(scale, chain, data.w[data.columns * data.classes + k])
                            : scale * chain);
    }
  return z;
}

template <class T>
double reference_row(std::size_t classes, const T* z, T target, T* coefficients) {
  const auto largest = static_cast<double>(*std::max_element(z, z + classes));
  std::array<double, 8> lanes{};
  std::vector<double> e;
  double ties = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    e.push_back(portable_exp(static_cast<double>(z[k]) - largest));
    if (static_cast<double>(z[k]) == largest) {
      ++ties;
    } else {
      lanes[k % 8] += e[k];
    }
  }
  for (std::size_t n = 4; n > 0; n /= 2)
    for (std::size_t i = 0; i < n; ++i) lanes[i] += lanes[i + n];
  const double others = (ties - 1) + lanes[0];
  const auto hit = static_cast<std::size_t>(target);
  const double loss = (others <= 1 ? portable_log1p_unit(others) : portable_log(1 + others)) +
                      (largest - static_cast<double>(z[hit]));
  for (std::size_t k = 0; k < classes; ++k)
    coefficients[k] = static_cast<T>(e[k] / (1 + others) - (k == hit ? 1 : 0));
  return loss;
}

template <class T>
double reference_losses(std::size_t n, std::size_t classes, const T* z, const T* y, T* coefficients) {
  double total = 0, tile = 0;
  for (std::size_t r = 0; r < n; ++r) {
    tile += reference_row(classes, z + r * classes, y[r], coefficients + r * classes);
    if (r % 8 == 7 || r + 1 == n) {
      total += tile;
      tile = 0;
    }
  }
  return total;
}

template <class T>
std::vector<T> reference_gradient(const SoftmaxRows<T>& data, bool intercept, const std::vector<T>& c,
                                  std::vector<T> g) {
  for (std::size_t r = 0; r < data.rows; ++r)
    for (std::size_t k = 0; k < data.classes; ++k) {
      const T coefficient = c[r * data.classes + k];
      for (std::size_t j = 0; j < data.columns; ++j) {
        T& sum = g[j * data.classes + k];
        sum = std::fma(coefficient, data.values[r * data.columns + j], sum);
      }
      if (intercept) g[data.columns * data.classes + k] += coefficient;
    }
  return g;
}

template <class T>
void expect_contract(const SoftmaxRows<T>& data, bool intercept) {
  const std::size_t outputs = data.rows * data.classes;
  const std::size_t size = softmax_size(data.columns, data.classes, intercept);
  const std::vector<T> z = reference_logits(data, intercept);
  std::vector<T> c(outputs);
  const double loss = reference_losses(data.rows, data.classes, z.data(), data.y.data(), c.data());
  const std::vector<T> before(size, static_cast<T>(0.25)),
      after = reference_gradient(data, intercept, c, before);
  std::vector<T> finished = reference_gradient(data, intercept, c, std::vector<T>(size, T{0}));
  for (std::size_t i = 0; i < size; ++i)
    finished[i] = i < data.columns * data.classes
                      ? std::fma(static_cast<T>(0.3), data.w[i], static_cast<T>(0.003) * finished[i])
                      : std::fma(T{0}, data.w[i], static_cast<T>(0.7) * finished[i]);
  Guarded<T> w(std::vector<T>(data.w.begin(), data.w.begin() + static_cast<std::ptrdiff_t>(size)));
  for (const KernelSet& set : kernel_sets()) {
    SCOPED_TRACE(std::string(set.name) + " rows " + std::to_string(data.rows) + " columns " +
                 std::to_string(data.columns) + " classes " + std::to_string(data.classes));
    const Kernels<T>& kernels = set.of<T>();
    Guarded<T> coefficients(outputs, T{0});
    for (const RowKind kind : {RowKind::kBytes, RowKind::kDense, RowKind::kSparse})
      for (const bool with_chunks : {false, true}) {
        if (with_chunks && kind != RowKind::kDense) continue;
        const RowBlock<T> block = data.block(kind, with_chunks);
        Guarded<T> logits(outputs, T{0}), g(before);
        kernels.softmax_logits(block, data.classes, intercept, w.data(), logits.data());
        ASSERT_EQ(logits.numbers(), z);
        const double got = kernels.softmax_losses(data.rows, data.classes, logits.data(), data.y.data(),
                                                  coefficients.data());
        ASSERT_EQ(got, loss);
        ASSERT_EQ(coefficients.numbers(), c);
        ASSERT_EQ(kernels.softmax_losses(data.rows, data.classes, logits.data(), data.y.data(), nullptr),
                  loss);
        kernels.softmax_add_rows(block, data.classes, intercept, coefficients.data(), g.data());
        ASSERT_EQ(g.numbers(), after);
        Guarded<T> whole(size, T{7});
        const SoftmaxFinish<T> finish{.w = w.data(),
                                      .factor = static_cast<T>(0.003),
                                      .lambda = static_cast<T>(0.3),
                                      .intercept_factor = static_cast<T>(0.7)};
        kernels.softmax_gradient(block, data.classes, intercept, coefficients.data(), finish, whole.data());
        ASSERT_EQ(whole.numbers(), finished);
        kernels.softmax_losses(data.rows, data.classes, logits.data(), data.y.data(), logits.data());
        ASSERT_EQ(logits.numbers(), c) << "in place";
        ASSERT_TRUE(logits.intact() && g.intact() && coefficients.intact() && whole.intact());
      }
  }
}

template <class T>
class SoftmaxKernelsOf : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SoftmaxKernelsOf, Precisions);

constexpr std::size_t kClasses[] = {2, 3, 7, 8, 9, 10, 16, 17, 33, 100};

TYPED_TEST(SoftmaxKernelsOf, KeepTheContractForEveryNumberOfColumns) {
  std::uint64_t seed = 1;
  for (const std::size_t classes : kClasses)
    for (std::size_t columns = 1; columns <= 40; ++columns) {
      const std::size_t rows = 1 + (7 * columns + classes) % 20;
      const unsigned percent = std::array{10U, 60U, 100U}[columns % 3];
      const SoftmaxRows<TypeParam> data(rows, columns, classes, percent, ++seed);
      ASSERT_NO_FATAL_FAILURE(expect_contract(data, columns % 2 == 0));
    }
}

TYPED_TEST(SoftmaxKernelsOf, KeepTheContractForEveryNumberOfRows) {
  std::uint64_t seed = 1000;
  for (const std::size_t classes : kClasses)
    for (std::size_t rows = 1; rows <= 20; ++rows) {
      const unsigned percent = std::array{100U, 10U, 60U}[rows % 3];
      const SoftmaxRows<TypeParam> data(rows, 64 + rows, classes, percent, ++seed);
      ASSERT_NO_FATAL_FAILURE(expect_contract(data, rows % 2 == 0));
    }
}

TYPED_TEST(SoftmaxKernelsOf, KeepTheContractOnImagesAndWholeBlocks) {
  std::uint64_t seed = 2000;
  for (const std::size_t classes : kClasses)
    for (const unsigned percent : {20U, 100U}) {
      const SoftmaxRows<TypeParam> batch(10, 784, classes, percent, ++seed);
      ASSERT_NO_FATAL_FAILURE(expect_contract(batch, true));
      const SoftmaxRows<TypeParam> block(kRowBlock, 80, classes, percent, ++seed);
      ASSERT_NO_FATAL_FAILURE(expect_contract(block, classes % 2 == 0));
    }
  const SoftmaxRows<TypeParam> images(kRowBlock, 784, 10, 20, ++seed);
  ASSERT_NO_FATAL_FAILURE(expect_contract(images, true));
  const SoftmaxRows<TypeParam> wide(3, 4200, 3, 20, ++seed);
  ASSERT_NO_FATAL_FAILURE(expect_contract(wide, false));
}

TYPED_TEST(SoftmaxKernelsOf, KeepTheContractForThousandsOfClasses) {
  for (const std::size_t classes : {1023, 1024, 1025, 2503}) {
    const SoftmaxRows<TypeParam> data(9, 5, classes, 100, classes);
    ASSERT_NO_FATAL_FAILURE(expect_contract(data, true));
  }
}

// The numbers of a chain that are read one by one and those that are read by vectors are not all bytes.
TYPED_TEST(SoftmaxKernelsOf, KeepTheContractOnNumbersOfAnySize) {
  using T = TypeParam;
  SoftmaxRows<T> data(13, 70, 10, 100, 5);
  Stream stream(6, Purpose::kSynthetic);
  for (T& x : data.values) x = static_cast<T>(stream.normal() * 100);
  const std::vector<T> z = reference_logits(data, true);
  std::vector<T> c(z.size());
  reference_losses(data.rows, data.classes, z.data(), data.y.data(), c.data());
  const std::vector<T> zeros(data.w.size(), T{0}), gradient = reference_gradient(data, true, c, zeros);
  for (const KernelSet& set : kernel_sets()) {
    std::vector<T> logits(z.size()), g = zeros;
    set.of<T>().softmax_logits(data.block(RowKind::kDense), data.classes, true, data.w.data(), logits.data());
    EXPECT_EQ(logits, z) << set.name;
    set.of<T>().softmax_add_rows(data.block(RowKind::kDense), data.classes, true, c.data(), g.data());
    EXPECT_EQ(g, gradient) << set.name;
  }
}

TYPED_TEST(SoftmaxKernelsOf, LossesAndCoefficientsAreThoseOfTheFormula) {
  using T = TypeParam;
  Stream stream(3, Purpose::kSynthetic);
  for (const std::size_t classes : kClasses)
    for (const double spread : {1e-3, 1.0, 10.0}) {
      std::vector<T> z(classes), c(classes);
      for (T& x : z) x = static_cast<T>(stream.normal() * spread);
      long double total = 0;
      for (const T x : z) total += std::exp(static_cast<long double>(x));
      for (std::size_t k = 0; k < classes; ++k) {
        const T y = static_cast<T>(k);
        long double others = 0;
        for (std::size_t i = 0; i < classes; ++i)
          if (i != k) others += std::exp(static_cast<long double>(z[i]) - static_cast<long double>(z[k]));
        const auto expected = static_cast<double>(std::log1p(others));
        for (const KernelSet& set : kernel_sets()) {
          EXPECT_NEAR(set.of<T>().softmax_losses(1, classes, z.data(), &y, c.data()), expected,
                      expected * 1e-14);
          double sum = 0;
          for (std::size_t i = 0; i < classes; ++i) {
            const auto p = static_cast<double>(std::exp(static_cast<long double>(z[i])) / total);
            EXPECT_NEAR(static_cast<double>(c[i]), p - (i == k ? 1 : 0), std::numeric_limits<T>::epsilon());
            sum += static_cast<double>(c[i]);
          }
          EXPECT_NEAR(sum, 0, 2 * static_cast<double>(std::numeric_limits<T>::epsilon()));
        }
      }
    }
}

TYPED_TEST(SoftmaxKernelsOf, ExtremeLogitsGiveTheirLosses) {
  using T = TypeParam;
  constexpr T kMost = std::numeric_limits<T>::max(), kLeast = std::numeric_limits<T>::denorm_min();
  constexpr T kHuge = static_cast<T>(1e30);
  const double range = static_cast<double>(kMost) * 2;  // infinity for f64
  struct Case {
    std::vector<T> z;
    T target;
    double loss;
    std::vector<T> c;
  };
  const double log2 = portable_log1p_unit(1);
  const std::vector<Case> cases = {
      {{kHuge, -kHuge}, 0, 0, {0, 0}},
      {{kHuge, -kHuge}, 1, 2 * static_cast<double>(kHuge), {1, -1}},
      {{kHuge, kHuge}, 1, log2, {T{0.5}, T{-0.5}}},
      {{-kHuge, -kHuge, -kHuge}, 2, portable_log(3), {T{1} / 3, T{1} / 3, static_cast<T>(1.0 / 3 - 1)}},
      {{kMost, -kMost}, 0, 0, {0, 0}},
      {{kMost, -kMost}, 1, range, {1, -1}},
      {{0, -kMost, kLeast, -kLeast},
       0,
       portable_log(3),
       {static_cast<T>(1.0 / 3 - 1), 0, T{1} / 3, T{1} / 3}},
      {{0, -1000}, 0, 0, {0, 0}},
      {{0, -1000}, 1, 1000, {1, -1}},
      {{-40, 0}, 1, portable_exp(-40), {static_cast<T>(portable_exp(-40)), 0}},
      {{T{0}, -T{0}}, 1, log2, {T{0.5}, T{-0.5}}},
  };
  for (const KernelSet& set : kernel_sets())
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(std::string(set.name) + " case " + std::to_string(i));
      const Case& at = cases[i];
      std::vector<T> c(at.z.size());
      EXPECT_DOUBLE_EQ(set.of<T>().softmax_losses(1, at.z.size(), at.z.data(), &at.target, c.data()),
                       at.loss);
      for (std::size_t k = 0; k < c.size(); ++k) EXPECT_EQ(c[k], at.c[k]);
    }
}

TYPED_TEST(SoftmaxKernelsOf, NotANumberIsNeverHidden) {
  using T = TypeParam;
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  for (const KernelSet& set : kernel_sets())
    for (const std::size_t classes : {2, 8, 9, 1030})
      for (const std::size_t place : {std::size_t{0}, classes - 1})
        for (const T target : {T{0}, T{1}}) {
          std::vector<T> z(classes, T{1}), c(classes);
          z[place] = kNan;
          EXPECT_TRUE(std::isnan(set.of<T>().softmax_losses(1, classes, z.data(), &target, c.data())))
              << set.name;
          for (const T x : c) EXPECT_TRUE(std::isnan(x)) << set.name;
        }
}

// Where a chain meets infinities it matters which zeros are left out: the same ones in every set.
TYPED_TEST(SoftmaxKernelsOf, NumbersThatAreNotFiniteAreTheSameEverywhere) {
  using T = TypeParam;
  constexpr T kInf = std::numeric_limits<T>::infinity(), kNan = std::numeric_limits<T>::quiet_NaN();
  const auto shown = [](std::vector<T> numbers) {
    for (T& x : numbers)
      if (std::isnan(x)) x = T{-1234};
    return numbers;
  };
  for (const std::size_t rows : {1, 7, 13, 25, 120})
    for (const std::size_t classes : {3, 10, 100})
      for (const T odd : {kInf, kNan}) {
        SoftmaxRows<T> data(rows, 150, classes, 5, rows + classes);
        for (std::size_t i = 0; i < data.w.size(); i += 37) data.w[i] = odd;
        for (const RowKind kind : {RowKind::kBytes, RowKind::kDense, RowKind::kSparse}) {
          const RowBlock<T> block = data.block(kind, kind == RowKind::kDense);
          std::vector<T> expected_c, expected_g;
          for (const KernelSet& set : kernel_sets()) {
            std::vector<T> c(rows * classes), g(data.w.size(), T{0});
            set.of<T>().softmax_logits(block, classes, true, data.w.data(), c.data());
            set.of<T>().softmax_losses(rows, classes, c.data(), data.y.data(), c.data());
            set.of<T>().softmax_add_rows(block, classes, true, c.data(), g.data());
            std::vector<T> whole(data.w.size());
            const SoftmaxFinish<T> finish{
                .w = data.w.data(), .factor = T{2}, .lambda = T{0}, .intercept_factor = T{3}};
            set.of<T>().softmax_gradient(block, classes, true, c.data(), finish, whole.data());
            std::vector<T> finished;
            for (std::size_t i = 0; i < g.size(); ++i)
              finished.push_back(std::fma(T{0}, data.w[i], (i < 150 * classes ? T{2} : T{3}) * g[i]));
            ASSERT_EQ(shown(whole), shown(finished))
                << set.name << " rows " << rows << " classes " << classes;
            if (expected_c.empty()) {
              expected_c = shown(c);
              expected_g = shown(g);
            }
            ASSERT_EQ(shown(c), expected_c) << set.name << " rows " << rows << " classes " << classes;
            ASSERT_EQ(shown(g), expected_g) << set.name << " rows " << rows << " classes " << classes;
          }
        }
      }
}

TEST(SoftmaxKernels, TheGradientIsTheDerivativeOfTheLoss) {
  constexpr double kStep = 1e-5;
  for (const KernelSet& set : kernel_sets())
    for (const bool intercept : {false, true}) {
      SoftmaxRows<double> data(11, 6, 5, 80, 17);
      const RowBlock<double> block = data.block(RowKind::kBytes);
      std::vector<double> z(data.rows * data.classes),
          g(softmax_size(data.columns, data.classes, intercept), 0.0);
      const auto loss = [&] {
        set.f64.softmax_logits(block, data.classes, intercept, data.w.data(), z.data());
        return set.f64.softmax_losses(data.rows, data.classes, z.data(), data.y.data(), z.data());
      };
      loss();
      set.f64.softmax_add_rows(block, data.classes, intercept, z.data(), g.data());
      for (std::size_t i = 0; i < g.size(); ++i) {
        const double w = data.w[i];
        data.w[i] = w + kStep;
        const double above = loss();
        data.w[i] = w - kStep;
        const double slope = (above - loss()) / (2 * kStep);
        data.w[i] = w;
        const double scale = i < data.columns * data.classes ? block.scale : 1;
        EXPECT_NEAR(scale * g[i], slope, 1e-8) << set.name << " parameter " << i;
      }
    }
}

}  // namespace
}  // namespace mfl
