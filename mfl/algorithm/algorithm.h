// An algorithm is a value: the vectors that it needs, how they travel between server and nodes, and four functions. Engines,
// checkpoints and the wire carry named vectors and know no algorithm. docs/extending.md writes one outside the repository.
//
//   class FedProx final : public MethodOf<FedProx> {          // x <- x - eta (g + mu (x - w)), x from w; w averaged
//    public:
//     FedProx(double eta, double mu) : eta_(eta), mu_(mu) {}
//     std::vector<VectorFlow> vectors() const override { return {averaged("w")}; }
//     template <class T>
//     void step(NodeRound<T>& node, const Vector<T>& gradient) const {
//       Vector<T>& x = node[0];
//       const Vector<T>& w = node.sent(0);
//       for (std::size_t i = 0; i < x.size(); ++i) x[i] -= T(eta_) * (gradient[i] + T(mu_) * (x[i] - w[i]));
//     }
//    ...
//   };
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mfl/algorithm/state.h"
#include "mfl/base/kernels/kernels.h"
#include "mfl/base/vectors.h"

namespace mfl {

// How nodes count in the mean of a vector.
enum class Weighting { kBySamples, kEqually };

// A vector of an algorithm: where it lives and how it travels. Every vector has as many numbers as the model has parameters, unless
// `length` says otherwise.
struct VectorFlow {
  std::string name;
  bool in_state = false;  // part of the server's State
  bool down = false;      // of the State: sent to the nodes of a round
  bool at_node = false;   // a node has its own, which starts a round as `start`, `kept` or zero
  bool up = false;        // of a node: sent to the server, which gets the mean over the nodes
  bool kept = false;      // of a node: starts a round as the node left it in the last round that counted it
  Weighting weighting = Weighting::kBySamples;  // of the mean
  std::size_t length = 0;
  std::string start =
      {};  // the vector sent down that a node's copy starts as; empty: itself, where it is sent
  std::uint64_t up_every = 1;  // of `up`: it is sent in every so many rounds alone
};

// In the State, sent down, trained at the nodes, sent up; by default the State takes the mean.
VectorFlow averaged(std::string name);
// In the State and sent down; nodes read it.
VectorFlow broadcast(std::string name);
// In the State alone.
VectorFlow at_server(std::string name);
// Of a node in one round: starts at zero, and is not sent.
VectorFlow at_node(std::string name);
// The same, and sent up for server().
VectorFlow sent_up(std::string name, Weighting weighting = Weighting::kBySamples);
// Of a node across rounds. A node that misses rounds finds it as it was.
VectorFlow kept(std::string name);

// The vectors of an algorithm, and the subsets of them that have a place of their own: numbers are those of the declaration.
class VectorLayout {
 public:
  // Throws std::invalid_argument unless "w" is the first, is in the State and trained at the nodes from something that is sent down,
  // names are unique and not empty, flows make sense, and those that are sent in some rounds alone are the last of those sent up.
  explicit VectorLayout(std::vector<VectorFlow> vectors);

  const VectorFlow& operator[](std::size_t vector) const { return vectors_[vector]; }
  std::size_t size() const { return vectors_.size(); }
  std::span<const std::size_t> state() const { return state_; }  // in_state
  std::span<const std::size_t> down() const { return down_; }    // down
  std::span<const std::size_t> at_node() const { return at_node_; }
  std::span<const std::size_t> up() const { return up_; }
  std::span<const std::size_t> kept() const { return kept_; }
  // The place of a vector in the State, among those of a node, among those that are sent up. Only where it is one of them.
  std::size_t place_in_state(std::size_t vector) const { return in_state_[vector]; }
  std::size_t place_at_node(std::size_t vector) const { return of_node_[vector]; }
  std::size_t place_up(std::size_t vector) const { return sent_up_[vector]; }

  // The vector of the State, sent down, that a node's own starts a round as; nothing where it starts as kept or zero.
  std::optional<std::size_t> start(std::size_t vector) const { return starts_[vector]; }
  // Whether all that is sent up is sent in this round, counted from 1.
  bool sends_all(std::uint64_t round) const {
    return up_.empty() || round % vectors_[up_.back()].up_every == 0;
  }
  // Those that are sent up in every round.
  VectorLayout without_rare() const;

  std::size_t length(std::size_t vector, std::size_t parameters) const {
    return vectors_[vector].length == 0 ? parameters : vectors_[vector].length;
  }
  // Numbers sent to a node, and by a node, in a round.
  std::size_t numbers_down(std::size_t parameters) const;
  std::size_t numbers_up(std::size_t parameters) const;

 private:
  std::vector<VectorFlow> vectors_;
  std::vector<std::size_t> state_, down_, at_node_, up_, kept_;
  std::vector<std::size_t> in_state_, of_node_, sent_up_;
  std::vector<std::optional<std::size_t>> starts_;
};

// A node's view of a round. Vectors have the numbers of the declaration.
template <class T>
struct NodeRound {
  const VectorLayout& layout;
  std::span<Vector<T>> own;               // those at the node
  std::span<const NamedVector<T>> state;  // those of the State; the ones that are not sent may be empty
  const Kernels<T>& kernels;
  std::uint64_t round = 1;
  std::uint64_t steps = 0;  // of this node in this round
  std::size_t samples = 0;  // of this node
  // Writes the gradient of the node's loss on all of its samples at its own w, and returns that loss.
  std::function<double(Vector<T>& gradient)> full_gradient = {};

  Vector<T>& operator[](std::size_t vector) { return own[layout.place_at_node(vector)]; }
  const Vector<T>& sent(std::size_t vector) const { return state[layout.place_in_state(vector)].values; }
};

// The server's view of the end of a round.
template <class T>
struct ServerRound {
  const VectorLayout& layout;
  std::vector<NamedVector<T>>& state;
  std::vector<Vector<T>>& means;  // of what was sent up; may be swapped with the State's
  std::uint64_t round = 1;        // that ends
  std::uint64_t steps = 0;        // of the round
  std::size_t counted = 0;        // nodes whose updates are in the means
  std::size_t nodes = 0;          // of the federation

  Vector<T>& operator[](std::size_t vector) { return state[layout.place_in_state(vector)].values; }
  Vector<T>& mean(std::size_t vector) { return means[layout.place_up(vector)]; }
  // Whether the vector was sent up in this round.
  bool has_mean(std::size_t vector) const { return layout[vector].up; }
  // What happens unless an algorithm says otherwise: the State takes the means of the vectors that it has.
  void take_means();
};

// The steps of plain and heavy-ball gradient descent, which the paper's theory knows.
struct Descent {
  double eta = 0;
  double gamma = 0;  // 0: without momentum
};

// Steps that a program outside of mfl can take, given w and d: x <- x - eta g, or with momentum d <- gamma d + g and x <- x - eta d
// (with Nesterov's form x <- x - eta (g + gamma d)); mu (x - w) is added to g.
struct NodeSteps {
  double eta = 0;
  std::optional<double> gamma = {};  // nothing: without momentum
  bool nesterov = false;
  double mu = 0;
  std::size_t d = 0;  // the number of the vector, with momentum
};

// What an algorithm computes. Immutable, so safe to use from several threads. Element-wise IEEE operations in a fixed order: then every
// engine gives the same bits. Derive from MethodOf.
class Method {
 public:
  virtual ~Method() = default;

  virtual std::vector<VectorFlow> vectors() const = 0;
  virtual std::optional<Descent> descent() const { return std::nullopt; }
  // What a step does, where it reads and writes w and d alone and begin_node() needs no gradient; nothing elsewhere.
  virtual std::optional<NodeSteps> node_steps() const { return std::nullopt; }

  // At a node: before the first step, with a gradient at its w, and after the last step.
  virtual void begin_node(NodeRound<float>& node) const = 0;
  virtual void begin_node(NodeRound<double>& node) const = 0;
  // May use the gradient as its own memory.
  virtual void step_node(NodeRound<float>& node, Vector<float>& gradient) const = 0;
  virtual void step_node(NodeRound<double>& node, Vector<double>& gradient) const = 0;
  virtual void end_node(NodeRound<float>& node) const = 0;
  virtual void end_node(NodeRound<double>& node) const = 0;
  // At the server, with the aggregate of a round. On every process of a run, with the same numbers.
  virtual void end_round(ServerRound<float>& round) const = 0;
  virtual void end_round(ServerRound<double>& round) const = 0;
};

// A Method written once for both precisions: Derived has a template step(NodeRound<T>&, Vector<T>& gradient) and, where they
// differ from these, begin(NodeRound<T>&), end(NodeRound<T>&) and server(ServerRound<T>&).
template <class Derived>
class MethodOf : public Method {
 public:
  template <class T>
  void begin(NodeRound<T>& /*node*/) const {}
  template <class T>
  void end(NodeRound<T>& /*node*/) const {}
  template <class T>
  void server(ServerRound<T>& round) const {
    round.take_means();
  }

  void begin_node(NodeRound<float>& node) const final { self().begin(node); }
  void begin_node(NodeRound<double>& node) const final { self().begin(node); }
  void step_node(NodeRound<float>& node, Vector<float>& gradient) const final { self().step(node, gradient); }
  void step_node(NodeRound<double>& node, Vector<double>& gradient) const final {
    self().step(node, gradient);
  }
  void end_node(NodeRound<float>& node) const final { self().end(node); }
  void end_node(NodeRound<double>& node) const final { self().end(node); }
  void end_round(ServerRound<float>& round) const final { self().server(round); }
  void end_round(ServerRound<double>& round) const final { self().server(round); }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

// Cheap to copy.
class Algorithm {
 public:
  Algorithm(std::string algorithm_name, std::shared_ptr<const Method> method, std::uint64_t round_steps,
            bool in_one_place = false);

  std::string name;
  std::uint64_t tau = 1;     // local steps per round
  bool centralised = false;  // all data in one place: one node, nothing is sent

  const Method& method() const { return *method_; }
  const VectorLayout& vectors() const { return *layout_; }
  // The same, with what is sent up in this round, from 1. The first of those that are sent up in any round.
  const VectorLayout& vectors(std::uint64_t round) const {
    return layout_->sends_all(round) ? *layout_ : *between_;
  }
  bool keeps_at_nodes() const { return !layout_->kept().empty(); }
  // Whether nodes start from w itself. Elsewhere they report the loss of what they start from.
  bool starts_at_w() const { return layout_->start(0) == 0; }

 private:
  std::shared_ptr<const Method> method_;
  std::shared_ptr<const VectorLayout> layout_, between_;
};

}  // namespace mfl
