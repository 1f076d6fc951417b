// Small federations for the engine tests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mfl/data/synthetic.h"
#include "mfl/data/task.h"
#include "mfl/engine/engine.h"
#include "mfl/model/models.h"
#include "mfl/partition/partition.h"

namespace mfl::test {

// A model of the table, as the tests use it: with an intercept where that needs no further column, and ten classes where it takes many.
struct ModelCase {
  const char* name;
  const ModelEntry* entry;
  TargetKind targets;
  double lambda;

  template <class T>
  std::shared_ptr<const Model<T>> make(std::size_t columns) const {
    return entry->make<T>({columns, SyntheticRows::kClasses, entry->has_intercept && !entry->loss});
  }
};

inline std::vector<ModelCase> all_models() {
  std::vector<ModelCase> out;
  for (const ModelEntry& entry : models())
    if (!entry.external) out.push_back({entry.name.c_str(), &entry, entry.targets, entry.lambda});
  return out;
}
inline const std::vector<ModelCase> kModels = all_models();

inline Task task_of(const ModelCase& model) {
  return model.targets == TargetKind::kIndex ? Task::kMulticlass : Task::kEvenOdd;
}

// The same numbers as a data set of bytes, in another form.
template <class T>
Dataset as_floats(Dataset data) {
  const auto values = std::get<DenseRows<std::uint8_t>>(data.features).values;
  data.features = DenseRows<T>{{values.begin(), values.end()}};
  return data;
}

template <class T>
Dataset as_sparse(Dataset data) {
  const auto values = std::get<DenseRows<std::uint8_t>>(data.features).values;
  SparseRows<T> rows;
  rows.starts.push_back(0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) {
      rows.columns.push_back(static_cast<std::uint32_t>(i % data.columns));
      rows.values.push_back(values[i]);
    }
    if ((i + 1) % data.columns == 0) rows.starts.push_back(rows.columns.size());
  }
  data.features = std::move(rows);
  return data;
}

template <class T>
Federation<T> make_federation(const ModelCase& model, const Dataset& data, const Partition& partition,
                              const KernelSet& kernels = default_kernel_set()) {
  const Dataset ordered = take_rows(data, partition.order);
  const auto targets = make_targets(ordered, task_of(model), model.targets).value();
  std::vector<Shard> nodes;
  for (std::size_t i = 0; i < partition.nodes(); ++i)
    nodes.push_back({partition.starts[i], partition.starts[i + 1] - partition.starts[i]});
  return {model.make<T>(data.columns), Samples<T>(ordered, targets, kernels), nodes, std::nullopt};
}

// One round of `steps` steps with the engine's only setting.
template <class T>
std::optional<NotFinite> run_round(Engine<T>& engine, const State<T>& state, std::uint64_t steps,
                                   Aggregate<T>& out) {
  StepRange<T> range{.state = &state, .out = &out};
  engine.run(std::span(&range, 1), steps);
  return range.failure;
}

template <class T>
std::unique_ptr<Engine<T>> make_engine(const ModelCase& model, const Federation<T>& federation,
                                       const Algorithm& algorithm,
                                       std::unique_ptr<Workers> workers = serial_workers()) {
  return local_engine<T>(federation, {Setting{algorithm, model.lambda}}, std::move(workers));
}

// The state after `steps` steps on an engine; a value that is not finite fails the test.
template <class T>
State<T> train_on(Engine<T>& engine, const Algorithm& algorithm, std::size_t parameters,
                  std::uint64_t steps) {
  State<T> state = initial_state<T>(algorithm, parameters);
  Aggregate<T> aggregate;
  while (state.step < steps) {
    const std::uint64_t round = next_round_steps(algorithm, state.step, steps);
    if (const auto bad = run_round(engine, state, round, aggregate)) ADD_FAILURE() << bad->what;
    note_loss(state, aggregate.loss_before);
    apply(algorithm, state, aggregate, {.steps = round});
    engine.keep(0);
  }
  note_loss(state, engine.train_loss(0, state.w()));
  return state;
}

template <class T>
State<T> train(const ModelCase& model, const Federation<T>& federation, const Algorithm& algorithm,
               std::uint64_t steps, std::unique_ptr<Workers> workers = serial_workers()) {
  const auto engine = make_engine(model, federation, algorithm, std::move(workers));
  return train_on(*engine, algorithm, federation.model->parameters(), steps);
}

}  // namespace mfl::test
