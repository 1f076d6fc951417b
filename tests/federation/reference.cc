#include "reference.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>
#include <utility>

#include "mfl/aggregate/column_sums.h"
#include "mfl/aggregate/exact_mean.h"
#include "mfl/base/rng.h"
#include "mfl/data/dataset.h"
#include "mfl/federation/payload.h"

namespace mfl::test {
namespace {

Dataset rows_of(std::size_t node) {
  Stream stream(7, Purpose::kSynthetic, node);
  Dataset data;
  data.rows = 3 + 2 * node;
  data.columns = kColumns;
  DenseRows<float> rows;
  for (std::size_t r = 0; r < data.rows; ++r) {
    for (std::size_t c = 0; c < kColumns; ++c) rows.values.push_back(static_cast<float>(stream.normal()));
    data.labels.push_back(stream.next() % 2 == 0 ? 1 : -1);
  }
  data.features = std::move(rows);
  return data;
}

ColumnSums sums_of(std::size_t node) {
  ColumnSums sums(kColumns, 0);
  if (const auto added = sums.add(rows_of(node), {}); !added) throw std::logic_error(added.error().text());
  return sums;
}

Federation<float> shard_of(std::size_t node) {
  Dataset data = rows_of(node);
  const std::vector<double> targets = data.labels;
  const std::size_t count = data.rows;
  return {linear_model<float>(Loss::kSquaredHinge, kColumns),
          Samples<float>(std::move(data), targets),
          {{0, count}},
          std::nullopt};
}

}  // namespace

struct Reference::Parts {
  Parts(const Algorithm& of, std::uint64_t all_steps) : algorithm(of), steps(all_steps) {}

  Algorithm algorithm;
  std::uint64_t steps;
  std::deque<Federation<float>> shards;
  std::vector<std::unique_ptr<Trainer>> trainers;
  std::map<std::pair<std::string, std::vector<std::string>>, std::string> known;
  std::string final_digest;

  State<float> step_on(const State<float>& before, const std::vector<std::size_t>& nodes) {
    const Assignment task{kRun,
                          {},
                          next_round_steps(algorithm, before.step, steps),
                          {},
                          blocks_of(algorithm.vectors(), algorithm.vectors().down(), kColumns, "f32"),
                          0,
                          std::make_shared<const std::string>(down_payload(algorithm.vectors(), before))};
    std::vector<ExactMean> sums(before.vectors.size(), ExactMean(kColumns));
    for (const std::size_t node : nodes) {
      const Trained trained = trainers[node]->train(task).value();
      const auto vectors = from_payload<float>(trained.payload, std::vector(sums.size(), kColumns));
      for (std::size_t v = 0; v < sums.size(); ++v)
        sums[v].add(std::span<const float>(vectors[v]), trainers[node]->weight());
    }
    Aggregate<float> aggregate;
    for (ExactMean& sum : sums) {
      aggregate.vectors.emplace_back(kColumns);
      sum.mean(std::span<float>(aggregate.vectors.back()));
    }
    State<float> next = before;
    apply(algorithm, next, aggregate, {task.steps, nodes.size(), trainers.size()});
    return next;
  }
};

Reference::Reference(const Algorithm& algorithm, std::size_t nodes, std::uint64_t steps)
    : parts_(std::make_unique<Parts>(algorithm, steps)) {
  for (std::size_t i = 0; i < nodes; ++i) {
    parts_->shards.push_back(shard_of(i));
    parts_->trainers.push_back(
        make_trainer<float>(parts_->shards.back(), Setting{algorithm, 0.1}, serial_workers()));
  }
}
Reference::~Reference() = default;

std::size_t Reference::nodes() const { return parts_->trainers.size(); }
std::uint64_t Reference::steps() const { return parts_->steps; }
const Algorithm& Reference::algorithm() const { return parts_->algorithm; }
std::string Reference::name(std::size_t node) const { return fmt::format("node-{}", node); }
Trainer& Reference::trainer(std::size_t node) { return *parts_->trainers[node]; }

Trained Reference::answer(std::size_t node, const Assignment& task) {
  const auto smoothness = static_cast<double>(node + 1);
  switch (task.work) {
    case Work::kMeasure: {
      std::string sums = sums_of(node).pack();
      return {{}, {{"sums", kSumsEncoding, sums.size()}}, std::move(sums)};
    }
    case Work::kPrepare:
      return {{}, {{kSmoothness, "f64", 1}}, {reinterpret_cast<const char*>(&smoothness), sizeof smoothness}};
    default: return trainer(node).train(task).value();
  }
}

PreparationNeeds Reference::needs(const Schema& /*schema*/) {
  return {.standardise = Standardise::kFull, .step_size = true};
}

Prepared Reference::prepared(const std::vector<std::string>& nodes) {
  Prepared out;
  out.preprocessing.standardise = Standardise::kFull;
  ColumnSums all(kColumns, 0);
  for (const std::size_t node : numbers_of(nodes)) {
    if (!all.merge_packed(sums_of(node).pack())) throw std::logic_error("sums of another shape");
    out.eta = step_size_of(static_cast<double>(node + 1));  // the last one is the least smooth
  }
  all.measure(out.preprocessing);
  return out;
}

std::vector<std::size_t> Reference::numbers_of(const std::vector<std::string>& names) const {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < nodes(); ++i)
    if (std::ranges::count(names, name(i)) > 0) numbers.push_back(i);
  return numbers;
}

std::string Reference::after(const State<float>& before, const std::vector<std::string>& nodes) {
  std::string& known = parts_->known[{state_digest(before), nodes}];
  if (known.empty()) known = state_digest(parts_->step_on(before, numbers_of(nodes)));
  return known;
}

const std::string& Reference::final_digest() {
  if (parts_->final_digest.empty()) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < nodes(); ++i) all.push_back(i);
    State<float> state = initial_state<float>(parts_->algorithm, kColumns);
    while (state.step < parts_->steps) state = parts_->step_on(state, all);
    parts_->final_digest = weights_digest(state);
  }
  return parts_->final_digest;
}

}  // namespace mfl::test
