#include <fmt/core.h>

#include <utility>

#include "mfl/algorithm/axes.h"
#include "mfl/algorithm/ranges.h"
#include "mfl/solve/rules.h"

namespace mfl {
namespace {

using namespace axis;

NodeMomentum local(const StepOptions& options, LocalMomentum::Share share) {
  LocalMomentum part;
  part.eta = options.eta;
  part.gamma = options.gamma;
  part.share = share;
  return part;
}

std::vector<MomentumEntry> built_in_momenta() {
  using Share = LocalMomentum::Share;
  return {
      {{.name = "none", .description = "plain steps"},
       [](const StepOptions& options, const ParameterValues&) {
         PlainSteps part;
         part.eta = options.eta;
         return part;
       }},
      {{.name = "average", .description = "d at the nodes, averaged along with w"},
       [](const StepOptions& options, const ParameterValues&) {
         NodeMomentum part = local(options, options.sync_momentum > 1 ? Share::kSync : Share::kAverage);
         std::get<LocalMomentum>(part).every = options.sync_momentum;
         return part;
       }},
      {{.name = "reset", .description = "d at the nodes, zero at the start of a round"},
       [](const StepOptions& options, const ParameterValues&) { return local(options, Share::kReset); }},
      {{.name = "keep-local", .description = "d at the nodes, as each left it in its last round"},
       [](const StepOptions& options, const ParameterValues&) { return local(options, Share::kKeepLocal); }},
      {{.name = "client-global",
        .parameters = {{.name = "alpha", .help = "share of the gradient in a step", .range = kShare}},
        .description = "nodes mix the direction of the last round into their steps"},
       [](const StepOptions& options, const ParameterValues& values) {
         ClientGlobal part;
         part.eta = options.eta;
         part.alpha = values.number("alpha");
         return part;
       }},
      {{.name = "frozen",
        .parameters = {{.name = "beta", .help = "share of the momentum in a step", .range = kFraction}},
        .description = "nodes mix a momentum of full gradients into their steps, fixed within a round"},
       [](const StepOptions& options, const ParameterValues& values) {
         Frozen part;
         part.eta = options.eta;
         part.beta = values.number("beta");
         return part;
       }},
      {{.name = "window",
        .parameters = {{.name = "beta", .help = "weight of the momentum", .range = kNotNegative},
                       {.name = "models",
                        .help = "rounds that it spans",
                        .range = kModels,
                        .default_value = 10,
                        .whole = true}},
        .description = "nodes follow the mean move of the server's last models"},
       [](const StepOptions& options, const ParameterValues& values) {
         Window part;
         part.eta = options.eta;
         part.beta = values.number("beta");
         part.models = values.count("models");
         return part;
       }},
  };
}

}  // namespace

Catalog<MomentumEntry>& momenta() {
  static Catalog<MomentumEntry> catalog("momentum", built_in_momenta());
  return catalog;
}

namespace axis {

template <class T>
void PlainSteps::step(NodeRound<T>& node, const Vector<T>& gradient) const {
  GradientDescent{eta}.step(node.kernels, gradient, node[0]);
}

namespace {
enum LocalVector { kD, kOwnD, kCountedRound };
}

std::vector<VectorFlow> LocalMomentum::vectors() const {
  switch (share) {
    case Share::kAverage: return {averaged("d")};
    case Share::kReset: return {at_node("d")};
    case Share::kKeepLocal: return {kept("d")};
    case Share::kSync: break;
  }
  VectorFlow mean = averaged("d");
  mean.up_every = every;
  VectorFlow counted = kept("d_round");  // the round after which d_i was left
  counted.length = 1;
  return {mean, kept("d_i"), counted};
}

template <class T>
void LocalMomentum::begin(NodeRound<T>& node) const {
  if (share != Share::kSync) return;
  const bool is_next = node[first + kCountedRound][0] == static_cast<T>(node.round - 1);
  const bool has_new_mean = (node.round - 1) % every == 0;
  if (is_next && !has_new_mean) node[first + kD] = node[first + kOwnD];
}

template <class T>
void LocalMomentum::step(NodeRound<T>& node, const Vector<T>& gradient) const {
  Vector<T>&x = node[0], &d = node[first + kD];
  if (!nesterov) return Momentum{eta, gamma}.step(node.kernels, gradient, x, d);
  const T step = static_cast<T>(eta), factor = static_cast<T>(gamma);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    d[i] = factor * d[i] + gradient[i];
    x[i] -= step * (gradient[i] + factor * d[i]);
  }
}

template <class T>
void LocalMomentum::end(NodeRound<T>& node) const {
  if (share != Share::kSync) return;
  node[first + kOwnD] = node[first + kD];
  node[first + kCountedRound][0] = static_cast<T>(node.round);
}

template <class T>
void LocalMomentum::before(ServerRound<T>& round) const {
  const bool averages = share == Share::kAverage || share == Share::kSync;
  if (averages && round.has_mean(first + kD)) std::swap(round[first + kD], round.mean(first + kD));
}

namespace {
enum GlobalVector { kDirection, kLocalSteps };
}

std::vector<VectorFlow> ClientGlobal::vectors() const {
  VectorFlow steps = sent_up("steps");  // nodes differ where a round is counted in epochs
  steps.length = 1;
  return {broadcast("D"), steps};
}

template <class T>
void ClientGlobal::step(NodeRound<T>& node, const Vector<T>& gradient) const {
  Vector<T>& x = node[0];
  const Vector<T>& direction = node.sent(first + kDirection);
  const T step = static_cast<T>(eta), own = static_cast<T>(alpha), global = static_cast<T>(1 - alpha);
  if (alpha == 1) return GradientDescent{eta}.step(node.kernels, gradient, x);
  for (std::size_t i = 0; i < gradient.size(); ++i)
    x[i] -= step * (own * gradient[i] + global * direction[i]);
}

template <class T>
void ClientGlobal::end(NodeRound<T>& node) const {
  node[first + kLocalSteps][0] = static_cast<T>(node.steps);
}

template <class T>
void ClientGlobal::before(ServerRound<T>& round) const {
  round[first + kDirection] = round[0];
}

template <class T>
void ClientGlobal::after(ServerRound<T>& round) const {
  Vector<T>& direction = round[first + kDirection];
  const Vector<T>& w = round[0];
  const T length = static_cast<T>(eta * static_cast<double>(round.mean(first + kLocalSteps)[0]));
  for (std::size_t i = 0; i < w.size(); ++i) direction[i] = (direction[i] - w[i]) / length;
}

namespace {
enum FrozenVector { kMomentum, kGradient };
}

std::vector<VectorFlow> Frozen::vectors() const { return {broadcast("m"), sent_up("g")}; }

template <class T>
void Frozen::begin(NodeRound<T>& node) const {
  node.full_gradient(node[first + kGradient]);
}

template <class T>
void Frozen::step(NodeRound<T>& node, const Vector<T>& gradient) const {
  Vector<T>& x = node[0];
  const Vector<T>& m = node.sent(first + kMomentum);
  const T step = static_cast<T>(eta), own = static_cast<T>(1 - beta), global = static_cast<T>(beta);
  if (beta == 0) return GradientDescent{eta}.step(node.kernels, gradient, x);
  for (std::size_t i = 0; i < gradient.size(); ++i) x[i] -= step * (own * gradient[i] + global * m[i]);
}

template <class T>
void Frozen::before(ServerRound<T>& round) const {
  Vector<T>& m = round[first + kMomentum];
  const Vector<T>& gradient = round.mean(first + kGradient);
  const T own = static_cast<T>(1 - beta), global = static_cast<T>(beta);
  for (std::size_t i = 0; i < m.size(); ++i) m[i] = own * gradient[i] + global * m[i];
}

// m, under a name of its own, then the models of 1, 2, ... rounds ago.
std::vector<VectorFlow> Window::vectors() const {
  std::vector<VectorFlow> out = {broadcast("trend")};
  for (std::uint64_t ago = 1; ago <= models; ++ago) out.push_back(at_server(fmt::format("w-{}", ago)));
  return out;
}

template <class T>
void Window::step(NodeRound<T>& node, const Vector<T>& gradient) const {
  Vector<T>& x = node[0];
  const Vector<T>& m = node.sent(first);
  const T step = static_cast<T>(eta), weight = static_cast<T>(beta / static_cast<double>(node.steps));
  if (beta == 0) return GradientDescent{eta}.step(node.kernels, gradient, x);
  for (std::size_t i = 0; i < gradient.size(); ++i) x[i] -= step * gradient[i] + weight * m[i];
}

template <class T>
void Window::before(ServerRound<T>& round) const {
  for (std::size_t ago = models; ago > 1; --ago) std::swap(round[first + ago], round[first + ago - 1]);
  round[first + 1] = round[0];
}

template <class T>
void Window::after(ServerRound<T>& round) const {
  if (round.round < models) return;
  Vector<T>& m = round[first];
  const Vector<T>&w = round[0], &past = round[first + models];
  const T span = static_cast<T>(models);
  for (std::size_t i = 0; i < m.size(); ++i) m[i] = (past[i] - w[i]) / span;
}

#define MFL_INSTANTIATE(T)                                                  \
  template void PlainSteps::step(NodeRound<T>&, const Vector<T>&) const;    \
  template void LocalMomentum::begin(NodeRound<T>&) const;                  \
  template void LocalMomentum::step(NodeRound<T>&, const Vector<T>&) const; \
  template void LocalMomentum::end(NodeRound<T>&) const;                    \
  template void LocalMomentum::before(ServerRound<T>&) const;               \
  template void ClientGlobal::step(NodeRound<T>&, const Vector<T>&) const;  \
  template void ClientGlobal::end(NodeRound<T>&) const;                     \
  template void ClientGlobal::before(ServerRound<T>&) const;                \
  template void ClientGlobal::after(ServerRound<T>&) const;                 \
  template void Frozen::begin(NodeRound<T>&) const;                         \
  template void Frozen::step(NodeRound<T>&, const Vector<T>&) const;        \
  template void Frozen::before(ServerRound<T>&) const;                      \
  template void Window::step(NodeRound<T>&, const Vector<T>&) const;        \
  template void Window::before(ServerRound<T>&) const;                      \
  template void Window::after(ServerRound<T>&) const;
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace axis
}  // namespace mfl
