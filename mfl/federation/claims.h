// What nodes say about their data before the first round, compared: one node must not decide means, deviations and step size of all.
//
// A column of a node is an outlier if its mean is farther from the median of the nodes' means than 100 times the spread of that
// column, if its deviation is more than 100 times that spread, or if its values are less than 1/256 of the usual size. The spread is the
// median of the nodes' deviations. Where a column is mostly zero at the median node, which deviations of other nodes may well
// exceed, it is at least a tenth of the median spread of all columns, and all of that where the column is constant there. A smoothness, or the size of
// initial weights, is an outlier beyond 100 times or below 1/100 of the median. Of two nodes nobody knows which is right: there
// the smaller one is the usual one, and the factor 10,000.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/aggregate/column_sums.h"
#include "mfl/data/schema.h"

namespace mfl {

// What happens to a node whose claims are far from those of the others.
enum class OnOutlier {
  kRefuse,   // no first round while it is connected
  kExclude,  // it takes no part in the run
  kWarn,
};
std::optional<OnOutlier> parse_on_outlier(std::string_view name);

struct Outlier {
  std::string node;  // empty: one of two, and nobody knows which
  std::string text;  // for people: names node, column and both numbers
};

// Against each other, each node at most once, for the column that is farthest from the usual. No pointer is null.
std::vector<Outlier> column_outliers(const std::map<std::string, const ColumnMoments*>& nodes,
                                     const Schema& schema);
// `what` is "smoothness of the loss".
std::vector<Outlier> number_outliers(const std::map<std::string, double>& nodes, std::string_view what);
// A node that comes later, against what was settled. Means may be empty.
std::optional<std::string> late_outlier(const std::string& node, const ColumnMoments& columns,
                                        const Preprocessing& settled, const Schema& schema);

}  // namespace mfl
