// Turns the measurements of a real federation into [devices] and [network] of a simulated one.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "mfl/base/result.h"
#include "mfl/config/config.h"

namespace mfl {

// One node's answer in one round.
struct MeasuredAnswer {
  std::string node;
  std::uint64_t steps = 0, samples = 0;
  double compute_seconds = 0;  // for those steps
  std::uint64_t bytes_down = 0, bytes_up = 0;
  double down_seconds = 0, up_seconds = 0;  // for those bytes, latency included
  double round_trip_seconds = 0;            // of a message without payload
};

struct MeasuredFederation {
  std::uint64_t asked = 0;  // answers that rounds waited for, including those that never arrived
  std::span<const MeasuredAnswer> answers;
};

struct MeasuredModel {
  DevicesConfig devices;
  NetworkConfig network;
};

// A node's figures are averages over all its answers. Across nodes they become lognormal(MEDIAN, SIGMA), where SIGMA is the
// standard deviation of the logarithms, or a single number for one node or equal nodes. What took no time becomes "none".
// Dropout is the share of answers that never arrived. Numbers have four significant digits. No answers: kBadData.
Result<MeasuredModel> model_of(const MeasuredFederation& measured);

// The two tables as TOML, ready for an experiment file.
std::string measured_toml(const MeasuredModel& model);

}  // namespace mfl
