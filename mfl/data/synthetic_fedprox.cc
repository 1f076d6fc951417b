#include "mfl/data/synthetic_fedprox.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "mfl/base/math.h"
#include "mfl/base/rng.h"

namespace mfl {
namespace {

constexpr std::size_t kClasses = 10;
constexpr NumberRange kSpread{[](double x) { return x >= 0 && x <= 1e6; }, "in [0, 1e6]"};
constexpr NumberRange kUsers{[](double x) { return x >= 1 && x <= 10000; }, "in [1, 10000]"};

// Rounds of the stream: what the draws are for.
enum FedproxDraw : std::uint64_t { kUser = 0, kSamples = 1 };

struct User {
  std::size_t samples = 0;
  std::array<double, kClasses * kFedproxColumns> weights{};
  std::array<double, kClasses> intercepts{};
  std::array<double, kFedproxColumns> centre{};
};

User make_user(const FedproxShape& shape, std::uint64_t seed, std::uint64_t number) {
  Stream draw(seed, Purpose::kFedprox, kUser, number);
  User user;
  user.samples = static_cast<std::size_t>(portable_exp(4 + 2 * draw.normal())) + 50;
  const double model_mean = shape.alpha * draw.normal();
  const double feature_mean = shape.beta * draw.normal();
  for (double& w : user.weights) w = model_mean + draw.normal();
  for (double& b : user.intercepts) b = model_mean + draw.normal();
  for (double& v : user.centre) v = feature_mean + draw.normal();
  return user;
}

std::array<double, kFedproxColumns> deviations() {
  std::array<double, kFedproxColumns> out{};
  for (std::size_t j = 0; j < out.size(); ++j)
    out[j] = std::sqrt(portable_exp(-1.2 * portable_log(static_cast<double>(j + 1))));
  return out;
}

double class_of(const User& user, const double* x) {
  std::size_t best = 0;
  double highest = 0;
  for (std::size_t c = 0; c < kClasses; ++c) {
    double score = user.intercepts[c];
    for (std::size_t j = 0; j < kFedproxColumns; ++j) score += user.weights[c * kFedproxColumns + j] * x[j];
    if (c == 0 || score > highest) {
      best = c;
      highest = score;
    }
  }
  return static_cast<double>(best);
}

// A set that grows by rows.
struct Grower {
  Dataset data{.rows = 0, .columns = kFedproxColumns, .scale = 1, .features = {}, .labels = {}};
  DenseRows<double> rows;

  void add(const std::array<double, kFedproxColumns>& x, double label, std::uint64_t user) {
    rows.values.insert(rows.values.end(), x.begin(), x.end());
    data.labels.push_back(label);
    data.groups.push_back(static_cast<std::uint32_t>(user));
  }
  Dataset finish(std::size_t users) && {
    data.rows = data.labels.size();
    data.features = std::move(rows);
    Origin origin;
    origin.known_classes = digit_classes();
    for (std::size_t user = 0; user < users; ++user) origin.groups.push_back(fmt::format("user {}", user));
    data.origin = std::make_shared<const Origin>(std::move(origin));
    return std::move(data);
  }
};

}  // namespace

std::vector<Parameter> fedprox_parameters() {
  return {{.name = "alpha", .help = "how much models differ", .range = kSpread, .default_value = 1.0},
          {.name = "beta", .help = "how much features differ", .range = kSpread, .default_value = 1.0},
          {.name = "users", .help = "natural nodes", .range = kUsers, .default_value = 30.0, .whole = true}};
}

FedproxSets make_fedprox(const FedproxShape& shape, std::uint64_t seed) {
  const auto spread = deviations();
  Grower train, test;
  for (std::uint64_t number = 0; number < shape.users; ++number) {
    const User user = make_user(shape, seed, number);
    Stream draw(seed, Purpose::kFedprox, kSamples, number);
    const std::size_t trained = user.samples * 9 / 10;
    for (std::size_t sample = 0; sample < user.samples; ++sample) {
      std::array<double, kFedproxColumns> x{};
      for (std::size_t j = 0; j < x.size(); ++j) x[j] = user.centre[j] + spread[j] * draw.normal();
      (sample < trained ? train : test).add(x, class_of(user, x.data()), number);
    }
  }
  return {std::move(train).finish(shape.users), std::move(test).finish(shape.users)};
}

}  // namespace mfl
