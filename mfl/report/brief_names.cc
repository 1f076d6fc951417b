#include "mfl/report/brief_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mfl {
namespace {

// "fedadam(beta1=0.9, epsilon=0.001) momentum=reset" has a base, two parameters and a rest.
struct SpecParts {
  std::string base, rest;
  std::map<std::string, std::string> parameters;  // "beta1=0.9" by its name
};

SpecParts parts_of(std::string_view algorithm) {
  const std::size_t end = std::min(algorithm.find_first_of("( "), algorithm.size());
  SpecParts parts{.base = std::string(algorithm.substr(0, end)), .rest = {}, .parameters = {}};
  algorithm.remove_prefix(end);
  if (const std::size_t close = algorithm.find(')');
      algorithm.starts_with('(') && close != std::string_view::npos) {
    for (std::string_view list = algorithm.substr(1, close - 1); !list.empty();) {
      const std::size_t comma = std::min(list.find(", "), list.size());
      const std::string_view one = list.substr(0, comma);
      parts.parameters.emplace(one.substr(0, one.find('=')), one);
      list.remove_prefix(std::min(comma + 2, list.size()));
    }
    algorithm.remove_prefix(close + 1);
  }
  parts.rest = algorithm;
  return parts;
}

}  // namespace

std::vector<std::string> brief_algorithms(std::span<const std::string> algorithms) {
  std::vector<SpecParts> all;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> values;  // by algorithm and parameter
  for (const std::string& algorithm : algorithms) {
    all.push_back(parts_of(algorithm));
    for (const auto& [name, text] : all.back().parameters) values[{all.back().base, name}].insert(text);
  }
  std::vector<std::string> out;
  for (const SpecParts& parts : all) {
    std::vector<std::string> shown;
    for (const auto& [name, text] : parts.parameters)
      if (values.at({parts.base, name}).size() > 1) shown.push_back(text);
    const std::string list = shown.empty() ? "" : fmt::format("({})", fmt::join(shown, ", "));
    out.push_back(parts.base + list + parts.rest);
  }
  return out;
}

bool is_algorithm(std::string_view algorithm, std::string_view name) {
  return algorithm == name || (algorithm.starts_with(name) &&
                               algorithm.substr(name.size()).starts_with('(') && algorithm.ends_with(')'));
}

}  // namespace mfl
