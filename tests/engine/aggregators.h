// A spec of every aggregator of the table, for tests with at least seven nodes.
#pragma once

#include <string>
#include <vector>

#include "mfl/aggregate/aggregator.h"
#include "tests/base/sample_spec.h"

namespace mfl::test {

inline std::vector<std::string> aggregator_specs() {
  std::vector<std::string> out;
  for (const AggregatorEntry& entry : aggregators()) out.push_back(sample_spec(entry));
  return out;
}

}  // namespace mfl::test
