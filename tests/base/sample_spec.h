// A spec of an entry with a value for every parameter that needs one, for tests that take each entry of a table.
#pragma once

#include <string>

#include "mfl/base/catalog.h"

namespace mfl::test {

// `text` is for an entry that takes one.
inline std::string sample_spec(const CatalogEntry& entry, const std::string& text = {}) {
  if (!entry.text.empty()) return entry.name + ":" + text;
  std::string values;
  for (const Parameter& parameter : entry.parameters) {
    if (parameter.default_value || parameter.optional) continue;
    const std::string value = parameter.range.holds(2) ? "2" : "0.3";
    values += (values.empty() ? "" : ", ") + parameter.name + "=" + value;
  }
  return values.empty() ? entry.name : entry.name + "(" + values + ")";
}

}  // namespace mfl::test
