// A spec of every aggregator of the table, for tests with at least seven nodes.
#pragma once

#include <string>
#include <vector>

#include "mfl/aggregate/aggregator.h"

namespace mfl::testing {

inline std::vector<std::string> aggregator_specs() {
  std::vector<std::string> out;
  for (const AggregatorEntry& entry : aggregators()) {
    std::string values;
    for (const Parameter& parameter : entry.parameters) {
      if (parameter.default_value || parameter.optional) continue;
      const std::string value = parameter.range.holds(2) ? "2" : "0.3";
      values += (values.empty() ? "" : ", ") + parameter.name + "=" + value;
    }
    out.push_back(values.empty() ? entry.name : entry.name + "(" + values + ")");
  }
  return out;
}

}  // namespace mfl::testing
