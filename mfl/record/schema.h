// Internal to mfl/record: what a store file looks like, and whether a file is one.
#pragma once

#include "mfl/record/sqlite.h"

namespace mfl {

inline constexpr std::int64_t kApplicationId = 0x4d464c31;  // "MFL1"
inline constexpr std::int64_t kSchemaVersion = 1;

enum class StoreKind { kStore, kEmpty };

// A store of this version, or an empty database. Anything else (foreign, newer, tables missing) is an error.
// Changes nothing.
Result<StoreKind> identify(const Database& database);

// Makes an empty database a store. Harmless when another process does so at the same time.
Result<void> create_schema(const Database& database);

}  // namespace mfl
