#include "mfl/federation/coordinated_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mfl/base/json.h"

namespace mfl {

CoordinatedRun::CoordinatedRun(CoordinatorOptions its_options, RunShapeOptions shape_options,
                               RoundLog& its_log)
    : options(std::move(its_options)),
      log(its_log),
      shape(std::move(shape_options)),
      members({options.nodes, options.min_available_nodes, options.quorum, options.round_deadline,
               options.excluded}),
      report(options.warnings),
      ended(options.ended_status),
      digest(options.ended_digest),
      schema_kept(options.prepared.has_value()),
      eta(options.prepared ? options.prepared->eta : 0) {}

void CoordinatedRun::stop_with(Error error) {
  report.set_trouble(error.text());
  failure = std::move(error);
}

std::string CoordinatedRun::kept_schema() const {
  const auto& excluded = members.excluded();
  const bool some_measured = !measured.empty() && measured.size() < options.nodes;
  std::string schema = schema_json(shape.schema());
  if (excluded.empty() && !some_measured) return schema;
  Json out = Json::parse(schema).value();
  if (some_measured) out[kMeasuredBy] = measured;
  for (const auto& [node, why] : excluded) out[kExcluded][node] = why;
  return out.dump();
}

std::string some_of(std::span<const std::string> names) {
  constexpr std::size_t kMost = 3;
  const auto named = names.first(std::min(kMost, names.size()));
  return names.size() <= kMost ? fmt::format("{}", fmt::join(named, ", "))
                               : fmt::format("{} and {} more", fmt::join(named, ", "), names.size() - kMost);
}

}  // namespace mfl
