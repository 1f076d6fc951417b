// A test set and what evaluates models on it, for whoever trains on data that it never sees.
//
//   MFL_TRY(const TestBench bench, load_test_bench(experiment, "csv:test.csv", schema));
//   const TestRow row = bench.test(number_bytes(state.w()), false);
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "mfl/experiment/experiment.h"
#include "mfl/federation/round_log.h"

namespace mfl {

// Copies share the test set.
struct TestBench {
  Schema schema;
  bool has_accuracy = false;
  // Of the weights with which the bytes begin, in the experiment's precision; in detail: with
  // RunSummary::test_metrics. Thread-safe.
  std::function<TestRow(std::string_view weights, bool in_detail)> test;
};

// Reads the data that `spec` names, whatever data the experiment has, as data of `schema`, whose open parts
// it completes. What the experiment measures of training data and the schema does not have is measured of the
// test set.
Result<TestBench> load_test_bench(Experiment experiment, const std::string& spec, const Schema& schema);

}  // namespace mfl
