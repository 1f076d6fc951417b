#include "mfl/algorithm/estimating.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mfl/base/squared_distance.h"

namespace mfl {
namespace {

constexpr const char* kStateName = "estimates";

// What a node sends beside its gradient. Numbers of the run's precision; a double is split into two of them where it must be exact.
enum Sent : std::size_t { kRho, kBeta, kSquareHigh, kSquareLow, kSentCount };
// What the State keeps.
enum Known : std::size_t { kMeanRho, kMeanBeta, kDelta, kSteps, kKnownCount };

template <class T>
double squared_norm(const Vector<T>& x) {
  double sum = 0;
  for (const T one : x) sum += static_cast<double>(one) * static_cast<double>(one);
  return sum;
}

template <class T>
double distance(const Vector<T>& x, const Vector<T>& y) {
  return std::sqrt(add_squared_distance<T>(0, x, y));
}

template <class T>
void split(double number, T& high, T& low) {
  high = static_cast<T>(number);
  low = static_cast<T>(number - static_cast<double>(high));
}

class Estimating final : public MethodOf<Estimating> {
 public:
  explicit Estimating(const Algorithm& inner)
      : inner_(inner), gradient_(inner.vectors().size()), sent_(gradient_ + 1), known_(gradient_ + 2) {}

  std::vector<VectorFlow> vectors() const override {
    std::vector<VectorFlow> all = inner_.method().vectors();
    all.push_back(sent_up("gradient"));
    all.push_back(sent_up("smoothness"));
    all.back().length = kSentCount;
    all.push_back(at_server(kStateName));
    all.back().length = kKnownCount;
    return all;
  }
  std::optional<Descent> descent() const override { return inner_.method().descent(); }

  // The loss waits in the numbers that end() sends.
  template <class T>
  void begin(NodeRound<T>& node) const {
    const double loss = node.full_gradient(node[gradient_]);
    split(loss, node[sent_][0], node[sent_][1]);
    inner_.method().begin_node(node);
  }

  template <class T>
  void step(NodeRound<T>& node, Vector<T>& gradient) const {
    inner_.method().step_node(node, gradient);
  }

  template <class T>
  void end(NodeRound<T>& node) const {
    inner_.method().end_node(node);
    Vector<T>& sent = node[sent_];
    const double first_loss = static_cast<double>(sent[0]) + static_cast<double>(sent[1]);
    Vector<T> gradient;
    const double last_loss = node.full_gradient(gradient);
    const double moved = distance(node[0], node.sent(0));
    const double per_move = moved > 0 ? 1 / moved : 0;
    sent[kRho] = static_cast<T>(std::abs(last_loss - first_loss) * per_move);
    sent[kBeta] = static_cast<T>(distance(gradient, node[gradient_]) * per_move);
    split(squared_norm(node[gradient_]), sent[kSquareHigh], sent[kSquareLow]);
  }

  template <class T>
  void server(ServerRound<T>& round) const {
    const Vector<T>& sent = round.mean(sent_);
    Vector<T>& known = round[known_];
    const double squares = static_cast<double>(sent[kSquareHigh]) + static_cast<double>(sent[kSquareLow]);
    known[kMeanRho] = sent[kRho];
    known[kMeanBeta] = sent[kBeta];
    known[kDelta] = static_cast<T>(std::sqrt(std::max(0.0, squares - squared_norm(round.mean(gradient_)))));
    known[kSteps] = static_cast<T>(round.steps);
    inner_.method().end_round(round);
  }

 private:
  Algorithm inner_;
  std::size_t gradient_, sent_, known_;  // numbers of the vectors
};

}  // namespace

Algorithm estimating(const Algorithm& algorithm) {
  return {algorithm.name, std::make_shared<Estimating>(algorithm), algorithm.tau, algorithm.centralised};
}

template <class T>
std::optional<RoundEstimates> estimates_of(const State<T>& state) {
  if (state.round == 0) return std::nullopt;
  const auto found = std::ranges::find(state.vectors, kStateName, &NamedVector<T>::name);
  if (found == state.vectors.end()) return std::nullopt;
  const Vector<T>& known = found->values;
  return RoundEstimates{known[kMeanRho], known[kMeanBeta], known[kDelta],
                        static_cast<std::uint64_t>(known[kSteps])};
}

template std::optional<RoundEstimates> estimates_of(const State<float>&);
template std::optional<RoundEstimates> estimates_of(const State<double>&);

}  // namespace mfl
