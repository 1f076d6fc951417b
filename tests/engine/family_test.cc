// The algorithms of docs/algorithms.md against their formulas, written down once more and literally; and the identities between them.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <valarray>

#include "federations.h"
#include "mfl/algorithm/algorithms.h"
#include "tests/base/sample_spec.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;
using Numbers = std::valarray<double>;

constexpr std::size_t kFamilyNodes = 4, kFamilyColumns = 20;
constexpr double kFamilyEta = 0.02, kFamilyGamma = 0.6;
constexpr std::uint64_t kSteps = 3;
constexpr int kRounds = 9;
const ModelCase& model() { return kModels[1]; }

// Nodes of different sizes, each with few classes.
Federation<double> skewed_nodes() {
  const Dataset data = as_floats<double>(*make_synthetic(140, kFamilyColumns, 11));
  Partition partition = *label_sorted(data.labels, kFamilyNodes);
  partition.starts = {0, 20, 55, 90, 140};
  return make_federation<double>(model(), data, partition);
}

// Who takes part in a round: all of them at first, then some.
std::vector<std::uint32_t> participants(int round) {
  static const std::vector<std::vector<std::uint32_t>> turns = {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 2},
                                                                {1, 2, 3},    {0, 3},       {1, 2}};
  return turns[static_cast<std::size_t>(round) % turns.size()];
}

// A federation as formulas see it.
class Problem {
 public:
  explicit Problem(const Federation<double>& federation)
      : federation_(federation), workspace_(federation.model->make_workspace(1, 1)) {}

  Numbers gradient(std::size_t node, const Numbers& x) const {
    const Vector<double> w(std::begin(x), std::end(x));
    Vector<double> out(w.size());
    Item<double> item{.w = w.data(), .gradient = out.data(), .lambda = model().lambda};
    federation_.model->loss_and_gradient(federation_.train, federation_.nodes[node], std::span(&item, 1),
                                         *workspace_, nullptr);
    return {out.data(), out.size()};
  }

  // Sums over the participants, weighted by samples or equally.
  Numbers mean(const std::vector<std::uint32_t>& nodes, bool equally,
               const std::function<Numbers(std::size_t)>& of) const {
    Numbers sum;
    double total = 0;
    for (const std::uint32_t i : nodes) {
      const double weight = equally ? 1 : static_cast<double>(federation_.nodes[i].count);
      const Numbers term = weight * of(i);
      if (sum.size() == 0) sum.resize(term.size());
      sum += term;
      total += weight;
    }
    return sum / total;
  }

 private:
  const Federation<double>& federation_;
  std::unique_ptr<Workspace> workspace_;
};

// The rounds of an algorithm: round(r, S, w) changes w, given the participants.
using Round = std::function<void(int round, const std::vector<std::uint32_t>& nodes, Numbers& w)>;
using Formula = std::function<Round(const Problem&)>;

Numbers zero() { return Numbers(0.0, kFamilyColumns); }

// K steps from `from`; direction(x, g) is what is multiplied by -eta.
using Direction = std::function<Numbers(const Numbers& x, const Numbers& g)>;
Numbers steps(const Problem& problem, std::size_t node, Numbers x, const Direction& direction) {
  for (std::uint64_t k = 0; k < kSteps; ++k) x -= kFamilyEta * direction(x, problem.gradient(node, x));
  return x;
}

Numbers plain(const Problem& problem, std::size_t node, const Numbers& from) {
  return steps(problem, node, from, [](const Numbers&, const Numbers& g) { return g; });
}

// A server step on the mean of plain nodes.
Formula server_step(const std::function<std::function<void(int, Numbers& w, const Numbers& mean)>()>& make) {
  return [make](const Problem& p) -> Round {
    return [&p, step = make()](int round, const auto& nodes, Numbers& w) {
      step(round, w, p.mean(nodes, false, [&](std::size_t i) { return plain(p, i, w); }));
    };
  };
}

enum class Shared { kAverage, kReset, kKeepLocal };
Formula local_momentum(Shared shared, bool nesterov, std::uint64_t every = 1) {
  return [=](const Problem& p) -> Round {
    return [&p, shared, nesterov, every, mean_d = zero(), own = std::map<std::size_t, Numbers>(),
            last = std::map<std::size_t, int>()](int round, const auto& nodes, Numbers& w) mutable {
      std::map<std::size_t, Numbers> x, d;
      for (const std::uint32_t i : nodes) {
        Numbers& mine = d[i] = shared == Shared::kAverage ? mean_d : zero();
        const bool was_there = last.contains(i) && last[i] == round - 1;
        const bool is_between = static_cast<std::uint64_t>(round) % every != 0;
        if (own.contains(i) && (shared == Shared::kKeepLocal || (every > 1 && was_there && is_between)))
          mine = own[i];
        x[i] = steps(p, i, w, [&](const Numbers&, const Numbers& g) -> Numbers {
          mine = kFamilyGamma * mine + g;
          if (nesterov) return g + kFamilyGamma * mine;
          return mine;
        });
        own[i] = mine;
        last[i] = round;
      }
      w = p.mean(nodes, false, [&](std::size_t i) { return x[i]; });
      if (static_cast<std::uint64_t>(round + 1) % every == 0)
        mean_d = p.mean(nodes, false, [&](std::size_t i) { return d[i]; });
    };
  };
}

// Scaffold and its relatives: a lookahead lambda, momentum gamma at the nodes, or a share of the global direction.
struct Variates {
  double server_lr = 1, lambda = 0, gamma = 0, alpha = 1;
};
Formula control_variates(Variates v) {
  return [v](const Problem& p) -> Round {
    return [&p, v, c = zero(), own = std::vector<Numbers>(kFamilyNodes, zero()), m = zero(), d = zero(),
            global = zero()](int, const auto& nodes, Numbers& w) mutable {
      const Numbers s = w + v.lambda * m;
      std::map<std::size_t, Numbers> x, change, momentum;
      for (const std::uint32_t i : nodes) {
        Numbers sum = zero(), mine = d;
        x[i] = steps(p, i, s, [&](const Numbers&, const Numbers& g) -> Numbers {
          sum += g;
          mine = v.gamma * mine + (g - own[i] + c);
          return v.alpha * mine + (1 - v.alpha) * global;
        });
        change[i] = sum / double(kSteps) - own[i];
        momentum[i] = mine;
      }
      const Numbers mean = p.mean(nodes, true, [&](std::size_t i) { return x[i]; }), before = w;
      m = v.lambda * m + (mean - s);
      w += v.server_lr * (mean - w);
      d = v.gamma == 0 ? zero() : p.mean(nodes, true, [&](std::size_t i) { return momentum[i]; });
      global = (before - w) / (kFamilyEta * double(kSteps));
      for (const std::uint32_t i : nodes) {
        c += change[i] / double(kFamilyNodes);
        own[i] += change[i];
      }
    };
  };
}

Formula adaptive(double b1, double b2, double rate, double epsilon, char rule) {
  return server_step([=] {
    return [=, m = zero(), v = Numbers(epsilon * epsilon, kFamilyColumns)](int, Numbers& w,
                                                                           const Numbers& mean) mutable {
      const Numbers move = mean - w, square = move * move;
      m = b1 * m + (1 - b1) * move;
      for (std::size_t i = 0; i < kFamilyColumns; ++i) {
        const double sign = v[i] > square[i] ? 1 : v[i] < square[i] ? -1 : 0;
        if (rule == 'a') v[i] = b2 * v[i] + (1 - b2) * square[i];
        if (rule == 'y') v[i] -= (1 - b2) * square[i] * sign;
        if (rule == 'g') v[i] += square[i];
        w[i] += rate * m[i] / (std::sqrt(v[i]) + epsilon);
      }
    };
  });
}

Round fedprox_round(const Problem& p, double mu) {
  return [&p, mu](int, const auto& nodes, Numbers& w) {
    const Numbers from = w;
    w = p.mean(nodes, false, [&](std::size_t i) {
      return steps(p, i, from,
                   [&](const Numbers& x, const Numbers& g) -> Numbers { return g + mu * (x - from); });
    });
  };
}

Round feddyn_round(const Problem& p, double alpha) {
  return [&p, alpha, l = std::vector<Numbers>(kFamilyNodes, zero()), h = zero()](int, const auto& nodes,
                                                                                 Numbers& w) mutable {
    const Numbers from = w;
    std::map<std::size_t, Numbers> x;
    for (const std::uint32_t i : nodes) {
      x[i] = steps(p, i, from, [&](const Numbers& at, const Numbers& g) -> Numbers {
        return g - l[i] + alpha * (at - from);
      });
      l[i] -= alpha * (x[i] - from);
      h -= alpha / double(kFamilyNodes) * (x[i] - from);
    }
    w = p.mean(nodes, true, [&](std::size_t i) { return x[i]; }) - h / alpha;
  };
}

Round mime_lite_round(const Problem& p, double beta) {
  return [&p, beta, m = zero()](int, const auto& nodes, Numbers& w) mutable {
    const Numbers from = w;
    w = p.mean(nodes, false, [&](std::size_t i) {
      return steps(p, i, from,
                   [&](const Numbers&, const Numbers& g) -> Numbers { return (1 - beta) * g + beta * m; });
    });
    m = (1 - beta) * p.mean(nodes, false, [&](std::size_t i) { return p.gradient(i, from); }) + beta * m;
  };
}

Round fedcm_round(const Problem& p, double alpha) {
  return [&p, alpha, direction = zero()](int, const auto& nodes, Numbers& w) mutable {
    const Numbers from = w;
    w = p.mean(nodes, false, [&](std::size_t i) {
      return steps(p, i, from, [&](const Numbers&, const Numbers& g) -> Numbers {
        return alpha * g + (1 - alpha) * direction;
      });
    });
    direction = (from - w) / (kFamilyEta * double(kSteps));
  };
}

Round fedacg_round(const Problem& p, double lambda, double beta) {
  return [&p, lambda, beta, m = zero()](int, const auto& nodes, Numbers& w) mutable {
    const Numbers s = w + lambda * m, before = w;
    w = p.mean(nodes, false, [&](std::size_t i) {
      return steps(p, i, s,
                   [&](const Numbers& x, const Numbers& g) -> Numbers { return g + beta * (x - s); });
    });
    m = lambda * m + (w - s);
    EXPECT_LT(std::abs(Numbers(w - before - m)).max(), 1e-12) << "the move of a round is its momentum";
  };
}

Round ghbm_round(const Problem& p, double beta, std::size_t window) {
  return [&p, beta, window, models = std::deque<Numbers>()](int, const auto& nodes, Numbers& w) mutable {
    models.push_front(w);
    const Numbers m = models.size() > window ? Numbers((models[window] - w) / double(window)) : zero();
    const Numbers from = w;
    w = p.mean(nodes, false, [&](std::size_t i) {
      return steps(p, i, from, [&](const Numbers&, const Numbers& g) -> Numbers {
        return g + beta / double(kSteps) / kFamilyEta * m;
      });
    });
  };
}

Formula fedavgm(double beta, double rate, bool nesterov) {
  return server_step([=] {
    return [=, v = zero()](int, Numbers& w, const Numbers& mean) mutable {
      v = beta * v + (w - mean);
      w -= nesterov ? Numbers(rate * (beta * v + (w - mean))) : Numbers(rate * v);
    };
  });
}

Formula slowmo(double beta, double alpha) {
  return server_step([=] {
    return [=, u = zero()](int, Numbers& w, const Numbers& mean) mutable {
      u = beta * u + (w - mean) / kFamilyEta;
      w -= alpha * kFamilyEta * u;
    };
  });
}

// Without momentum fednova is fedavg where nodes take equal steps; with momentum reset it counts by what the steps amount to.
Round fednova_with_momentum(const Problem& p) {
  return [&p](int, const auto& nodes, Numbers& w) {
    const Numbers from = w;
    const double k = double(kSteps), r = kFamilyGamma;
    const double a = (k - r * (1 - std::pow(r, k)) / (1 - r)) / (1 - r);
    const Numbers mean = p.mean(nodes, false, [&](std::size_t i) {
      Numbers d = zero();
      return Numbers((from - steps(p, i, from,
                                   [&](const Numbers&, const Numbers& g) -> Numbers {
                                     d = r * d + g;
                                     return d;
                                   })) /
                     a);
    });
    w -= a * mean;
  };
}

struct Case {
  std::string spec;
  StepOptions options;
  Formula formula;
};

StepOptions with_momentum(const std::string& momentum, std::uint64_t every = 1) {
  return {.eta = kFamilyEta, .gamma = kFamilyGamma, .momentum = momentum, .sync_momentum = every};
}

std::vector<Case> cases() {
  const StepOptions steps{.eta = kFamilyEta, .gamma = kFamilyGamma};
  const auto mean = server_step([] { return [](int, Numbers& w, const Numbers& m) { w = m; }; });
  return {
      {"fl", steps, mean},
      {"mfl", steps, local_momentum(Shared::kAverage, false)},
      {"mfl", with_momentum("reset"), local_momentum(Shared::kReset, false)},
      {"mfl", with_momentum("keep-local"), local_momentum(Shared::kKeepLocal, false)},
      {"mfl", with_momentum("none"), mean},
      {"mfl", with_momentum("", 3), local_momentum(Shared::kAverage, false, 3)},
      {"fednag", steps, local_momentum(Shared::kAverage, true)},
      {"fednag", with_momentum("keep-local"), local_momentum(Shared::kKeepLocal, true)},
      {"fedprox(0.4)", steps, [](const Problem& p) { return fedprox_round(p, 0.4); }},
      {"fedavgm(0.7, 0.9)", steps, fedavgm(0.7, 0.9, false)},
      {"fedavgm(0.7, 0.9, nesterov=1)", steps, fedavgm(0.7, 0.9, true)},
      {"slowmo(0.6, 0.8)", steps, slowmo(0.6, 0.8)},
      {"fedadam(0.8, 0.95, 0.02, 0.01)", steps, adaptive(0.8, 0.95, 0.02, 0.01, 'a')},
      {"fedyogi(0.8, 0.95, 0.02, 0.01)", steps, adaptive(0.8, 0.95, 0.02, 0.01, 'y')},
      {"fedadagrad(0.5, 0.02, 0.01)", steps, adaptive(0.5, 0, 0.02, 0.01, 'g')},
      {"scaffold", steps, control_variates({})},
      {"scaffold(0.7)", steps, control_variates({.server_lr = 0.7})},
      {"mime-lite(0.8)", steps, [](const Problem& p) { return mime_lite_round(p, 0.8); }},
      {"fedcm(0.3)", steps, [](const Problem& p) { return fedcm_round(p, 0.3); }},
      {"fednova", steps, mean},
      {"fednova", with_momentum("reset"), [](const Problem& p) { return fednova_with_momentum(p); }},
      {"feddyn(0.5)", steps, [](const Problem& p) { return feddyn_round(p, 0.5); }},
      {"fedacg(0.8, 0.3)", steps, [](const Problem& p) { return fedacg_round(p, 0.8, 0.3); }},
      {"mfl-c", steps, control_variates({.gamma = kFamilyGamma})},
      {"scaffold-acg(0.8)", steps, control_variates({.lambda = 0.8})},
      {"scaffold-m(0.3)", steps, control_variates({.alpha = 0.3})},
      {"ghbm(0.9, 3)", steps, [](const Problem& p) { return ghbm_round(p, 0.9, 3); }},
  };
}

template <class T>
State<T> some_rounds(const Federation<T>& federation, const Algorithm& algorithm) {
  const auto engine = make_engine(model(), federation, algorithm);
  State<T> state = initial_state<T>(algorithm, kFamilyColumns);
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<std::uint32_t> nodes = participants(round);
    Aggregate<T> out;
    StepRange<T> range{.state = &state, .out = &out, .participants = nodes};
    engine->run(std::span(&range, 1), kSteps);
    EXPECT_FALSE(range.failure);
    apply(algorithm, state, out, {kSteps, nodes.size(), kFamilyNodes});
    engine->keep(0);
  }
  return state;
}

TEST(Family, DoesWhatTheFormulasSayWhileNodesMissRounds) {
  const auto federation = skewed_nodes();
  const Problem problem(federation);
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.spec + " " + one.options.momentum);
    const Round round = one.formula(problem);
    Numbers w = zero();
    for (int r = 0; r < kRounds; ++r) round(r, participants(r), w);
    const auto got = some_rounds(federation, *make_algorithm(one.spec, one.options, kSteps));
    ASSERT_GT(std::abs(w).max(), 1e-3);
    for (std::size_t i = 0; i < kFamilyColumns; ++i)
      EXPECT_NEAR(got.w()[i], w[i], 1e-11 * std::abs(w).max()) << i;
  }
}

TEST(Family, HasACaseForEveryAlgorithm) {
  for (const AlgorithmEntry& entry : algorithms()) {
    if (entry.centralised || !entry.axes) continue;
    EXPECT_TRUE(std::ranges::any_of(cases(), [&](const Case& one) {
      return parse_spec(one.spec, algorithms())->entry == &entry;
    })) << entry.name;
  }
}

struct Identity {
  std::string spec, same_as;
  StepOptions options = {.eta = kFamilyEta, .gamma = kFamilyGamma},
              same_options = {.eta = kFamilyEta, .gamma = kFamilyGamma};
  bool bit_for_bit = true;
};

std::vector<Identity> identities() {
  const StepOptions no_gamma{.eta = kFamilyEta, .gamma = 0}, steps{.eta = kFamilyEta, .gamma = kFamilyGamma};
  const auto variates = [](StepOptions options) {
    options.correction = "control-variates";
    return options;
  };
  return {
      {"fedprox(0)", "fl"},
      {"mfl", "fl", no_gamma},
      {"mfl", "fl", with_momentum("none")},
      {"fednag", "fl", no_gamma, steps, false},
      {"fedcm(1)", "fl"},
      {"mime-lite(0)", "fl"},
      {"fedacg(0)", "fl"},
      {"ghbm(0)", "fl"},
      {"fedavgm(0)", "fl"},
      {"fedavgm(0, nesterov=1)", "fl"},
      {"fednova", "fl", steps, steps, false},
      {"slowmo(0.7)", "fedavgm(0.7)", steps, steps, false},
      {"mfl", "mfl", with_momentum("average", 1)},
      {"mfl", "fl", {.eta = kFamilyEta, .gamma = 0, .sync_momentum = 4}},
      {"mfl-c", "scaffold", no_gamma},
      {"scaffold-acg(0)", "scaffold"},
      {"scaffold-m(1)", "scaffold"},
      {"mfl", "mfl-c", variates(steps)},
      {"fl", "scaffold", variates(steps)},
  };
}

TEST(Family, HasTheIdentitiesOfItsMembers) {
  const auto federation = skewed_nodes();
  for (const Identity& one : identities()) {
    const auto a = some_rounds(federation, *make_algorithm(one.spec, one.options, kSteps)),
               b = some_rounds(federation, *make_algorithm(one.same_as, one.same_options, kSteps));
    const std::string what = fmt::format("{} {} is {}", one.spec, one.options.momentum, one.same_as);
    EXPECT_TRUE(!one.bit_for_bit || weights_digest(a) == weights_digest(b)) << what;
    for (std::size_t i = 0; i < kFamilyColumns; ++i) EXPECT_NEAR(a.w()[i], b.w()[i], 1e-12) << what;
  }
}

TEST(Family, IsCentralisedWithOneNode) {
  const Dataset data = *make_synthetic(120, kFamilyColumns, 5);
  const auto one = make_federation<double>(model(), data, *contiguous(120, 1));
  const auto mgd = train(model(), one, make_mgd(kFamilyEta, kFamilyGamma), 24);
  for (const auto& [spec, every] : {std::pair{"mfl", 1}, {"mfl", 4}, {"mfl-c", 1}}) {
    const StepOptions options{
        .eta = kFamilyEta, .gamma = kFamilyGamma, .sync_momentum = static_cast<std::uint64_t>(every)};
    EXPECT_EQ(weights_digest(train(model(), one, *make_algorithm(spec, options, kSteps), 24)),
              weights_digest(mgd))
        << spec << ' ' << every;
  }
  // Nesterov's method: y = w + gamma (w - w before); w <- y - eta grad F(y).
  const Problem problem(one);
  Numbers w = zero(), before = zero();
  for (int step = 0; step < 24; ++step) {
    const Numbers y = w + kFamilyGamma * (w - before);
    before = w;
    w = y - kFamilyEta * problem.gradient(0, y);
  }
  const auto got = train(
      model(), one, *make_algorithm(fmt::format("fedacg({})", kFamilyGamma), {.eta = kFamilyEta}, 1), 24);
  for (std::size_t i = 0; i < kFamilyColumns; ++i) EXPECT_NEAR(got.w()[i], w[i], 1e-12);
  // fednag's weights are Nesterov's lookahead points.
  const auto nag =
      train(model(), one, *make_algorithm("fednag", {.eta = kFamilyEta, .gamma = kFamilyGamma}, 1), 24);
  const Numbers y = w + kFamilyGamma * (w - before);
  for (std::size_t i = 0; i < kFamilyColumns; ++i) EXPECT_NEAR(nag.w()[i], y[i], 1e-12);
}

TEST(Family, IsMflWhereNodesHaveTheSameData) {
  const auto one =
      make_federation<double>(model(), *make_synthetic(40, kFamilyColumns, 3), *contiguous(40, 1));
  const Federation<double> copies{one.model, one.train, std::vector<Shard>(4, one.nodes[0]), std::nullopt};
  const StepOptions options{.eta = kFamilyEta, .gamma = kFamilyGamma};
  EXPECT_EQ(weights_digest(train(model(), copies, *make_algorithm("mfl-c", options, kSteps), 24)),
            weights_digest(train(model(), copies, *make_algorithm("mfl", options, kSteps), 24)));
  const auto gd = train(model(), one, make_gd(kFamilyEta), 24);
  for (const char* spec : {"scaffold", "fl"}) {
    const auto got = train(model(), copies, *make_algorithm(spec, options, kSteps), 24);
    EXPECT_EQ(weights_digest(got), weights_digest(gd)) << spec;
  }
}

// All combinations of the axes: each runs, or is refused with an error.
TEST(Axes, EveryCombinationRunsOrIsRefused) {
  const auto federation = skewed_nodes();
  std::size_t ran = 0, refused = 0;
  for (const CorrectionEntry& correction : corrections())
    for (const MomentumEntry& momentum : momenta())
      for (const ServerStepEntry& server : server_steps()) {
        const StepOptions options{.eta = kFamilyEta,
                                  .gamma = kFamilyGamma,
                                  .correction = sample_spec(correction),
                                  .momentum = sample_spec(momentum),
                                  .server_step = sample_spec(server)};
        SCOPED_TRACE(options.correction + ", " + options.momentum + ", " + options.server_step);
        const auto algorithm = make_algorithm("fl", options, kSteps);
        if (!algorithm) {
          EXPECT_EQ(algorithm.error().code, ErrorCode::kBadConfig);
          EXPECT_FALSE(algorithm.error().hint.empty());
          ++refused;
          continue;
        }
        ++ran;
        const auto state = some_rounds(federation, *algorithm);
        for (const double x : state.w()) ASSERT_TRUE(std::isfinite(x));
      }
  EXPECT_EQ(refused, 7 * 8 + 3 * 6 - 0U) << ran;
}

TEST(Axes, RefusalsSayWhy) {
  const auto error = [](const std::string& spec, StepOptions options) {
    options.eta = kFamilyEta;
    const auto made = make_algorithm(spec, options, kSteps);
    EXPECT_FALSE(made) << spec;
    return made ? std::string() : made.error().text() + "; " + made.error().hint;
  };
  EXPECT_THAT(error("gd", {.momentum = "reset"}), HasSubstr("gd has no correction, momentum"));
  EXPECT_THAT(error("fl", {.sync_momentum = 3}), HasSubstr("sync_momentum = 3 is for momentum average"));
  EXPECT_THAT(error("feddyn", {.server_step = "adam"}), HasSubstr("excludes adam"));
  EXPECT_THAT(error("mfl", {.server_step = "normalised"}), HasSubstr("use momentum none or reset"));
  EXPECT_THAT(error("fednova", {.correction = "control-variates"}), HasSubstr("use correction none"));
  EXPECT_THAT(error("fl", {.momentum = "avrage"}), HasSubstr("average"));
  EXPECT_THAT(error("fl(server_lr=2)", {}), HasSubstr("server_lr"));
  EXPECT_THAT(error("fedcm(0)", {}), HasSubstr("(0, 1]"));
}

TEST(Axes, MomentumIsSentUpWhenItIsAveraged) {
  const Algorithm algorithm = *make_algorithm("mfl", with_momentum("", 3), kSteps);
  for (const std::uint64_t round : {1, 2, 3, 4, 5, 6}) {
    const RoundBytes bytes = round_bytes<double>(algorithm, round, 10);
    EXPECT_EQ(bytes.down, 160U);
    EXPECT_EQ(bytes.up, round % 3 == 0 ? 160U : 80U) << round;
  }
  EXPECT_EQ(round_bytes<double>(*make_algorithm("fedacg", {.eta = kFamilyEta}, kSteps), 1, 10).down, 80U);
}

// Steps along one gradient that amount to as many as the formula says.
TEST(Axes, NormalisedCountsWhatStepsAreWorth) {
  axis::Normalised step;
  step.eta = 0.1;
  EXPECT_EQ(step.steps_worth(7), 7);
  step.gamma = 0.5;
  EXPECT_DOUBLE_EQ(step.steps_worth(1), 1);
  EXPECT_DOUBLE_EQ(step.steps_worth(3), 1 + 1.5 + 1.75);
  step.gamma = 0;
  step.mu = 2;
  EXPECT_DOUBLE_EQ(step.steps_worth(2), 1 + 0.8);
}

}  // namespace
}  // namespace mfl::test
