#include "mfl/algorithm/axes.h"
#include "mfl/algorithm/ranges.h"

namespace mfl {
namespace {

using namespace axis;

std::vector<CorrectionEntry> built_in_corrections() {
  return {
      {{.name = "none", .description = "gradients as they are"},
       [](const ParameterValues&) { return NoCorrection{}; }},
      {{.name = "proximal",
        .parameters = {{.name = "mu", .help = "weight of the distance to the start", .range = kNotNegative}},
        .description = "pulls nodes back to where their round started"},
       [](const ParameterValues& values) {
         Proximal part;
         part.mu = values.number("mu");
         return part;
       }},
      {{.name = "control-variates",
        .description = "replaces what a node's data adds to the gradient by what all nodes add"},
       [](const ParameterValues&) { return ControlVariates{}; }},
      {{.name = "dynamic",
        .parameters = {{.name = "alpha", .help = "weight of the regulariser", .range = kPositive}},
        .description = "regularises each node such that all agree at the optimum"},
       [](const ParameterValues& values) {
         Dynamic part;
         part.alpha = values.number("alpha");
         return part;
       }},
  };
}

template <class T>
T share_counted(const ServerRound<T>& round) {
  return static_cast<T>(static_cast<double>(round.counted) / static_cast<double>(round.nodes));
}

}  // namespace

Catalog<CorrectionEntry>& corrections() {
  static Catalog<CorrectionEntry> catalog("correction", built_in_corrections());
  return catalog;
}

namespace axis {

template <class T>
void Proximal::correct(NodeRound<T>& node, Vector<T>& gradient) const {
  const Vector<T>&x = node[0], &s = node.sent(start);
  const T weight = static_cast<T>(mu);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += weight * (x[i] - s[i]);
}

namespace {
enum ControlVector { kAll, kOwn, kChange, kSum };
}

std::vector<VectorFlow> ControlVariates::vectors() const {
  return {broadcast("c"), kept("c_i"), sent_up("c_change", Weighting::kEqually), at_node("g_sum")};
}

// c - c_i is exactly zero where all nodes have the same data.
template <class T>
void ControlVariates::correct(NodeRound<T>& node, Vector<T>& gradient) const {
  const Vector<T>&c = node.sent(first + kAll), &own = node[first + kOwn];
  Vector<T>& sum = node[first + kSum];
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    sum[i] += gradient[i];
    gradient[i] += c[i] - own[i];
  }
}

// The change is rounded before it is added, so that the server's c and c_i of a single node stay the same.
template <class T>
void ControlVariates::end(NodeRound<T>& node) const {
  const Vector<T>& sum = node[first + kSum];
  Vector<T>&own = node[first + kOwn], &change = node[first + kChange];
  const T steps = static_cast<T>(node.steps);
  for (std::size_t i = 0; i < own.size(); ++i) {
    change[i] = sum[i] / steps - own[i];
    own[i] += change[i];
  }
}

template <class T>
void ControlVariates::before(ServerRound<T>& round) const {
  Vector<T>& c = round[first + kAll];
  const Vector<T>& change = round.mean(first + kChange);
  const T share = share_counted(round);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] += share * change[i];
}

namespace {
enum DynamicVector { kMultiplier, kServer };
}

std::vector<VectorFlow> Dynamic::vectors() const { return {kept("l_i"), at_server("h")}; }

template <class T>
void Dynamic::correct(NodeRound<T>& node, Vector<T>& gradient) const {
  const Vector<T>&x = node[0], &w = node.sent(start), &own = node[first + kMultiplier];
  const T weight = static_cast<T>(alpha);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += weight * (x[i] - w[i]) - own[i];
}

template <class T>
void Dynamic::end(NodeRound<T>& node) const {
  const Vector<T>&x = node[0], &w = node.sent(start);
  Vector<T>& own = node[first + kMultiplier];
  const T weight = static_cast<T>(alpha);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] -= weight * (x[i] - w[i]);
}

// The means have the w of before.
template <class T>
void Dynamic::after(ServerRound<T>& round) const {
  Vector<T>&w = round[0], &h = round[first + kServer];
  const Vector<T>& before = round.mean(0);
  const T weight = static_cast<T>(alpha), share = share_counted(round);
  for (std::size_t i = 0; i < w.size(); ++i) {
    h[i] -= weight * share * (w[i] - before[i]);
    w[i] -= h[i] / weight;
  }
}

#define MFL_INSTANTIATE(T)                                                 \
  template void Proximal::correct(NodeRound<T>&, Vector<T>&) const;        \
  template void ControlVariates::correct(NodeRound<T>&, Vector<T>&) const; \
  template void ControlVariates::end(NodeRound<T>&) const;                 \
  template void ControlVariates::before(ServerRound<T>&) const;            \
  template void Dynamic::correct(NodeRound<T>&, Vector<T>&) const;         \
  template void Dynamic::end(NodeRound<T>&) const;                         \
  template void Dynamic::after(ServerRound<T>&) const;
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace axis
}  // namespace mfl
