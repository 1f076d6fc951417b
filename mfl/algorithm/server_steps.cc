#include <algorithm>
#include <cmath>
#include <utility>

#include "mfl/algorithm/axes.h"
#include "mfl/algorithm/ranges.h"

namespace mfl {
namespace {

using namespace axis;

const Parameter kMomentumBeta{.name = "beta", .help = "momentum", .range = kFraction};
const Parameter kServerRate{
    .name = "server_lr", .help = "step size of the server", .range = kPositive, .default_value = 1};

ServerStep heavy_ball(const ParameterValues& values, bool nesterov) {
  HeavyBall part;
  part.beta = values.number("beta");
  part.server_lr = values.number("server_lr");
  part.nesterov = nesterov;
  return part;
}

ServerStepEntry adaptive_step(std::string name, std::string description, Adaptive::Rule rule) {
  const bool has_beta2 = rule != Adaptive::Rule::kAdagrad;
  std::vector<Parameter> parameters = {{.name = "beta1",
                                        .help = "fading of the mean move",
                                        .range = kFraction,
                                        .default_value = has_beta2 ? 0.9 : 0}};
  if (has_beta2)
    parameters.push_back(
        {.name = "beta2", .help = "fading of its square", .range = kFraction, .default_value = 0.99});
  parameters.push_back(
      {.name = "server_lr", .help = "step size of the server", .range = kPositive, .default_value = 0.1});
  parameters.push_back(
      {.name = "epsilon", .help = "degree of adaptivity", .range = kPositive, .default_value = 1e-3});
  return {{.name = std::move(name), .parameters = parameters, .description = std::move(description)},
          [rule](const StepOptions&, const ParameterValues& values) {
            Adaptive part;
            part.rule = rule;
            part.beta1 = values.number("beta1");
            part.beta2 = values.find("beta2").value_or(0);
            part.server_lr = values.number("server_lr");
            part.epsilon = values.number("epsilon");
            return part;
          }};
}

std::vector<ServerStepEntry> built_in_server_steps() {
  return {
      {{.name = "average", .parameters = {kServerRate}, .description = "w becomes the mean of the nodes"},
       [](const StepOptions&, const ParameterValues& values) {
         Average part;
         part.server_lr = values.number("server_lr");
         return part;
       }},
      {{.name = "heavy-ball",
        .parameters = {kMomentumBeta, kServerRate},
        .description = "momentum of the server on the mean move"},
       [](const StepOptions&, const ParameterValues& values) { return heavy_ball(values, false); }},
      {{.name = "nesterov",
        .parameters = {kMomentumBeta, kServerRate},
        .description = "the same in Nesterov's form"},
       [](const StepOptions&, const ParameterValues& values) { return heavy_ball(values, true); }},
      {{.name = "slow",
        .parameters = {kMomentumBeta,
                       {.name = "alpha", .help = "slow step size", .range = kPositive, .default_value = 1}},
        .description = "slow momentum, in units of the nodes' step size"},
       [](const StepOptions& options, const ParameterValues& values) {
         Slow part;
         part.eta = options.eta;
         part.beta = values.number("beta");
         part.alpha = values.number("alpha");
         return part;
       }},
      adaptive_step("adam", "Adam on the mean move, without bias correction", Adaptive::Rule::kAdam),
      adaptive_step("yogi", "Yogi on the mean move", Adaptive::Rule::kYogi),
      adaptive_step("adagrad", "Adagrad on the mean move", Adaptive::Rule::kAdagrad),
      {{.name = "lookahead",
        .parameters = {{.name = "lambda", .help = "momentum", .range = kFraction}},
        .description = "nodes start where the server's momentum leads"},
       [](const StepOptions&, const ParameterValues& values) {
         Lookahead part;
         part.lambda = values.number("lambda");
         return part;
       }},
      {{.name = "normalised", .description = "nodes count alike, however many steps they take"},
       [](const StepOptions& options, const ParameterValues&) {
         Normalised part;
         part.eta = options.eta;
         return part;
       }},
  };
}

}  // namespace

Catalog<ServerStepEntry>& server_steps() {
  static Catalog<ServerStepEntry> catalog("server_step", built_in_server_steps());
  return catalog;
}

namespace axis {

template <class T>
void Average::take(ServerRound<T>& round) const {
  Vector<T>&w = round[0], &mean = round.mean(0);
  if (server_lr == 1) return std::swap(w, mean);
  const T rate = static_cast<T>(server_lr);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] += rate * (mean[i] - w[i]);
}

std::vector<VectorFlow> HeavyBall::vectors() const { return {at_server("v")}; }

template <class T>
void HeavyBall::take(ServerRound<T>& round) const {
  Vector<T>&w = round[0], &v = round[first];
  Vector<T>& mean = round.mean(0);
  if (beta == 0 && server_lr == 1) return std::swap(w, mean);
  const T factor = static_cast<T>(beta), rate = static_cast<T>(server_lr);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const T move = w[i] - mean[i];
    v[i] = factor * v[i] + move;
    w[i] -= rate * (nesterov ? factor * v[i] + move : v[i]);
  }
}

std::vector<VectorFlow> Slow::vectors() const { return {at_server("u")}; }

template <class T>
void Slow::take(ServerRound<T>& round) const {
  Vector<T>&w = round[0], &u = round[first];
  const Vector<T>& mean = round.mean(0);
  const T factor = static_cast<T>(beta), step = static_cast<T>(eta), rate = static_cast<T>(alpha * eta);
  for (std::size_t i = 0; i < w.size(); ++i) {
    u[i] = factor * u[i] + (w[i] - mean[i]) / step;
    w[i] -= rate * u[i];
  }
}

std::vector<VectorFlow> Adaptive::vectors() const { return {at_server("moment1"), at_server("moment2")}; }

template <class T>
void Adaptive::take(ServerRound<T>& round) const {
  Vector<T>&w = round[0], &m = round[first], &v = round[first + 1];
  const Vector<T>& mean = round.mean(0);
  const T b1 = static_cast<T>(beta1), rest1 = static_cast<T>(1 - beta1), b2 = static_cast<T>(beta2),
          rest2 = static_cast<T>(1 - beta2), rate = static_cast<T>(server_lr),
          least = static_cast<T>(epsilon);
  if (round.round == 1) std::ranges::fill(v, least * least);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const T move = mean[i] - w[i], square = move * move;
    m[i] = b1 * m[i] + rest1 * move;
    switch (rule) {
      case Rule::kAdam: v[i] = b2 * v[i] + rest2 * square; break;
      case Rule::kYogi:
        if (v[i] != square) v[i] += v[i] > square ? -(rest2 * square) : rest2 * square;
        break;
      case Rule::kAdagrad: v[i] += square; break;
    }
    w[i] += rate * m[i] / (std::sqrt(v[i]) + least);
  }
}

std::vector<VectorFlow> Lookahead::vectors() const { return {broadcast("s"), at_server("move")}; }

template <class T>
void Lookahead::take(ServerRound<T>& round) const {
  Vector<T>&w = round[0], &s = round[first], &move = round[first + 1];
  std::swap(w, round.mean(0));
  if (lambda == 0) {
    s = w;
    return;
  }
  const T factor = static_cast<T>(lambda);
  for (std::size_t i = 0; i < w.size(); ++i) {
    move[i] = factor * move[i] + (w[i] - s[i]);
    s[i] = w[i] + factor * move[i];
  }
}

std::vector<VectorFlow> Normalised::vectors() const {
  VectorFlow worth = sent_up("a");
  worth.length = 1;
  return {sent_up("u"), worth};
}

double Normalised::steps_worth(std::uint64_t steps) const {
  const double count = static_cast<double>(steps);
  const double rate = mu > 0 ? 1 - eta * mu : gamma;
  if (rate == 0 && mu == 0) return count;
  double power = 1;
  for (std::uint64_t k = 0; k < steps; ++k) power *= rate;
  if (mu > 0) return (1 - power) / (eta * mu);
  return (count - rate * (1 - power) / (1 - rate)) / (1 - rate);
}

template <class T>
void Normalised::end(NodeRound<T>& node) const {
  const Vector<T>&x = node[0], &w = node.sent(0);
  Vector<T>& u = node[first];
  const T worth = static_cast<T>(steps_worth(node.steps));
  for (std::size_t i = 0; i < x.size(); ++i) u[i] = (x[i] - w[i]) / worth;
  node[first + 1][0] = worth;
}

template <class T>
void Normalised::take(ServerRound<T>& round) const {
  Vector<T>& w = round[0];
  const Vector<T>& u = round.mean(first);
  const T worth = round.mean(first + 1)[0];
  for (std::size_t i = 0; i < w.size(); ++i) w[i] += worth * u[i];
}

#define MFL_INSTANTIATE(T)                              \
  template void Average::take(ServerRound<T>&) const;   \
  template void HeavyBall::take(ServerRound<T>&) const; \
  template void Slow::take(ServerRound<T>&) const;      \
  template void Adaptive::take(ServerRound<T>&) const;  \
  template void Lookahead::take(ServerRound<T>&) const; \
  template void Normalised::end(NodeRound<T>&) const;   \
  template void Normalised::take(ServerRound<T>&) const;
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace axis
}  // namespace mfl
