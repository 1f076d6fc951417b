// What `mfl data info` shows.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "mfl/data/dataset.h"

namespace mfl {

struct Description {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::string storage;  // "bytes", "f32", "f64", "sparse f32" or "sparse f64"
  double scale = 1;
  double min = 0;  // the least of all scaled features; zeros that a sparse set does not store count
  double max = 0;
  double nonzero_share = 0;               // share of rows x columns
  std::size_t zero_columns = 0;           // columns that are zero in every row
  std::map<double, std::size_t> classes;  // label -> count; empty if there are more than kMostClasses labels
  double label_min = 0;
  double label_max = 0;
  double label_mean = 0;

  static constexpr std::size_t kMostClasses = 64;
};

Description describe(const Dataset& data);

}  // namespace mfl
