// The tables of things that are chosen by name, each with a toy that this program adds to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/catalog.h"
#include "mfl/config/config.h"
#include "mfl/config/config_keys.h"

namespace mfl::test {

struct Table {
  std::string key;                                  // "federation.partition", which names an entry
  const CatalogIndex* index;                        // of the entries, the toy last
  std::string copied;                               // the entry that the toy does the same as
  std::string algorithm = Config{}.algorithm.name;  // that all entries fit
  bool runs = true;  // whether an experiment can run with each entry: data sources need files
};

// An experiment that all entries of the table fit.
inline Config base_of(const Table& table) {
  Config config;
  config.algorithm.name = table.algorithm;
  return config;
}

// All of them. A new table is one line in toys.cc.
const std::vector<Table>& tables();

// An external model needs a trainer: tests/external runs it.
inline bool needs_trainer(const CatalogEntry& entry) { return entry.name == "external"; }

inline const CatalogEntry& toy_of(const Table& table) { return *table.index->entries().back(); }

// The key of the table as config_keys() has it.
inline const Key& key_of(const Table& table) {
  const std::size_t dot = table.key.find('.');
  return **find_key(std::string_view(table.key).substr(0, dot), std::string_view(table.key).substr(dot + 1));
}

}  // namespace mfl::test
