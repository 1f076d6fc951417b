#include "mfl/data/preprocessing.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

namespace mfl {
namespace {

constexpr std::array<std::string_view, 3> kStandardiseNames = {"none", "scale", "full"};

double mean_of(const Preprocessing& done, std::size_t column) {
  return done.means.empty() ? 0 : done.means[column];
}

double deviation_of(const Preprocessing& done, std::size_t column) {
  return done.deviations.empty() ? 1 : done.deviations[column];
}

template <class X>
DenseRows<double> dense(const Dataset& data, const DenseRows<X>& rows, const Preprocessing& done,
                        std::size_t columns) {
  DenseRows<double> out;
  out.values.reserve(data.rows * columns);
  const X* stored = rows.values.data();
  for (std::size_t r = 0; r < data.rows; ++r, stored += data.columns) {
    for (std::size_t j = 0; j < data.columns; ++j)
      out.values.push_back((data.scale * static_cast<double>(stored[j]) - mean_of(done, j)) /
                           deviation_of(done, j));
    if (columns > data.columns) out.values.push_back(1);
  }
  return out;
}

template <class X>
SparseRows<double> sparse(const Dataset& data, const SparseRows<X>& rows, const Preprocessing& done,
                          std::size_t columns) {
  SparseRows<double> out;
  out.starts.push_back(0);
  for (std::size_t r = 0; r < data.rows; ++r) {
    for (std::uint64_t i = rows.starts[r]; i < rows.starts[r + 1]; ++i) {
      out.columns.push_back(rows.columns[i]);
      out.values.push_back(data.scale * static_cast<double>(rows.values[i]) /
                           deviation_of(done, rows.columns[i]));
    }
    if (columns > data.columns) {
      out.columns.push_back(static_cast<std::uint32_t>(data.columns));
      out.values.push_back(1);
    }
    out.starts.push_back(out.values.size());
  }
  return out;
}

Result<void> check_finite(const Dataset& data) {
  const bool finite = visit_owned(
      [](const auto& rows) {
        return std::ranges::all_of(rows.values, [](auto x) { return std::isfinite(static_cast<double>(x)); });
      },
      data.features);
  if (finite) return {};
  return fail(ErrorCode::kBadData, "a feature is too large to be standardised",
              "change its unit, or leave the column out");
}

}  // namespace

std::string_view standardise_name(Standardise standardise) {
  return kStandardiseNames[static_cast<std::size_t>(standardise)];
}

std::optional<Standardise> parse_standardise(std::string_view name) {
  const auto found = std::ranges::find(kStandardiseNames, name);
  if (found == kStandardiseNames.end()) return std::nullopt;
  return static_cast<Standardise>(found - kStandardiseNames.begin());
}

bool is_measured(const Preprocessing& preprocessing) {
  return preprocessing.standardise == Standardise::kNone || !preprocessing.deviations.empty();
}

Result<Dataset> preprocessed(Dataset data, const Preprocessing& done, bool constant_column) {
  if (done.standardise == Standardise::kNone && !constant_column) return data;
  if (done.standardise == Standardise::kFull && is_sparse(data))
    return fail(ErrorCode::kBadConfig,
                "standardise = full subtracts means, which would fill the zeros of sparse rows",
                "use standardise = scale, which divides by the deviations alone");
  data = owned(std::move(data));
  const std::size_t columns = data.columns + (constant_column ? 1 : 0);
  Features features = visit_owned(
      [&](const auto& rows) -> Features {
        if constexpr (requires { rows.starts; })
          return sparse(data, rows, done, columns);
        else
          return dense(data, rows, done, columns);
      },
      data.features);
  data.features = std::move(features);
  data.columns = columns;
  data.scale = 1;
  MFL_CHECK(check_finite(data));
  return data;
}

}  // namespace mfl
