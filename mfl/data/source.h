// From a data spec to a training and a test set. A spec names an entry of sources(), or `memory`: the sets
// that a program has in memory (DataOptions::memory). A fleet is refused here: its rows are made node by node
// (fleet.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/data/csv.h"
#include "mfl/data/dataset.h"
#include "mfl/data/rows.h"

namespace mfl {

enum class Take {
  kFirst,   // in the order of the source
  kRandom,  // without replacement, in the order drawn; a larger count begins with the rows of a smaller one
};

struct TrainTest;

struct DataOptions {
  std::string source = "mnist";
  // Where the test set comes from (its test part if it has one, else all of it). Empty: the source's own test
  // part, or, where there is none, the rows that train leaves.
  std::string test_source;
  // How many samples. Nothing: all for train (less those of test, where one pool is shared); for test all of
  // a test part of its own, else what a number for train leaves. For plain `synthetic` test is then 5000, or
  // what train leaves if that is less. 0 for test: none.
  std::optional<std::size_t> train;
  std::optional<std::size_t> test;
  Take take = Take::kFirst;
  // Multiplies every stored feature. Nothing: 1/255 for bytes, 1 for other numbers.
  std::optional<double> scale;
  // For CSV files alone. For `drop`, `features` and `separator` other than the default, the source or the
  // test source must be one.
  CsvOptions csv = {};
  // Cross-validation: the rows are divided into this many folds, drawn by the seed, of which `fold` is the
  // test set and the others are for training. 0: none. Without train, test and test_source; a test part of
  // the source is not used.
  std::size_t folds = 0;
  std::size_t fold = 0;
  std::uint64_t seed = 0;                  // for take = random, folds and the synthetic set
  std::size_t max_columns = kMostColumns;  // more are kBadData
  // The training and the test part of `memory`; outlives the call. Null: there is none.
  const TrainTest* memory = nullptr;
};

struct TrainTest {
  Dataset train;
  // As many columns as train, and rows that train does not hold unless test_source says so.
  std::optional<Dataset> test;
};

// Whether a spec names the user's own files (csv, libsvm, npy) or data in memory, in contrast to sets of the
// paper's kind (mnist, idx) and sets that mfl makes.
bool is_own_data(std::string_view source);

struct TrainTestRows {
  SomeRows train;
  std::optional<SomeRows> test;
};

// Opens what the options name. Rows of plain IDX files, NPY files and synthetic sets are read on demand;
// those of other formats are read whole here and held. kBadConfig for a bad spec or option, kBadData for
// files and for more samples than there are. Numbers in rows that are never requested are not checked.
Result<TrainTestRows> open_rows(const DataOptions& options);

// Reads all rows of both sets.
Result<TrainTest> load(const DataOptions& options);

}  // namespace mfl
