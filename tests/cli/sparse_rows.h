// LIBSVM text over 20,000 features, of which the middle third is in no row and 4,096 neighbours and more are zero everywhere.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>

namespace mfl::test {

inline constexpr int kSparseColumns = 20'000;

// Rows [first, end), each with the same text whatever the range. Every row has the last feature, so that every part of the rows is as
// wide as the whole.
inline std::string sparse_rows(int first, int end) {
  constexpr int kThird = kSparseColumns / 3, kStep = 700;
  std::string text;
  for (int row = first; row < end; ++row) {
    std::mt19937_64 random(static_cast<std::uint64_t>(row));
    text += row % 2 == 0 ? "1" : "-1";
    for (int index = 1 + static_cast<int>(random() % kStep); index < kSparseColumns;
         index += 1 + static_cast<int>(random() % kStep))
      if (index < kThird || index > 2 * kThird)
        text +=
            fmt::format(" {}:{}", index, static_cast<double>(random() % 100) / 64 - (row % 2 == 0 ? 0.2 : 1));
    text += fmt::format(" {}:0.5\n", kSparseColumns);
  }
  return text;
}

}  // namespace mfl::test
