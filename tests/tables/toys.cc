#include "tests/tables/toys.h"

#include <algorithm>

#include "mfl/aggregate/aggregator.h"
#include "mfl/algorithm/algorithms.h"
#include "mfl/codec/codec.h"
#include "mfl/data/sources.h"
#include "mfl/model/models.h"
#include "mfl/partition/feature_skew.h"
#include "mfl/partition/partitions.h"

namespace mfl::test {
namespace {

// Some keys take names alone, without parameters.
bool takes_parameters(const std::string& key, const std::string& entry) {
  Config config;
  return set_key(config, key, entry + "()").has_value();
}

template <class Entry>
Table with_toy(std::string key, Catalog<Entry>& catalog, const std::string& copied) {
  Entry toy = *catalog.find(copied);
  std::string kind = catalog.kind();
  std::ranges::replace(kind, ' ', '-');
  toy.name = "toy-" + kind;
  toy.aliases = {"plaything-" + kind};
  toy.description = "a toy of this test";
  if (takes_parameters(key, copied))
    toy.parameters = {{.name = "strength",
                       .help = "no effect",
                       .range = {[](double x) { return x > 0; }, "> 0"},
                       .default_value = 3}};
  catalog.add(std::move(toy));
  return {std::move(key), &catalog.index(), copied};
}

Table without_runs(Table table) {
  table.runs = false;
  return table;
}

Table fitting(std::string algorithm, Table table) {
  table.algorithm = std::move(algorithm);
  return table;
}

}  // namespace

const std::vector<Table>& tables() {
  static const std::vector<Table> all = {
      without_runs(with_toy("data.source", sources(), "synthetic-fedprox")),
      with_toy("model.name", models(), "linear"),
      with_toy("algorithm.name", algorithms(), "mfl"),
      with_toy("algorithm.correction", corrections(), "control-variates"),
      with_toy("algorithm.momentum", momenta(), "reset"),
      fitting("fl", with_toy("algorithm.server_step", server_steps(), "normalised")),
      with_toy("federation.partition", partitions(), "label-sorted"),
      with_toy("federation.feature_skew", feature_skews(), "noise"),
      with_toy("federation.aggregator", aggregators(), "median"),
      with_toy("federation.codecs", codecs(), "bf16"),
  };
  return all;
}

}  // namespace mfl::test
