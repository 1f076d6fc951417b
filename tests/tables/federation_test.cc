// Every entry of every table, toys included, in a federation over loopback: the digest is that of the simulation.
#include <gtest/gtest.h>

#include "mfl/config/entries.h"
#include "mfl/record/store.h"
#include "mfl/trained/model_file.h"
#include "tests/tables/served.h"
#include "tests/tables/small_run.h"

namespace mfl {
namespace {

using test::served;
using test::simulated;
using test::table_entries;
using test::TableEntry;

using Federations = test::SmallRuns;

// Of the last run of each.
void expect_same_model(const std::filesystem::path& served_store, const std::filesystem::path& store) {
  const auto model_in = [](const std::filesystem::path& path) {
    const Store opened = Store::open(path, {.read_only = true}).value();
    return opened.model(opened.get("latest")->id).value().value();
  };
  const auto usable = find_model("latest", served_store);
  EXPECT_TRUE(usable) << usable.error().text();
  const FinalModel a = model_in(served_store), b = model_in(store);
  EXPECT_EQ(a.tensors, b.tensors);
  EXPECT_EQ(a.weights, b.weights);
}

// Entries whose runs have nodes.
std::vector<TableEntry> federated_entries() {
  std::vector<TableEntry> out;
  for (const TableEntry& one : table_entries()) {
    Config config = test::base_of(*one.table);
    // An entry that takes the name of a file is refused here, and is no algorithm.
    const bool is_set = set_key(config, one.table->key, test::sample_spec(*one.entry)).has_value();
    if (!is_set || !entry_of(config.algorithm).centralised) out.push_back(one);
  }
  return out;
}

class EntryFederation : public Federations, public ::testing::WithParamInterface<TableEntry> {};

TEST_P(EntryFederation, GivesTheDigestAndModelOfTheSimulation) {
  const Config config = with(*GetParam().table, *GetParam().entry);
  const std::filesystem::path own = folder() / "federation";
  EXPECT_EQ(served(config, own), simulated(config, folder()));
  expect_same_model(own / "state" / "runs.db", folder() / "runs.db");
}

INSTANTIATE_TEST_SUITE_P(Tables, EntryFederation, ::testing::ValuesIn(federated_entries()),
                         ::testing::PrintToStringParamName());

TEST_F(Federations, StartFromAModelAsASimulationDoes) {
  for (const char* name : {"svm", "softmax"}) {
    Config config;
    config.data.source = fmt::format("synthetic:{}x12", kRows);
    config.data.test = 0;
    config.federation.nodes = 2;
    config.model.name = name;
    config.algorithm.tau = 3;
    config.run.steps = 12;
    const std::string first = simulated(config, folder());
    const std::filesystem::path file = folder() / fmt::format("{}.npz", name);
    ASSERT_TRUE(write_model_file(file, find_model("latest", folder() / "runs.db").value()));
    config.run.init = file.string();
    const std::string second = simulated(config, folder());
    EXPECT_NE(second, first);
    EXPECT_EQ(served(config, folder() / name), second);
  }
}

}  // namespace
}  // namespace mfl
