// Where committed rounds go.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/algorithm/state.h"
#include "mfl/base/result.h"
#include "mfl/federation/round_terms.h"
#include "mfl/federation/update_limits.h"
#include "mfl/record/run.h"

namespace mfl {

// Of the weights on a test set.
struct TestRow {
  double loss = 0;                 // NaN where nodes measure the accuracy alone
  std::optional<double> accuracy;  // where the targets are classes
  std::string details = {};        // RunSummary::test_metrics; of the final weights only
};

// A committed round: the state after it, the row of the state before it (whose loss came with the round) and the
// nodes that took part.
struct CommittedRound {
  std::uint64_t round = 0;
  std::string blob;  // encode_round()
  RoundRow closed;
  std::shared_ptr<const std::string>
      weights;                           // begins with w of the state that `closed` describes, as it is sent
  std::string data_schema;               // JSON, with the first commit of a process; else empty
  std::vector<std::string> nodes = {};   // whose updates were counted, in the order of their names
  std::vector<NodeRow> node_rows = {};   // what each of them sent
  std::optional<TestRow> measured = {};  // by trainers, of the weights that `closed` describes
};

// How a run ended.
struct Ending {
  RunStatus status = RunStatus::kDone;
  std::string message;
  RoundRow last;                               // of the final state
  std::shared_ptr<const std::string> weights;  // the same of the final state
  RunSummary summary;
  std::vector<std::string> warnings = {};  // FederationStatus::warnings at the end
  std::optional<FinalModel> model = {};    // of a run that is done, where the server knows its model
  std::optional<TestRow> measured = {};    // by trainers, of the final weights
};

// Not thread-safe. What a call has returned without an error survives a crash of the process and a power cut, unless durable() says
// otherwise.
class RoundLog {
 public:
  virtual ~RoundLog() = default;
  virtual Result<void> commit(const CommittedRound& round) = 0;
  // The same; the log may take round.blob for itself.
  virtual Result<void> take(CommittedRound& round) { return commit(round); }
  virtual Result<void> finish(const Ending& ending) = 0;
  // Before the first round: what was measured of the nodes' data, as a schema in JSON, and the step size if that was (else 0).
  virtual Result<void> prepare(const std::string& /*data_schema*/, double /*eta*/) { return {}; }
  // Waits until every committed round is durable.
  virtual Result<void> flush() { return {}; }
  // The last round that is; nothing: all that were committed.
  virtual std::optional<std::uint64_t> durable() const { return std::nullopt; }
  // Of the last record; nothing where there is no test set or no record yet.
  virtual std::optional<TestRow> last_test() const { return std::nullopt; }
};

// The round that last counted a node, by its name; where nodes keep vectors.
using CountedRounds = std::map<std::string, std::uint64_t>;

// What the log returns after a restart.
template <class T>
struct Resumption {
  State<T> state;
  std::uint64_t bytes_up = 0, bytes_down = 0;  // of vectors sent for committed rounds
  SizeHistory history = {};                    // of the updates of committed rounds
  CountedRounds counted = {};
  RoundTerms terms = {};  // of the round that led to the State: its choice and its time
};

// "MFLROUND", u64 bytes up, u64 bytes down, little-endian, the state as in a checkpoint, which ends in its own SHA-256, and
// the SHA-256 of what precedes the state and of those last 32 bytes of it: a large state is hashed once. With a history it begins with
// "MFLROUN2" and has f64 history.loss, u64 count of history.moves and these as f64 before the state. With `counted` it begins with
// "MFLROUN3" and has, after these, u64 length of a text and the text, a line "ROUND NAME" per node in the order of names. With terms it begins
// with "MFLROUN4" and has, after that text, which may then be empty, as history.moves may, 15 words: 1 for a choice and 2 for a time, added, then the
// numbers of RoundChoice and RoundTime in their order, 0 where there is none.
template <class T>
std::string encode_round(const State<T>& state, std::uint64_t bytes_up, std::uint64_t bytes_down,
                         const SizeHistory& history = {}, const CountedRounds& counted = {},
                         const RoundTerms& terms = {});

// Takes any bytes; errors are kRunFailed.
template <class T>
Result<Resumption<T>> decode_round(std::string_view bytes);

}  // namespace mfl
