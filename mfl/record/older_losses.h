// Internal to mfl/record: the training losses of stores up to version 9, which had one column for what is three since version 10.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mfl {

// The tables with training losses.
std::span<const std::string_view> tables_with_losses();

// SQL for temporary views `prefix` + table over the tables of `schema`, a store of that version, with the columns of version 10. The
// configuration of a run tells what its losses are over.
std::string views_of_older_losses(std::int64_t version, std::string_view schema, std::string_view prefix);

}  // namespace mfl
