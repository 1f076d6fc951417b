// Every entry of every table, toys included, in a federation over loopback: the digest is that of the simulation.
#include <gtest/gtest.h>

#include "tests/tables/served.h"
#include "tests/tables/small_run.h"

namespace mfl {
namespace {

using testing::served;
using testing::simulated;
using testing::Table;
using testing::tables;

using Federations = testing::SmallRuns;

TEST_F(Federations, OfEveryEntryGiveTheDigestOfTheSimulation) {
  for (const Table& table : tables())
    for (const CatalogEntry* entry : table.index->entries()) {
      SCOPED_TRACE(table.key + " " + entry->name);
      const Config config = with(table, *entry);
      if (is_centralised(config.algorithm)) continue;  // has no nodes
      EXPECT_EQ(served(config, folder() / (table.index->kind() + "-" + entry->name)),
                simulated(config, folder()));
    }
}

}  // namespace
}  // namespace mfl
