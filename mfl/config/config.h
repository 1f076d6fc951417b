// An experiment as values. One table of keys (config_keys.h) drives the TOML file, the flags, --set, the
// help, the canonical text and the digest, so they cannot disagree.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/base/vectors.h"
#include "mfl/config/distribution.h"
#include "mfl/data/schema.h"
#include "mfl/data/source.h"
#include "mfl/data/task.h"

namespace mfl {

inline constexpr Distribution kNoLimit = {Distribution::Kind::kFixed, std::numeric_limits<double>::infinity(),
                                          0};

// Relative paths in `source`, `test_source` and in a partition file are relative to the working directory of
// the process, not to the experiment file.
struct DataConfig {
  std::string source = "mnist";         // a data spec (source.h)
  std::string test_source;              // a second spec for the test samples; empty: the source's own
  std::optional<std::uint64_t> train;   // samples; empty: all there are
  std::optional<std::uint64_t> test;    // samples; empty: all there are; 0: no test set
  Take take = Take::kFirst;             // the samples to take when not all are taken
  std::optional<Task> task;             // empty: what source and model mean by themselves (default_task)
  std::optional<double> scale;          // > 0; empty: the source's own (1/255 for bytes)
  std::string label = "last";           // CSV label column: its name, its zero-based number, or last
  CsvHeader header = CsvHeader::kAuto;  // whether a CSV file starts with column names
  std::vector<std::string> drop;        // CSV columns that are not read: names or zero-based numbers
  // CSV columns to take as features, in this order; empty: all that are left.
  std::vector<std::string> features;
  std::uint64_t folds = 0;                   // folds of a cross-validation; 0: none
  std::optional<std::uint64_t> fold = {};    // the one that is held out, from 0; empty: each in turn
  char separator = ',';                      // between the fields of a CSV file: , ; | or a tab
  std::string positive = {};                 // the positive class; empty: the last of the two in order
  std::uint64_t max_columns = kMostColumns;  // columns of a file; more are refused before they take memory

  bool operator==(const DataConfig&) const = default;
};

struct FederationConfig {
  std::uint64_t nodes = 4;            // >= 1
  std::string partition = "iid";      // a spec of partitions(), canonical
  std::string feature_skew = "none";  // a spec of feature_skews(), canonical
  std::string aggregator = "mean";    // a spec of aggregators(), canonical
  std::string codecs = {};            // the spec of the CodecChain that updates pass, canonical; empty: none
  // The nodes of a round, and its end.
  double fraction_train = 1;              // share of the nodes that a round chooses, in (0, 1]
  std::uint64_t min_available_nodes = 0;  // nodes that must be connected for a round to start; 0: all
  std::uint64_t quorum = 0;               // updates that a round needs at its deadline; 0: all that it chose
  double round_deadline = 60;             // seconds
  // What a server believes of a node. A simulation has no use for these.
  std::uint64_t max_samples = 0;  // samples that a node may join with; 0: any number
  double max_update_norm = 0;     // largest L2 distance of an update from the broadcast State; 0: automatic

  bool operator==(const FederationConfig&) const = default;
};

// What a simulated device is like, for virtual time (virtual_time.h). "none" is infinite: no time at all.
struct DevicesConfig {
  Distribution speed = kNoLimit;  // samples per second: gradients of one sample, in one local step
  Distribution dropout;           // chance that a node that is chosen does not answer, in [0, 1)

  bool operator==(const DevicesConfig&) const = default;
};

struct NetworkConfig {
  Distribution up = kNoLimit, down = kNoLimit;  // bytes per second of one node
  Distribution latency;                         // seconds, one way

  bool operator==(const NetworkConfig&) const = default;
};

struct ModelConfig {
  std::string name = "svm";      // a name of models()
  std::optional<double> lambda;  // >= 0; empty: see effective_lambda
  // For models that have one; the regulariser does not count it. Empty: with the user's own data, see
  // effective_intercept.
  std::optional<bool> intercept = {};
  Standardise standardise = Standardise::kNone;  // what is done to features first
  bool balanced = false;  // every class counts as much in the loss as any other, however many samples it has
  // What a training sample of each class counts in the loss, in the order of the schema's classes; empty: see
  // balanced.
  std::vector<double> class_weights = {};

  bool weighs_classes() const { return balanced || !class_weights.empty(); }
  bool operator==(const ModelConfig&) const = default;
};

struct AlgorithmConfig {
  std::string name = "mfl";          // a spec of algorithms(), canonical
  std::optional<double> eta;         // step size, > 0; empty: measured, or kPaperEta, see measures_eta
  double gamma = 0.5;                // momentum at the nodes, in [0, 1)
  std::optional<std::uint64_t> tau;  // local steps between aggregations, >= 1; empty: 4, or by local_epochs
  // Passes over a node's samples between aggregations, in place of tau; 0: none.
  std::uint64_t local_epochs = 0;
  std::uint64_t batch_size = 0;  // samples of a local step; 0: all that the node has
  bool drop_last = false;        // an epoch leaves out its last batch where that is smaller than batch_size
  // Choices on the axes of algorithms, canonical specs; empty: as the algorithm has them.
  std::string correction = {}, momentum = {}, server_step = {};
  std::uint64_t sync_momentum = 1;  // rounds between two means of d, where momentum is averaged
  // tau = "adaptive": rounds are as long as the budget of the run makes best (adaptive_tau.h). tau is then
  // empty.
  bool adaptive_tau = false;
  std::uint64_t tau_max = 100;  // greatest adaptive tau, >= 1
  double phi = 0.025;           // its control parameter, > 0

  bool operator==(const AlgorithmConfig&) const = default;
};

inline constexpr std::uint64_t kMaxKeepStates = 1000;

struct RunConfig {
  std::string name;                       // a label for people
  std::optional<std::uint64_t> steps;     // T, local steps, >= 1; empty: 1000, or by rounds
  std::uint64_t rounds = 0;               // the length of the run in place of steps; 0: none
  std::optional<double> target_loss;      // end early at a training loss <= it; empty: off
  std::optional<double> target_accuracy;  // end early at a test accuracy >= it, in (0, 1]; empty: off
  std::uint64_t patience = 0;             // end early after so many rounds without an improvement; 0: off
  // The run ends when another round would exceed one of them; empty: no limit. Seconds are virtual where the
  // run has virtual time.
  std::optional<double> budget_seconds = {};       // > 0
  std::optional<std::uint64_t> budget_bytes = {};  // up and down, >= 1
  std::uint64_t seed = 1;
  Precision precision = Precision::kF32;
  std::string engine = "threads";  // threads, serial, mpi
  std::uint64_t threads = 0;       // 0: one per core
  // Rounds between passes over all samples for F(w), where a round does not measure it anyway; 0: no passes;
  // empty: chosen by the work of a pass (evaluations.h).
  std::optional<std::uint64_t> evaluate_every = {};
  std::uint64_t record_every = 0;      // steps between recorded metrics; 0: about a hundred records per run
  std::uint64_t checkpoint_every = 0;  // rounds between checkpoints; 0: only when stopped
  std::uint64_t keep_states = 5;       // States of the last rounds that a server keeps, 1 to kMaxKeepStates
  // The model whose weights the run starts from: a run, a model file or a digest (initial_model.h); empty:
  // the model decides.
  std::string init = {};

  bool operator==(const RunConfig&) const = default;
};

struct Config {
  DataConfig data;
  FederationConfig federation;
  DevicesConfig devices;
  NetworkConfig network;
  ModelConfig model;
  AlgorithmConfig algorithm;
  RunConfig run;
  Schema schema;  // what the data must be like; open parts are taken from the data

  bool operator==(const Config&) const = default;
};

// The local steps of a round, or its local epochs where local_epochs is given.
std::uint64_t round_length(const AlgorithmConfig& algorithm);
// The length of the run in local steps, or in local epochs where local_epochs is given.
std::uint64_t run_length(const Config& config);
// Whether the run ends by what it has used.
inline bool has_budget(const RunConfig& run) { return run.budget_seconds || run.budget_bytes; }
// Whether local steps are counted in epochs.
inline bool counts_epochs(const AlgorithmConfig& algorithm) { return algorithm.local_epochs != 0; }

// The step size of data that mfl provides, where nothing else is said.
inline constexpr double kPaperEta = 0.002;

// As given or measured; else kPaperEta.
inline double effective_eta(const AlgorithmConfig& algorithm) { return algorithm.eta.value_or(kPaperEta); }
// Whether the step size is measured from the training data: nobody says it, and the data is the user's own.
bool measures_eta(const AlgorithmConfig& algorithm, bool own_data);
// The intercept as given; else whether the data is the user's own and the model has one.
bool effective_intercept(const ModelConfig& model, bool own_data);

// lambda as given; else that of the model: 0.3 for svm and squared-svm, 0 for the others.
double effective_lambda(const ModelConfig& model);

// The task as given, else the default of source and model. Raw is multiclass for a model of many classes.
Task effective_task(const Config& config);

// What a recorded configuration has for data.source where mfl read no data: that of trainers, and that of the
// nodes of a server.
inline constexpr const char* kTrainerSource = "trainer";
inline constexpr const char* kFederationSource = "federation";

// Whether a configuration stands for several runs, one per fold.
inline bool is_cross_validation(const Config& config) { return config.data.folds != 0 && !config.data.fold; }

// What load() takes.
DataOptions data_options(const Config& config);

// Reads an experiment file over the defaults. Errors are kBadConfig and start with FILE:LINE.
Result<Config> read_config(const std::filesystem::path& path);

// Parses a text; `file` is the name in errors.
Result<Config> parse_config(std::string_view text, std::string_view file);

// Sets one key, `table_dot_key` such as "algorithm.gamma", from text as a flag has it (no quotes). Errors are
// kBadConfig and start with `where` ("--gamma 1.5"), or with the key and text when it is empty.
// `config` is as it was when it fails.
Result<void> set_key(Config& config, std::string_view table_dot_key, std::string_view text,
                     std::string_view where = {});

// Two pairs of keys say the same in two ways: steps and rounds, tau and local_epochs. Where a layer of
// settings over `config` gives one key of a pair, unsets the other, so that a flag overrides the file.
// `given` has the layer's keys and texts.
void make_room(Config& config, std::span<const std::pair<std::string, std::string>> given);

// Every value in its range, and the values fit each other. Reading and setting check ranges already; this is
// for a whole Config, however it was made.
Result<void> validate(const Config& config);

// Canonical text: every key, in fixed order, numbers in the shortest form that reads back to the same bits.
// For a valid config, parse_config(to_toml(c)) == c.
std::string to_toml(const Config& config);
// As to_toml(), with the keys alone that are not at their defaults.
std::string changed_toml(const Config& config);

// SHA-256 (hex) of the canonical text of the keys that shape the trajectory: not the name, the engine, the
// threads, nor how often is recorded. lambda and task count by their effective values. Keys that came later
// count only where they are not at their defaults.
std::string config_digest(const Config& config);

}  // namespace mfl
