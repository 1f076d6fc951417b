// A small experiment with any entry of any table.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "mfl/base/files.h"
#include "tests/base/sample_spec.h"
#include "tests/tables/toys.h"

namespace mfl::test {

// One entry of one table, as the parameter of a test.
struct TableEntry {
  const Table* table;
  const CatalogEntry* entry;
};

// "partition_label_sorted", also the name of its test.
inline void PrintTo(const TableEntry& one, std::ostream* out) {
  std::string name = one.table->index->kind() + "_" + one.entry->name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  *out << name;
}

// Every entry of every table that runs, toys included, that needs no trainer. GoogleTest asks for parameters when main() has
// started, also for a list of the tests, so the toys are among them.
inline std::vector<TableEntry> table_entries() {
  std::vector<TableEntry> out;
  for (const Table& table : tables())
    for (const CatalogEntry* entry : table.index->entries())
      if (table.runs && !needs_trainer(*entry)) out.push_back({&table, entry});
  return out;
}

class SmallRuns : public ::testing::Test {
 protected:
  static constexpr std::size_t kNodes = 7, kRows = 150;  // the fewest nodes that every entry takes

  // Node i of the partition file, and of column "node" of the CSV file, holds rows i, i + 7, i + 14 and so on.
  void SetUp() override {
    std::ofstream out(file_), csv(csv_);
    for (std::size_t i = 0; i < kNodes; ++i, out << '\n')
      for (std::size_t row = i; row < kRows; row += kNodes) out << row << ' ';
    csv << "a,node,b,c,label\n";
    for (std::size_t row = 0; row < kRows; ++row)
      csv << fmt::format("{},site {},{},{},{}\n", row % 11, row % kNodes, row % 5, row * row % 13,
                         row % 3 % 2);
  }

  // Four rounds on the serial engine.
  Config with(const Table& table, const CatalogEntry& entry) const {
    Config config = base_of(table);
    config.data.source = fmt::format("synthetic:{}x16", kRows);
    config.data.test = 0;
    config.federation.nodes = kNodes;
    config.algorithm.eta = 0.02;
    config.algorithm.tau = 3;
    config.run.steps = 12;
    config.run.engine = "serial";
    if (entry.name == "users") config.data.source = fmt::format("synthetic-fedprox(1, 1, users={})", kNodes);
    if (entry.text == "COLUMN") {
      config.data.source = "csv:" + csv_.string();
      config.data.train = kRows;
    }
    const auto set = set_key(config, table.key, sample_spec(entry, text_for(entry)));
    EXPECT_TRUE(set) << set.error().text();
    return config;
  }

  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  // For an entry that takes a text.
  std::string text_for(const CatalogEntry& entry) const {
    if (entry.text == "N,N,...") return "10,10,20,20,30,30,30";
    if (entry.text == "COLUMN") return "node";
    return file_.string();
  }

  TempFolder folder_ = *TempFolder::make();
  std::filesystem::path file_ = folder_.path() / "nodes.txt", csv_ = folder_.path() / "rows.csv";
};

}  // namespace mfl::test
