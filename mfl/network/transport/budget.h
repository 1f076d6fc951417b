// How much work a peer may cause: budgets that refill with time and with what the peer does that is useful.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace mfl {

using SteadyTime = std::chrono::steady_clock::time_point;

// A bucket of tokens. Not thread-safe.
class Budget {
 public:
  // Full at first.
  Budget(double burst, double per_second, SteadyTime now)
      : burst_(burst), rate_(per_second), left_(burst), then_(now) {}

  // False where it does not suffice; nothing is spent then.
  bool spend(double tokens, SteadyTime now) {
    refill(now);
    if (left_ < tokens) return false;
    left_ -= tokens;
    return true;
  }
  // As far as there are any.
  void drain(double tokens, SteadyTime now) {
    refill(now);
    left_ = std::max(0.0, left_ - tokens);
  }
  void earn(double tokens) { left_ = std::min(burst_, left_ + tokens); }
  double left(SteadyTime now) const {
    return std::min(burst_, left_ + rate_ * std::chrono::duration<double>(now - then_).count());
  }

 private:
  void refill(SteadyTime now) {
    left_ = left(now);
    then_ = now;
  }

  double burst_, rate_, left_;
  SteadyTime then_;
};

// How many connections an address may have open that were not yet admitted, or that ended badly: refused, cut off, or given up
// during the handshake. Beyond that its connections wait for their handshake, which is the costly part, until the budget of the
// address refills: peers that are refused again and again slow down those who share their address, but do not keep them out. An IPv6
// address counts by its network of 64 bits. Not thread-safe.
class AddressBudgets {
 public:
  static constexpr double kBurst = 50, kPerSecond = 10;

  static std::string key(const sockaddr* address);
  // Charges for a handshake. False where the budget does not suffice: it has to wait.
  bool begin(const std::string& key, SteadyTime now);
  // Returns what begin() charged: the peer was admitted.
  void admitted(const std::string& key);
  // A peer that was admitted ended badly.
  void ended_badly(const std::string& key, SteadyTime now);
  bool is_exhausted(const std::string& key, SteadyTime now) const;

 private:
  static constexpr std::size_t kMost = 10'000;
  Budget* find_or_make(const std::string& key, SteadyTime now);
  std::map<std::string, Budget> budgets_;
};

// Names that broke a limit are kept out for a while, longer each time. Not thread-safe.
class Penalties {
 public:
  static constexpr std::chrono::seconds kFirst{5}, kLongest{300}, kForgotten{900};

  // The peer broke a limit.
  void add(const std::string& name, SteadyTime now);
  // How long the name is still kept out; zero when it is not.
  std::chrono::seconds left(const std::string& name, SteadyTime now) const;

 private:
  struct Record {
    SteadyTime until;
    std::chrono::seconds next = kFirst;
  };
  static constexpr std::size_t kMost = 10'000;
  std::map<std::string, Record> records_;
};

}  // namespace mfl
