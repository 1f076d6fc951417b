// The state of a server's session: the coordinator, its clock and everybody who is connected. It knows no transport: open calls are
// objects that derive from Attendee and Upload, orders become messages through a codec.
//
// One thread changes the session; a commit may keep it for as long as the disk takes. What others need meanwhile (status, plan, what
// a node may upload) they read from copies that are published after every change, and never wait for a commit.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/federation/coordinator.h"
#include "mfl/network/node_table.h"
#include "mfl/network/server.h"
#include "mfl/network/session_log.h"
#include "mfl/network/transport/call_status.h"
#include "mfl/network/transport/framing.h"

namespace mfl {

struct Peer {
  std::string name;
  std::string serial;                                    // of its certificate, hex
  std::optional<std::int64_t> certificate_expires = {};  // Unix time in seconds
};

// How an order becomes messages; mfl/network/wire.h on a network.
struct OrderCodec {
  std::size_t (*pieces)(const Order&) = nullptr;
  std::string (*encode)(const Order&, std::size_t number) = nullptr;  // number < pieces(order)
};

// An order as messages. Each is encoded when the first call needs it. Safe to use from any thread.
class Messages {
 public:
  Messages(Order order, const OrderCodec& codec);
  const Order& order() const { return order_; }
  std::size_t size() const { return messages_.size(); }
  MessageBytes at(std::size_t number);  // number < size()

 private:
  const Order order_;
  const OrderCodec codec_;
  std::mutex mutex_;
  std::vector<MessageBytes> messages_;  // null where nobody has needed it yet
};

// A node's presence: its open Attend call. It sends one order at a time. The transport owns it, passes it to Session::attend once,
// and may destroy it after Session::gone.
class Attendee {
 public:
  explicit Attendee(Peer peer) : peer_(std::move(peer)) {}
  virtual ~Attendee() = default;
  const Peer& peer() const { return peer_; }

  // By the transport, from any thread: the order is sent. True when the session waits for it: Session::sent must follow.
  bool order_sent() { return progress_.exchange(kIdle) == kAwaited; }

 protected:
  // Neither waits nor calls the session. order_sent() follows each order.
  virtual void send(std::shared_ptr<Messages> order) = 0;
  // Once. What is not sent yet is dropped, unless the status is kOk.
  virtual void finish(const CallStatus& status) = 0;

 private:
  friend class Session;
  enum Progress { kIdle, kSending, kAwaited };
  // False: an order is still being sent, and Session::sent will follow.
  bool can_send() {
    int sending = kSending;
    return !progress_.compare_exchange_strong(sending, kAwaited) && sending == kIdle;
  }

  Peer peer_;
  std::uint64_t session_ = 0;
  Ticket last_;
  std::atomic<int> progress_ = kIdle;
  bool finished_ = false, departed_ = false;
};

// A node's open Submit call. Owned by the transport, which may destroy it after Session::gone.
class Upload {
 public:
  explicit Upload(Peer peer) : peer_(std::move(peer)) {}
  virtual ~Upload() = default;
  const Peer& peer() const { return peer_; }

 protected:
  // Neither waits nor calls the session. One of them, once.
  virtual void answer(const Verdict& verdict) = 0;
  virtual void finish(const CallStatus& status) = 0;

 private:
  friend class Session;
  Peer peer_;
  std::optional<Ticket> ticket_;  // once its header has arrived
  bool finished_ = false;
};

// What may be read from any thread at any time is marked "published"; everything else is for one thread.
class Session {
 public:
  Session(std::unique_ptr<Coordinator> coordinator, Plan plan, const ServerOptions& options,
          OrderCodec codec);

  // Published: the plan with the schema of the run, the status (with the list of nodes where it is wanted), and how things are.
  Plan plan() const;
  FederationStatus status(bool with_nodes = false) const;
  std::optional<Error> failure() const;
  std::size_t attending() const;
  std::size_t unaware() const;  // as of FederationServer
  Measurement measured() const;
  // Published: bytes of the update that the node has been asked for with this ticket and has not sent; nothing where such an update
  // would not count.
  std::optional<std::uint64_t> expected(const std::string& node, const Ticket& ticket) const;
  // Published: an empty string to read an update into, whose memory may have served before.
  std::string buffer();

  // The life of a presence: it joins or is refused; an order that the session waited for is sent; the call is over, whoever ended it.
  void attend(Attendee& attendee, const Result<Joining>& joining);
  void sent(Attendee& attendee);
  void gone(Attendee& attendee);

  // The life of an upload. A node has one: a newer one ends the older.
  void begin(Upload& upload);
  void expects(Upload& upload, const Ticket& ticket);  // of its header
  // `seconds` is how long its parts took to arrive.
  void submit(Upload& upload, Update update, double seconds);
  void gone(const Upload& upload);

  // A peer asked for the status, and will ask again. After the end of the run it knows of that.
  void heard(const Peer& peer, bool again = false);
  // How many names the allow list admits: a round needs no more nodes than that.
  void admitted(std::size_t names);
  // Which nodes the lists keep out, and the word for why.
  void barred(const std::map<std::string, std::string>& nodes);
  void failed_handshakes(const std::string& address, const std::string& why, std::uint64_t count);
  // The certificates with which nodes last joined: serial numbers by name.
  std::map<std::string, std::string> serials() const;  // published

  void tick();
  // Ends every call. Nothing is counted or committed after it. Idempotent.
  void close();

  void log(LogLine::Level level, std::string event, std::vector<std::pair<std::string, std::string>> fields);
  // A call or a connection that the transport refused itself: logs and counts it.
  void refused(const std::string& node, std::string_view call, Reason reason, std::string_view text);

 private:
  void end(Attendee& attendee, const CallStatus& status);
  static void end(Upload& upload, const CallStatus& status);
  void send(Attendee& attendee, std::shared_ptr<Messages> order);
  void depart(Attendee& attendee);
  void tell(Attendee& attendee);
  void end_stale_uploads();
  // Tells everybody what is new, logs it and publishes it. The end of every change.
  void publish();
  void note_asked(const Attendee& attendee, const Assignment& task);
  // Nothing where it does not belong to the task in progress.
  std::optional<MeasuredAnswer> answer_of(const Upload& upload, const Update& update, double seconds) const;
  void warn_of_expiry(Time now);

  const bool measure_;
  const std::size_t nodes_;  // as of ServerOptions
  const std::optional<std::int64_t> certificate_expires_;
  const OrderCodec codec_;

  std::unique_ptr<Coordinator> coordinator_;
  bool closed_ = false;
  std::set<Attendee*> attending_;
  // The last task that somebody was given; by Assignment::counted_round, which may differ between nodes.
  std::map<std::uint64_t, std::shared_ptr<Messages>> tasks_;
  std::map<std::string, Upload*> uploads_;
  std::array<std::uint64_t, kReasons> refused_ =
      {};  // by the transport and the lists; the coordinator counts its own
  std::uint64_t failed_handshakes_ = 0;
  SessionLog log_;
  Time expiry_checked_{0};
  Assignment asked_for_;         // the task in progress, where it is measured
  std::set<std::string> asked_;  // nodes that have been given it
  std::uint64_t told_ = 0;       // the coordinator's news that everybody was told

  struct Asked {
    Ticket ticket;
    std::uint64_t bytes = 0;
  };
  mutable std::mutex mutex_;  // of what is published
  Plan plan_;
  std::shared_ptr<const FederationStatus> status_;
  std::optional<Error> failure_;
  std::size_t attending_count_ = 0;
  // Nodes that were present when the run ended and may not know of it; nothing before that.
  std::optional<std::set<std::string>> unaware_;
  std::map<std::string, Time> watching_;  // who asks for the status again and again, and when it last did
  NodeTable table_;
  std::map<std::string, Asked> expected_;
  std::vector<std::string> buffers_;
  Measurement measured_;
};

}  // namespace mfl
