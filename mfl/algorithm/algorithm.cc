#include "mfl/algorithm/algorithm.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace mfl {

VectorFlow averaged(std::string name) {
  return {.name = std::move(name), .in_state = true, .down = true, .at_node = true, .up = true};
}

VectorFlow broadcast(std::string name) { return {.name = std::move(name), .in_state = true, .down = true}; }

VectorFlow at_server(std::string name) { return {.name = std::move(name), .in_state = true}; }

VectorFlow at_node(std::string name) { return {.name = std::move(name), .at_node = true}; }

VectorFlow sent_up(std::string name, Weighting weighting) {
  return {.name = std::move(name), .at_node = true, .up = true, .weighting = weighting};
}

VectorFlow kept(std::string name) { return {.name = std::move(name), .at_node = true, .kept = true}; }

VectorLayout::VectorLayout(std::vector<VectorFlow> vectors)
    : vectors_(std::move(vectors)),
      in_state_(vectors_.size()),
      of_node_(vectors_.size()),
      sent_up_(vectors_.size()),
      starts_(vectors_.size()) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument("an algorithm: " + what); };
  for (std::size_t v = 0; v < vectors_.size(); ++v) {
    const std::string& start = vectors_[v].start;
    if (start.empty()) {
      if (vectors_[v].down) starts_[v] = v;
      continue;
    }
    const auto from = std::ranges::find(vectors_, start, &VectorFlow::name);
    if (from == vectors_.end() || !from->down || from->length != vectors_[v].length)
      refuse(vectors_[v].name + " starts as " + start + ", which is not sent down");
    starts_[v] = static_cast<std::size_t>(from - vectors_.begin());
  }
  if (vectors_.empty() || vectors_[0].name != "w" || !vectors_[0].in_state || !vectors_[0].at_node ||
      !starts_[0] || vectors_[0].length != 0)
    refuse("its first vector is w, which is in the State, and trained at the nodes from what is sent down");
  for (std::size_t v = 0; v < vectors_.size(); ++v) {
    const VectorFlow& flow = vectors_[v];
    if (flow.name.empty()) refuse("a vector has no name");
    if (std::ranges::count(vectors_, flow.name, &VectorFlow::name) > 1)
      refuse("it has two vectors " + flow.name);
    if (!flow.in_state && !flow.at_node) refuse(flow.name + " is neither in the State nor at a node");
    if (flow.down && !flow.in_state) refuse(flow.name + " is sent down, and not in the State");
    if ((flow.up || flow.kept) && !flow.at_node) refuse(flow.name + " is sent up or kept, and not at a node");
    if (flow.kept && starts_[v]) refuse(flow.name + " starts as it was sent and as it was kept");
    if (flow.up_every == 0) refuse(flow.name + " is sent up in every 0 rounds");
    if (flow.up && !up_.empty() && vectors_[up_.back()].up_every > 1 &&
        flow.up_every != vectors_[up_.back()].up_every)
      refuse(flow.name + " is sent up more often than a vector before it");
    const auto put = [&](bool member, std::vector<std::size_t>& list, std::vector<std::size_t>* places) {
      if (!member) return;
      if (places != nullptr) (*places)[v] = list.size();
      list.push_back(v);
    };
    put(flow.in_state, state_, &in_state_);
    put(flow.down, down_, nullptr);
    put(flow.at_node, at_node_, &of_node_);
    put(flow.up, up_, &sent_up_);
    put(flow.kept, kept_, nullptr);
  }
}

VectorLayout VectorLayout::without_rare() const {
  std::vector<VectorFlow> vectors = vectors_;
  for (VectorFlow& flow : vectors) flow.up = flow.up && flow.up_every == 1;
  return VectorLayout(std::move(vectors));
}

std::size_t VectorLayout::numbers_down(std::size_t parameters) const {
  std::size_t numbers = 0;
  for (const std::size_t v : down_) numbers += length(v, parameters);
  return numbers;
}

std::size_t VectorLayout::numbers_up(std::size_t parameters) const {
  std::size_t numbers = 0;
  for (const std::size_t v : up_) numbers += length(v, parameters);
  return numbers;
}

template <class T>
void ServerRound<T>::take_means() {
  for (const std::size_t v : layout.up())
    if (layout[v].in_state) std::swap((*this)[v], mean(v));
}

Algorithm::Algorithm(std::string algorithm_name, std::shared_ptr<const Method> method,
                     std::uint64_t round_steps, bool in_one_place)
    : name(std::move(algorithm_name)),
      tau(round_steps),
      centralised(in_one_place),
      method_(std::move(method)),
      layout_(std::make_shared<const VectorLayout>(method_->vectors())),
      between_(std::make_shared<const VectorLayout>(layout_->without_rare())) {}

template struct ServerRound<float>;
template struct ServerRound<double>;

}  // namespace mfl
