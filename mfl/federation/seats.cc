#include "mfl/federation/seats.h"

namespace mfl {

void Seats::add(const std::string& node, std::uint64_t weight) {
  seats_[node] = {weight, Seat::State::kAwaited};
  ++counts_[static_cast<std::size_t>(Seat::State::kAwaited)];
}

void Seats::clear() {
  seats_.clear();
  counts_ = {};
}

const Seat* Seats::find(const std::string& node) const {
  const auto found = seats_.find(node);
  return found == seats_.end() ? nullptr : &found->second;
}

void Seats::put(const std::string& node, Seat::State state) {
  Seat& seat = seats_.at(node);
  --counts_[static_cast<std::size_t>(seat.state)];
  ++counts_[static_cast<std::size_t>(state)];
  seat.state = state;
}

std::pair<std::string, double> Seats::heaviest() const {
  const auto* heaviest = &*seats_.begin();
  double all = 0;
  for (const auto& seat : seats_) {
    all += static_cast<double>(seat.second.weight);
    if (seat.second.weight > heaviest->second.weight) heaviest = &seat;
  }
  return {heaviest->first, static_cast<double>(heaviest->second.weight) / all};
}

std::vector<std::string> Seats::names(Seat::State state) const {
  std::vector<std::string> out;
  for (const auto& [node, seat] : seats_)
    if (seat.state == state) out.push_back(node);
  return out;
}

}  // namespace mfl
