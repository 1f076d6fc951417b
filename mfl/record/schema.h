// Internal to mfl/record: the tables of a store, and whether a file is a store.
#pragma once

#include "mfl/record/sqlite.h"

namespace mfl {

inline constexpr std::int64_t kApplicationId = 0x4d464c31;  // "MFL1"
inline constexpr std::int64_t kSchemaVersion =
    10;  // 2: virtual time; 3: warnings, data schema; 4: drops; 5: metrics of the test set; 6: nodes; 7: models; 8: choices of tau;
         // 9: digests and metrics of nodes; 10: three training losses, dates of nodes' rounds

enum class StoreKind { kStore, kOlder, kEmpty };

// A store of this version or an older one, or an empty database. Anything else (foreign, newer, tables missing) is an
// error. Changes nothing.
Result<StoreKind> identify(const Database& database);

// Turns an empty database into a store. Harmless if another process does so at the same time.
Result<void> create_schema(const Database& database);

// Upgrades an older store to this version and keeps its contents. Harmless if another process does so at the same time.
Result<void> migrate_schema(const Database& database);

// Lets this connection read an older store as if it had this version. Does not change the file.
Result<void> view_as_current(const Database& database);

}  // namespace mfl
