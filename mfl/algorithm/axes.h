// Three independent choices that most algorithms are combinations of: what a node does to a gradient (correction), how it steps (momentum),
// and what the server does with the mean of the nodes (server step). algorithms.h has the names that the field gives to combinations.
// docs/algorithms.md has the formulas.
//
//   MFL_TRY(const Axes axes, parse_axes({.correction = "proximal(0.1)", .momentum = "reset"}, {.eta = 0.01, .gamma = 0.9}));
//   const std::shared_ptr<const Method> method = compose(axes);
//
// In what follows g is a gradient, x a node's weights, w the server's, s what the nodes of a round start from (w but for lookahead), W the
// mean of the nodes' weights, and K a node's steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "mfl/algorithm/algorithm.h"
#include "mfl/base/catalog.h"
#include "mfl/base/result.h"

namespace mfl {

// Settings that algorithms have in common, each a key of an experiment. The four last are for algorithms that are made of axes.
struct StepOptions {
  double eta = 0;
  double gamma = 0;                 // of momentum at the nodes
  std::string correction = {};      // in place of the algorithm's own; empty: as the algorithm has it
  std::string momentum = {};        // the same
  std::string server_step = {};     // the same
  std::uint64_t sync_momentum = 1;  // rounds between two means of d, where momentum is averaged
};

namespace axis {

// A choice on an axis: the vectors that it adds, and what it does with them. Numbers of vectors are those of the algorithm.
struct Part {
  std::size_t first = 0;  // the number of its first vector
  std::size_t start = 0;  // the number of s

  std::vector<VectorFlow> vectors() const { return {}; }
  template <class T>
  void begin(NodeRound<T>& /*node*/) const {}
  template <class T>
  void end(NodeRound<T>& /*node*/) const {}
  // Before and after the server's step.
  template <class T>
  void before(ServerRound<T>& /*round*/) const {}
  template <class T>
  void after(ServerRound<T>& /*round*/) const {}
};

// Corrections. correct() changes the gradient of a step.

struct NoCorrection : Part {
  template <class T>
  void correct(NodeRound<T>& /*node*/, Vector<T>& /*gradient*/) const {}
};

// g + mu (x - s)
struct Proximal : Part {
  double mu = 0;
  template <class T>
  void correct(NodeRound<T>& node, Vector<T>& gradient) const;
};

// g - c_i + c. At the end of a round c_i becomes the mean of its gradients, and c the mean of all c_i: c <- c + sum of changes / nodes.
struct ControlVariates : Part {
  std::vector<VectorFlow> vectors() const;
  template <class T>
  void correct(NodeRound<T>& node, Vector<T>& gradient) const;
  template <class T>
  void end(NodeRound<T>& node) const;
  template <class T>
  void before(ServerRound<T>& round) const;
};

// g - l_i + alpha (x - w). At the end of a round l_i <- l_i - alpha (x - w); h <- h - alpha sum of (x - w) / nodes, w <- W - h / alpha.
struct Dynamic : Part {
  double alpha = 1;
  std::vector<VectorFlow> vectors() const;
  template <class T>
  void correct(NodeRound<T>& node, Vector<T>& gradient) const;
  template <class T>
  void end(NodeRound<T>& node) const;
  template <class T>
  void after(ServerRound<T>& round) const;  // w is W
};

using Correction = std::variant<NoCorrection, Proximal, ControlVariates, Dynamic>;

// Momentum at the nodes. step() takes a step along the corrected gradient.

// x <- x - eta g
struct PlainSteps : Part {
  double eta = 0;
  template <class T>
  void step(NodeRound<T>& node, const Vector<T>& gradient) const;
};

// d <- gamma d + g; x <- x - eta d, or with Nesterov's form x <- x - eta (g + gamma d).
struct LocalMomentum : Part {
  // What a node's d starts a round as.
  enum class Share {
    kAverage,  // the mean of the nodes' d
    kSync,  // the node's own, but the mean after every `every` rounds, and for a node that was not counted in the last round
    kReset,      // zero
    kKeepLocal,  // as the node left it
  };
  double eta = 0, gamma = 0;
  bool nesterov = false;
  Share share = Share::kAverage;
  std::uint64_t every = 1;

  std::vector<VectorFlow> vectors() const;
  template <class T>
  void begin(NodeRound<T>& node) const;
  template <class T>
  void step(NodeRound<T>& node, const Vector<T>& gradient) const;
  template <class T>
  void end(NodeRound<T>& node) const;
  template <class T>
  void before(ServerRound<T>& round) const;
};

// x <- x - eta (alpha g + (1 - alpha) D), D = (w before - w after the last round) / (eta K), K the mean over the nodes.
struct ClientGlobal : Part {
  double eta = 0, alpha = 1;
  std::vector<VectorFlow> vectors() const;
  template <class T>
  void step(NodeRound<T>& node, const Vector<T>& gradient) const;
  template <class T>
  void end(NodeRound<T>& node) const;
  template <class T>
  void before(ServerRound<T>& round) const;
  template <class T>
  void after(ServerRound<T>& round) const;
};

// x <- x - eta ((1 - beta) g + beta m); m <- (1 - beta) grad F + beta m after a round, with the nodes' gradients on all samples at s.
struct Frozen : Part {
  double eta = 0, beta = 0;
  std::vector<VectorFlow> vectors() const;
  template <class T>
  void begin(NodeRound<T>& node) const;
  template <class T>
  void step(NodeRound<T>& node, const Vector<T>& gradient) const;
  template <class T>
  void before(ServerRound<T>& round) const;
};

// x <- x - eta g - (beta / K) m, m = (w of `models` rounds ago - w) / models; 0 while there is none.
struct Window : Part {
  double eta = 0, beta = 0;
  std::uint64_t models = 1;
  std::vector<VectorFlow> vectors() const;
  template <class T>
  void step(NodeRound<T>& node, const Vector<T>& gradient) const;
  template <class T>
  void before(ServerRound<T>& round) const;
  template <class T>
  void after(ServerRound<T>& round) const;
};

using NodeMomentum = std::variant<PlainSteps, LocalMomentum, ClientGlobal, Frozen, Window>;

// Server steps. take() changes w.

// w <- w + server_lr (W - w)
struct Average : Part {
  double server_lr = 1;
  template <class T>
  void take(ServerRound<T>& round) const;
};

// v <- beta v + (w - W); w <- w - server_lr v, or with Nesterov's form w <- w - server_lr (beta v + (w - W)).
struct HeavyBall : Part {
  double beta = 0, server_lr = 1;
  bool nesterov = false;
  std::vector<VectorFlow> vectors() const;
  template <class T>
  void take(ServerRound<T>& round) const;
};

// u <- beta u + (w - W) / eta; w <- w - alpha eta u
struct Slow : Part {
  double eta = 0, beta = 0, alpha = 1;
  std::vector<VectorFlow> vectors() const;
  template <class T>
  void take(ServerRound<T>& round) const;
};

// m <- beta1 m + (1 - beta1) D, D = W - w; v by the rule, from epsilon^2; w <- w + server_lr m / (sqrt v + epsilon).
struct Adaptive : Part {
  enum class Rule {
    kAdam,     // v <- beta2 v + (1 - beta2) D^2
    kYogi,     // v <- v - (1 - beta2) D^2 sign(v - D^2)
    kAdagrad,  // v <- v + D^2
  };
  Rule rule = Rule::kAdam;
  double beta1 = 0, beta2 = 0, server_lr = 1, epsilon = 0;
  std::vector<VectorFlow> vectors() const;
  template <class T>
  void take(ServerRound<T>& round) const;
};

// s = w + lambda m is what nodes get in place of w; m <- lambda m + (W - s); w <- W.
struct Lookahead : Part {
  double lambda = 0;
  std::vector<VectorFlow> vectors() const;
  template <class T>
  void take(ServerRound<T>& round) const;
};

// w <- w + a (mean of (x - w) / a_i), a the mean of the a_i: what K steps along one gradient amount to, in steps. Nodes that take more steps do
// not count more.
struct Normalised : Part {
  double eta = 0, gamma = 0, mu = 0;  // of the nodes' steps
  std::vector<VectorFlow> vectors() const;
  template <class T>
  void end(NodeRound<T>& node) const;
  template <class T>
  void take(ServerRound<T>& round) const;
  // a_i of so many steps.
  double steps_worth(std::uint64_t steps) const;
};

using ServerStep = std::variant<Average, HeavyBall, Slow, Adaptive, Lookahead, Normalised>;

}  // namespace axis

// A point on the axes.
struct Axes {
  axis::Correction correction;
  axis::NodeMomentum momentum;
  axis::ServerStep server_step;

  // Whether gamma has an effect.
  bool uses_gamma() const { return std::holds_alternative<axis::LocalMomentum>(momentum); }
};

struct CorrectionEntry : CatalogEntry {
  std::function<axis::Correction(const ParameterValues&)> make = {};
};
struct MomentumEntry : CatalogEntry {
  std::function<axis::NodeMomentum(const StepOptions&, const ParameterValues&)> make = {};
};
struct ServerStepEntry : CatalogEntry {
  std::function<axis::ServerStep(const StepOptions&, const ParameterValues&)> make = {};
};

Catalog<CorrectionEntry>& corrections();
Catalog<MomentumEntry>& momenta();
Catalog<ServerStepEntry>& server_steps();

// The specs of a combination.
struct AxisSpecs {
  std::string correction = "none";
  std::string momentum = "none";
  std::string server_step = "average";
  bool nesterov = false;  // of momentum at the nodes
};

// kBadConfig for what the tables do not have, and for choices that exclude each other.
Result<Axes> parse_axes(const AxisSpecs& specs, const StepOptions& options);

std::shared_ptr<const Method> compose(Axes axes);

}  // namespace mfl
