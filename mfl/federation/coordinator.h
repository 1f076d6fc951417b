// The server of a federation without transport or clock: a state machine whose inputs are nodes
// that join and leave, updates that arrive, and the time.
//
// A run starts when min_available_nodes have joined, with what must be measured of their data (preparation.h). Each round chooses nodes, hands out the State, counts updates
// until all chosen have answered, or until the deadline with at least `quorum` of them, and is committed to the log; or
// it is abandoned with the State unchanged and tried again. The new State is the exact weighted mean of what was counted, or
// what another aggregator makes of it, and does not depend on the order of arrival. A last round without steps gathers the loss of the final weights.
//
// Nodes are not trusted with their numbers. What one says of its data before the first round is compared with what the others say
// (claims.h): no round starts while a node is an outlier, or, where the options say so, the node is excluded from the run, which
// then needs no more nodes than are left, or there is a warning only. An update that is not finite, or is refused for its loss or size (update_limits.h), costs
// its node the part in the attempt. A run has diverged when more than half of the nodes say so of the same State, over any
// number of attempts, and the attempt in progress cannot be committed: of those that are connected, made the State or were asked to work on
// it, and of as many as a round needs.
//
// A node whose updates are refused, or that misses deadlines, again and again is set aside (quarantine.h): it is not chosen as long as
// the others that are connected are at least min_available_nodes, or else at least the quorum and more than half of
// min_available_nodes. Without a quorum a run so continues without a node that fails every time; the status has a warning.
//
// Whoever has a transport and a clock drives it (mfl/network/session.h, and the tests with virtual ones):
//
//   auto run = make_coordinator<float>(algorithm, options, log);         // from the beginning
//   const Joined joined = run->join(now, "clinic-1", joining);           // a verdict says why a node is refused
//   const Order order = run->order_for("clinic-1", joined.session, {});  // kTask once the round has started: a State to work on
//   const Verdict verdict = run->submit(now, "clinic-1", update);        // counted, or refused with a reason
//   if (run->deadline() && now >= *run->deadline()) run->tick(now);      // commits or abandons a round that is overdue
//   if (run->over()) use(run->status());                                 // "done", "diverged" or "failed", with the digest
//
// order_for() has something new for a node only when version() has grown.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mfl/aggregate/aggregator.h"
#include "mfl/algorithm/early_stop.h"
#include "mfl/algorithm/rounds.h"
#include "mfl/base/result.h"
#include "mfl/federation/messages.h"
#include "mfl/federation/preparation.h"
#include "mfl/federation/quarantine.h"
#include "mfl/federation/round_log.h"
#include "mfl/model/model.h"

namespace mfl {

struct CoordinatorOptions {
  std::string run_id;
  std::string config_digest;
  std::uint64_t epoch = 0;  // differs from that of every earlier process that served this run
  std::uint64_t steps = 0;  // T
  std::uint64_t seed = 0;   // of the choice of nodes

  std::size_t nodes = 1;                // of the federation: N of algorithms that count all of them
  std::size_t min_available_nodes = 1;  // a round starts with no fewer
  double fraction_train = 1;            // of the available nodes that a round chooses, in (0, 1]
  std::size_t quorum = 0;  // updates that a round needs at its deadline; 0: of all that were chosen
  Time round_deadline{60'000};
  Time retry_pause{1'000};  // after a round was abandoned
  // Features; 0: as the first node that joins has them. Free again when all have left and no round was committed.
  std::uint64_t columns = 0;
  // What the data of every node must be like. Open parts are taken from the first node that joins, and are open again when all
  // have left and no round was committed.
  Schema schema;
  std::string schema_from;                              // where it comes from, for people: "[schema]"
  std::uint64_t max_payload = std::uint64_t{1} << 30U;  // bytes of all vectors of a State
  std::uint64_t max_samples = 0;                        // that a node may join with; 0: any number
  double max_update_norm =
      0;            // of an update's distance from the broadcast State; 0: automatic (update_limits.h)
  LossRule losses;  // that nodes follow too: LossRule::in_federation()
  std::optional<double> batch_loss = {};  // of the round that led to the State that is resumed
  RoundPolicy rounds;                     // empty: each is as long as the algorithm says
  StopRule stop_rule;
  std::vector<RoundLoss> past_losses;  // of committed rounds, in their order, for the stop rule
  // The test accuracy of the weights with which the string begins; called where the stop rule asks for it. May be empty.
  std::function<std::optional<double>(const std::string& weights)> test_accuracy;
  std::shared_ptr<const Aggregator> aggregator;  // null: the exact mean
  CodecChain codecs;                             // that updates have passed
  double least_loss = 0;                         // that the model can have (ModelEntry::least_loss)
  std::vector<std::string> warnings;  // of how this process started, for FederationStatus::warnings
  unsigned threads = 1;  // that add up large updates, as of thread_workers(); nothing depends on it

  // What the run does to its data by the schema, and what must be measured for it before the first round; empty: nothing.
  std::function<PreparationNeeds(const Schema&)> needs;
  double (*step_size_of)(double smoothness) = nullptr;
  std::function<Algorithm(double eta)> algorithm_of;  // with a step size that was measured
  std::optional<Prepared> prepared;                   // by an earlier process of this run
  PreparationNeeds prepared_needs = {};               // that led to it
  OnOutlier on_outlier = OnOutlier::kRefuse;
  std::map<std::string, std::string> excluded = {};  // nodes, by an earlier process, and why

  // For a run that has already ended: nodes are told so, and nothing else happens.
  std::string ended_status;  // "done" or "diverged"; empty: the run continues
  std::string ended_digest;
  std::uint64_t ended_round = 0, ended_step = 0;
};

struct Joined {
  std::uint64_t session = 0;  // of one connection of a node; a later one of the same name ends it
  Verdict verdict;            // session is 0 where it does not count
};

// One node, as the server knows it.
struct NodeStatus {
  std::string name;
  bool connected = false;
  Time silent{0};                                        // since it was last heard of
  std::uint64_t samples = 0;                             // as when it joined
  std::uint64_t round = 0;                               // of its last counted update; 0: none yet
  Losses losses = {};                                    // with that update; train_loss as it was sent last
  std::optional<double> seconds = {};                    // that its local steps took, with that update
  std::optional<std::int64_t> certificate_expires = {};  // Unix time in seconds; nothing without TLS
  std::uint64_t failures = 0;                            // as NodeStanding, since the process started
  std::optional<Time> set_aside = {};  // how much longer it is not chosen; nothing while it may be
  std::string barred = {};             // by the lists: "revoked" or "not listed"; empty: it may take part

  bool operator==(const NodeStatus&) const = default;
};

// For `mfl server status` and metrics.
struct FederationStatus {
  std::string run_id;
  std::string phase;  // "waiting", "preparing", "training", "closing", "done", "diverged" or "failed"
  std::uint64_t round = 0, step = 0, steps = 0;
  std::uint64_t nodes = 0;                // connected
  std::uint64_t needed = 0;               // nodes that a round needs to start
  std::uint64_t chosen = 0, counted = 0;  // of the round in progress
  std::uint64_t abandoned = 0;            // attempts, since the process started
  std::uint64_t rounds_timed = 0;         // committed since the process started
  Time last_round{0};                     // from the start of the attempt to the commit
  std::uint64_t last_nodes = 0;           // whose updates the round committed last counted
  Time all_rounds{0};                     // sum over those rounds
  std::uint64_t bytes_up = 0, bytes_down = 0;
  Losses losses;  // of the state before the last; train_loss as it was measured last
  std::array<std::uint64_t, kReasons> refused = {};
  std::string digest;   // of the final weights; empty while the run continues
  std::string schema;   // schema_text() and where it comes from; empty while nothing is known
  std::string trouble;  // why the last attempt was abandoned, or the run failed
  std::optional<double> test_loss, test_accuracy;  // of the last record, where the server has a test set
  // Whatever makes the result less trustworthy and does not stop the run, one sentence each.
  std::vector<std::string> warnings;
  std::uint64_t quarantined = 0;        // nodes that are set aside
  std::vector<NodeStanding> standings;  // of the nodes that have failed, by name

  // What the coordinator leaves to its transport.
  std::vector<NodeStatus> node_list;                // by name; may be cut short or left out
  std::uint64_t failed_handshakes = 0;              // since the process started
  std::string version;                              // of the server's mfl
  std::optional<std::int64_t> certificate_expires;  // the server's, Unix time in seconds
};

// Not thread-safe. Every call may advance the run; calls with an older time than an earlier one are harmless.
class Coordinator {
 public:
  virtual ~Coordinator() = default;

  // Allocates nothing of the State's size: that happens when the first round starts.
  virtual Joined join(Time now, const std::string& node, const Joining& joining) = 0;
  // Has no effect unless it is the node's current session.
  virtual void leave(Time now, const std::string& node, std::uint64_t session) = 0;
  // What is new for the node since it was given `last` (a default Ticket at first). The end of a session that another process of the
  // same name took over (Joining::instance) has a text in Order::status.
  virtual Order order_for(const std::string& node, std::uint64_t session, const Ticket& last) const = 0;
  // Grows whenever order_for may have something new for a node.
  virtual std::uint64_t version() const = 0;
  // Counts it or says why not.
  virtual Verdict submit(Time now, const std::string& node, Update update) = 0;
  // Passes deadlines. Call at deadline() or later.
  virtual void tick(Time now) = 0;
  // Waits until all that was committed is durable: for the end of a server.
  virtual void flush() = 0;
  // From now on a round starts with no fewer nodes than this, in place of the options' min_available_nodes.
  virtual void set_min_available_nodes(Time now, std::size_t nodes) = 0;
  virtual std::optional<Time> deadline() const = 0;

  // Bytes of the payload of an update with this ticket; nothing where such an update would not count.
  virtual std::optional<std::uint64_t> payload_size(const std::string& node, const Ticket& ticket) const = 0;

  // An empty string for such a payload; reuses the memory of a payload that is no longer needed.
  virtual std::string spare_buffer() = 0;

  // Of the run. Complete once a node has joined.
  virtual const Schema& schema() const = 0;

  virtual bool over() const = 0;
  // Why the run cannot continue: the log failed. The caller should end the process.
  virtual const std::optional<Error>& failure() const = 0;
  virtual FederationStatus status() const = 0;
};

// The model for data of a schema whose columns are known.
template <class T>
using ModelOf = std::function<std::shared_ptr<const Model<T>>(const Schema& schema)>;

// Starts at the state of `from`, or at the beginning: where the model starts with the run's seed, or, without a model, at zero
// and with one parameter for each column. The log outlives the coordinator.
template <class T>
std::unique_ptr<Coordinator> make_coordinator(const Algorithm& algorithm, CoordinatorOptions options,
                                              RoundLog& log, std::optional<Resumption<T>> from = std::nullopt,
                                              ModelOf<T> model_of = {});

}  // namespace mfl
