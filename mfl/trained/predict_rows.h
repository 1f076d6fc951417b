// Predictions for all rows of some data, as CSV.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/trained/predictor.h"
#include "mfl/trained/row_blocks.h"

namespace mfl {

// Takes the text of the next lines; an error ends the work.
using TextSink = std::function<Result<void>(std::string_view text)>;

// "label,probability_no,probability_yes\n", after the name of the column of identifiers, if there is one.
std::string prediction_header(const Predictor& predictor, const std::string& id = {});

// A line per row in the order of the rows: its identifier, if rows have them (RowBlocks), the class, and the values; numbers have as many digits as bring back the same bits. The
// work is shared among `threads` threads, at least one, and `sink` is called by one of them at a time. Returns the number of rows.
Result<std::uint64_t> predict_rows(const Predictor& predictor, RowBlocks& blocks, unsigned threads,
                                   const TextSink& sink);

}  // namespace mfl
