// The messages between a federation's server and its nodes, as values. No transport, no text format: see mfl/network.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/aggregate/metric_means.h"
#include "mfl/algorithm/losses.h"
#include "mfl/data/schema.h"

namespace mfl {

using Time = std::chrono::milliseconds;  // since any fixed moment; never runs backwards

// Raised when server and nodes of different versions would no longer understand each other.
// 2: schemas are compared. 3: a plan carries the experiment as text, and vectors are named blocks. 4: data is measured before the
// first round. 5: an update has three losses. 6: a round is a list of stages, and an update names what it started from.
inline constexpr std::uint32_t kProtocolVersion = 6;

// What a node must know to train. A further key of an experiment needs no other message.
struct Plan {
  std::string run_id;
  std::string config_digest;  // of the server's whole configuration, hex
  std::string experiment;     // the server's experiment as canonical TOML, without its data
  std::uint32_t bits = 32;    // of a number: 32 or 64
  Schema schema = {};         // of the run; parts that are not known yet are open

  bool operator==(const Plan&) const = default;
};

// What a task is.
enum class Work : std::uint8_t {
  kTrain,       // `steps` steps from the vectors of the payload
  kMeasure,     // the sums of the node's columns (preparation.h)
  kPrepare,     // take up means and deviations, and tell the smoothness of the loss
  kInitialise,  // the weights that the node's trainer starts from
  kEvaluate,    // the loss of the weights that the payload begins with
};
// What precedes the first round.
inline bool prepares(Work work) { return work != Work::kTrain && work != Work::kEvaluate; }

// How a node joins. It does not include the node's name: the transport knows it.
struct Joining {
  std::string config_digest;  // of the plan that it follows
  std::uint64_t weight = 0;   // |D_i|
  std::uint64_t columns = 0;  // features of its samples; of an external model the numbers of w
  std::uint32_t bits = 32;
  // What its data has (observe()), with the positive class where the node's operator names one. The coordinator compares it
  // with the run's; one without a task is compared by its columns alone; the wire refuses such a node.
  Schema schema = {};
  // Drawn by the node process when it starts: tells a node that joins again from a second process of the same name. 0: not told.
  std::uint64_t instance = 0;
  // What its operator does not allow. A run that needs it refuses the node.
  std::vector<Work> withheld = {};

  bool operator==(const Joining&) const = default;
};

inline constexpr std::uint64_t kPreparationRound = 0;

// Names one stage of one attempt at one round by one incarnation of the server, so that nothing old is mistaken for new.
struct Ticket {
  std::uint64_t epoch = 0;  // of the server process
  std::uint64_t round =
      0;  // the round that the work leads to, from 1; kPreparationRound: what precedes the first (preparation.h)
  std::uint64_t attempt = 0;  // from 1 within an epoch and a round
  std::uint64_t stage = 0;    // its place in the round's list of stages

  bool operator==(const Ticket&) const = default;
};

// One vector of a payload, which has one after the other.
struct Block {
  std::string name;
  std::string encoding;  // "f32", "f64" or that of a codec
  std::uint64_t numbers = 0;

  bool operator==(const Block&) const = default;
};

// "w (784 numbers as f32), d (784 numbers as f32)"; "no vectors" for none.
std::string blocks_text(const std::vector<Block>& blocks);

// Work for a node.
struct Assignment {
  std::string run_id;
  Ticket ticket;
  std::uint64_t steps = 0;  // of kTrain
  std::string
      state_digest;  // of the state that the payload is from; in what precedes the first round of the payload
  std::vector<Block> blocks;  // of the payload
  // The round that last counted an update of this node; 0: none has. Told where nodes keep vectors.
  std::uint64_t counted_round = 0;
  std::shared_ptr<const std::string> payload;  // the vectors that are sent down, little-endian numbers
  Work work = Work::kTrain;
  double eta = 0;  // the step size; 0: that of the experiment
};

// How long a task took, in seconds, as measured by the node. No decision depends on it.
struct Timing {
  double compute = 0;     // its steps
  double down = 0;        // its vectors, from the first piece to the last
  double round_trip = 0;  // of a message without vectors
};

// The result of a task.
struct Update {
  std::string run_id;
  Ticket ticket;
  std::uint64_t weight = 0;        // as when it joined
  Losses losses = {};              // those that the round measures (LossRule), of this node's samples alone
  std::vector<Block> blocks = {};  // of the payload
  std::string payload = {};        // the vectors that are sent up, encoded; empty for kEvaluate
  Timing timing = {};
  Metrics metrics = {};   // that a trainer measured at the w of the task
  std::string base = {};  // Assignment::state_digest
};

// Why something that a node sent was not counted.
enum class Reason {
  kNone,  // it counts
  kProtocol,
  kConfig,     // another configuration digest, or the node does not allow what the run needs
  kShape,      // columns, precision or length of the payload
  kWeight,     // 0, above the limit, or not as when the node joined
  kNotFinite,  // the loss or a number of a vector
  kForeign,    // another run, or a node that has not joined
  kStale,      // a round that is over, or a ticket of an earlier incarnation of the server
  kLate,       // an attempt of this round that is over
  kFuture,     // a round that has not begun
  kNotChosen,  // the node was not chosen for this round
  kDuplicate,  // counted before
  kOver,       // the run has ended
  kSchema,     // columns, labels or classes that are not those of the run
  kAdmission,  // the peer is not on the allow list, is revoked, or has no usable name
  kLoss,       // a loss that the model cannot have, or far beyond those of earlier rounds
  kNorm,       // vectors too far from those that were broadcast
  kOutlier,    // what it says of its data is impossible, or far from what the others say
};
inline constexpr int kReasons = 18;

// "stale", "not-finite", ...; "none" for kNone.
std::string_view reason_name(Reason reason);

struct Verdict {
  Reason reason = Reason::kNone;
  std::string text;       // what is wrong, for people; empty when it counts
  bool expected = false;  // it is not counted and nobody is at fault: the nodes that take part have changed

  bool counts() const { return reason == Reason::kNone; }
};

// kLate or kFuture for a ticket of another stage of the round in which `stage` is in progress.
Verdict check_stage(const Ticket& ticket, std::uint64_t stage);
// kStale for an update that did not start from this state.
Verdict check_base(const Update& update, const std::string& state_digest);

// What the server wants of a node that has joined.
struct Order {
  enum class Kind {
    kNone,   // nothing new
    kTask,   // work
    kDone,   // the run is over
    kEnded,  // the session is over: join again
  };
  Kind kind = Kind::kNone;
  Assignment task;
  std::string status;  // kDone: "done" or "diverged"; kEnded: why, if there is something to say
  std::string digest;  // kDone: of the final weights
};

}  // namespace mfl
