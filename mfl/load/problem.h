// The data of an experiment, loaded, split among the nodes and ready to train on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/aggregate/column_sums.h"
#include "mfl/base/result.h"
#include "mfl/data/schema.h"
#include "mfl/data/source.h"
#include "mfl/engine/engine.h"
#include "mfl/engine/ranks.h"
#include "mfl/experiment/experiment.h"

namespace mfl {

template <class T>
struct Problem {
  Federation<T> federation;
  bool has_accuracy = false;  // the targets are two classes
  double scale = 1;           // of the features as they are read
  // Complete but for data of one class (settle_alone), with measured preprocessing.
  Schema schema = {};
  std::vector<std::string> constant_features =
      {};  // that standardising cannot scale, as their names or numbers
  std::shared_ptr<const Origin> origin = nullptr;  // of the training data; may be null
  std::string data_digest = {};   // of training data, test data and partition; with ranks only on the first
  std::string train_digest = {};  // of the training data only
  double load_seconds = 0;
};

// kBadConfig unless all nodes hold stored data and take part in every round with steps on all their samples, which `what` ("mfl theory") requires.
Result<void> require_all_nodes(const Config& config, std::string_view what);

// Each rank gets the rows of its own nodes, assigned by sample count, and its row blocks of the test set; all ranks know the labels and
// the partition. A process alone has all of them. For a centralised algorithm one node holds all data, whatever [federation] says.
// `memory` is DataOptions::memory, for a process alone.
//
// Collective: either all ranks fail or none. kBadData also where a rank has other data than the first one (ShareReader).
template <class T>
Result<Problem<T>> load_problem(const Experiment& experiment, Ranks& where = alone(),
                                const TrainTest* memory = nullptr);

// The same of data that is loaded already, in a process alone. Borrowed rows are prepared block by block as the problem is used (prepared_rows.h), with the same
// results; only a feature skew copies them.
template <class T>
Result<Problem<T>> make_problem(const Experiment& experiment, TrainTest data);

// What must be measured of all training samples before any of them can be trained on.
struct Measures {
  Standardise standardise = Standardise::kNone;
  bool classes = false;  // how many samples each has
  bool any() const { return standardise != Standardise::kNone || classes; }
};
// Nothing that the schema has already.
Measures measures_of(const Config& config, const Schema& schema);

// The sums that one holder of samples adds to what is measured. `schema` is complete.
Result<ColumnSums> sums_of(const Config& config, const Schema& schema, const Dataset& rows);
// Completes the schema by the sums over all training samples. Returns the features that are constant, for people.
Result<std::vector<std::string>> take_measures(const Config& config, const ColumnSums& all, Schema& schema);

// Whether data is the user's own: as its source tells, else by the kind of the source.
inline bool has_own_data(const Config& config, const Dataset& data) {
  return data.origin && data.origin->own_data ? *data.origin->own_data : is_own_data(config.data.source);
}

// What data has, looked at as the configuration says. Errors as those of observe().
Result<Schema> observed_schema(const Config& config, const Dataset& data);

}  // namespace mfl
