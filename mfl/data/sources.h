// The table of data sources: mnist, csv:FILE, npy:DIR and the others, and what a program adds before it reads
// a configuration.
//
//   sources().add({{.name = "squares", .text = "ROWS", .description = "points of y = x^2"}, squares});
//   options.source = "squares:100";                  // DataOptions
//   MFL_TRY(const TrainTest data, load(options));
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mfl/base/catalog.h"
#include "mfl/base/result.h"
#include "mfl/data/rows.h"
#include "mfl/data/source.h"

namespace mfl {

// A whole source, opened.
struct SourceParts {
  std::shared_ptr<RowSource> pool;            // the training part, or all rows where there is no test part
  std::shared_ptr<RowSource> test = nullptr;  // the test part; null: there is none
  // How many of the pool are for testing where options do not say; 0: those that training leaves.
  std::size_t test_rows = 0;
};

struct SourceEntry : CatalogEntry {
  // Takes from the options `csv`, `seed`, `max_columns` and `memory` alone: which rows are used, and their
  // scale, is up to the caller. Features may be read on demand, or be in memory (rows_in_memory). Empty:
  // there are no rows to open, nodes make their own.
  std::function<Result<SourceParts>(const ParameterValues& values, const DataOptions& options)> open;
  bool own_data = false;  // is_own_data()
  // Labels are whole numbers from 0, which a model of two classes tells apart as even and odd.
  bool digits = false;
  bool csv_options = false;  // it takes DataOptions::csv
};

// All sources of the process but `memory`, whose rows no user can name.
Catalog<SourceEntry>& sources();

// parse_spec on sources(), with `memory`.
Result<Spec<SourceEntry>> parse_source(std::string_view spec);
// The entry that a spec begins with the name of; null: none.
const SourceEntry* find_source(std::string_view spec);
// A spec as configurations have it: what follows the name stays as it is written. Errors as those of
// parse_source().
Result<std::string> source_text(std::string_view spec);

}  // namespace mfl

// Example: a set that is made in memory.
//
//   Result<SourceParts> squares(const ParameterValues& values, const DataOptions&) {
//     MFL_TRY(Dataset data, make_squares(values.text()));
//     return SourceParts{rows_in_memory(std::move(data))};
//   }
