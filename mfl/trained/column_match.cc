#include "mfl/trained/column_match.h"

#include <fmt/format.h>

#include <unordered_map>

#include "mfl/base/nearest.h"
#include "mfl/data/text.h"

namespace mfl {

Result<std::vector<std::size_t>> places_by_name(const std::string& where,
                                                const std::vector<std::string>& names, const Schema& schema) {
  constexpr std::size_t kShown = 5;
  std::unordered_map<std::string_view, std::vector<std::size_t>> known;
  for (std::size_t i = 0; i < names.size(); ++i) known[names[i]].push_back(i);
  std::vector<std::size_t> places;
  std::vector<std::string> missing;
  for (const std::string& feature : schema.features) {
    const auto found = known.find(feature);
    if (found == known.end()) {
      missing.push_back(excerpt(feature));
      continue;
    }
    if (found->second.size() > 1)
      return fail(ErrorCode::kBadData, fmt::format("{} has two columns {}", where, excerpt(feature)),
                  "rename or delete one of them");
    places.push_back(found->second.front());
  }
  if (missing.empty()) return places;
  const std::size_t count = missing.size();
  if (count > kShown) {
    missing.resize(kShown);
    missing.push_back(fmt::format("... ({} in all)", count));
  }
  return fail(ErrorCode::kBadData,
              fmt::format("{} lacks {} that the model needs: {}", where, count == 1 ? "a column" : "columns",
                          fmt::join(missing, ", ")),
              "give all columns that the model was trained on; others are ignored");
}

}  // namespace mfl
