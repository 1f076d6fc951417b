// The state of a server's session: the coordinator, its clock and everybody who is connected, behind one lock. It knows no transport:
// open calls are objects that derive from Attendee and Upload, messages are bytes. A transport may call back from within its own
// functions, so these are called only after the lock has been released.
#pragma once

#include <array>
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
#include "mfl/network/admission.h"
#include "mfl/network/node_table.h"
#include "mfl/network/server.h"
#include "mfl/network/session_log.h"

namespace mfl {

struct Peer {
  std::string name;
  std::string serial;                               // of its certificate, hex
  std::optional<std::int64_t> certificate_expires;  // Unix time in seconds
  std::string refusal;                              // why it may not call; empty when it may
};

// How a call ends, for its transport to translate.
struct CallEnd {
  enum class Code {
    kOk,
    kCancelled,
    kDenied,        // the peer is not admitted
    kPrecondition,  // what it sent does not fit this run
    kAborted,       // replaced by something newer; it may try again
    kUnavailable,   // the server is stopping
  };
  Code code = Code::kOk;
  std::string text = {};
};

// The bytes of one message. All calls that send it share them.
using MessageBytes = std::shared_ptr<const std::string>;

// How an order becomes messages; mfl/network/wire.h on a network.
struct OrderCodec {
  std::size_t (*pieces)(const Order&) = nullptr;
  std::string (*encode)(const Order&, std::size_t number) = nullptr;  // number < pieces(order)
};

// An order as messages. Each is encoded when the first call needs it. Not thread-safe.
class Messages {
 public:
  Messages(Order order, const OrderCodec& codec);
  const Order& order() const { return order_; }
  std::size_t size() const { return messages_.size(); }
  const MessageBytes& at(std::size_t number);  // number < size()

 private:
  Order order_;
  OrderCodec codec_;
  std::vector<MessageBytes> messages_;  // null where nobody has needed it yet
};

// A node's presence: its open Attend call. It has one write in progress at a time, and none when it ends. The transport owns it,
// passes it to Desk::attend once, and may destroy it after Desk::gone.
class Attendee {
 public:
  explicit Attendee(Peer peer) : peer_(std::move(peer)) {}
  virtual ~Attendee() = default;
  const Peer& peer() const { return peer_; }

 protected:
  // Called by the desk without its lock. Each write is followed by one Desk::written, from any thread.
  virtual void start_write(MessageBytes message) = 0;
  virtual void finish(const CallEnd& end) = 0;  // once, and nothing after it; Desk::gone follows
  virtual void cancel() = 0;                    // ends a write in progress

 private:
  friend class Desk;
  Peer peer_;
  std::uint64_t session_ = 0;
  Ticket last_;
  std::shared_ptr<Messages> messages_;  // that are being sent; null: none
  std::size_t number_ = 0;              // of the one in progress
  int busy_ = 0;                        // writes and cancellations in progress
  std::optional<CallEnd> ending_;
  Time ending_since_{0};
  bool finished_ = false, departed_ = false;
};

// A node's open Submit call. Owned by the transport, which may destroy it after Desk::gone.
class Upload {
 public:
  explicit Upload(Peer peer) : peer_(std::move(peer)) {}
  virtual ~Upload() = default;
  const Peer& peer() const { return peer_; }

 protected:
  virtual void finish(const CallEnd& end) = 0;  // called by the desk without its lock

 private:
  friend class Desk;
  Peer peer_;
  bool finished_ = false;
};

// Safe to use from any thread.
class Desk {
 public:
  Desk(std::unique_ptr<Coordinator> coordinator, Plan plan, const ServerOptions& options, OrderCodec codec);

  // With the schema of the run as it is now.
  Plan plan() const;
  bool has_tls() const { return has_tls_; }
  // With the list of nodes where it is wanted.
  FederationStatus status(bool with_nodes = false) const;
  std::optional<Error> failure() const;
  std::size_t attending() const;
  std::size_t unaware() const;
  // The status, for a peer that asks. A peer that asks after the end of the run knows of it.
  FederationStatus watch(const Peer& peer, bool with_nodes = false);
  Measurement measured() const;

  // Why the lists do not admit the peer; empty when they do. May read files, without the lock of the session.
  std::string refusal(const Peer& peer);

  // The life of a presence: it joins or is refused; a write is done; the peer has cancelled; nothing more will come.
  void attend(Attendee& attendee, const Result<Joining>& joining);
  void written(Attendee& attendee, bool ok);
  void cancelled(Attendee& attendee);
  void gone(Attendee& attendee);

  // The life of an upload. A node has one: a newer one ends the older. begin() is false when the server is stopping: the caller
  // then ends the call itself.
  bool begin(Upload& upload);
  // Bytes that an update with this ticket has; nothing where it would not count.
  std::optional<std::uint64_t> expected(const Upload& upload, const Ticket& ticket) const;
  // An empty string to read such an update into.
  std::string room();
  // `seconds` is how long its parts took to arrive.
  Verdict submit(const Upload& upload, Update update, double seconds);
  // True once: the caller that gets it ends the call.
  bool claim(Upload& upload);
  void gone(const Upload& upload);

  void tick();
  // Ends every call. Nothing is counted or committed once it has returned: the status stays as it is. Idempotent.
  void close();

  void log(LogLine::Level level, std::string event, std::vector<std::pair<std::string, std::string>> fields);
  // A call that the transport refuses itself: logs and counts it.
  void refuse(const Peer& peer, std::string_view call, Reason reason, std::string_view text);

 private:
  // Calls to make into the transport after releasing the lock.
  struct Outbox {
    std::vector<std::pair<Attendee*, MessageBytes>> writes;
    std::vector<Attendee*> cancels;
    std::vector<std::pair<Attendee*, CallEnd>> ends;
    std::vector<std::pair<Upload*, CallEnd>> upload_ends;
  };
  // Calls change(outbox) with the lock held, then delivers the outbox without it.
  template <class Change>
  void change(Change change);
  void deliver(const Outbox& out);

  // With the lock held.
  void send(Attendee& attendee, std::shared_ptr<Messages> messages, Outbox& out);
  void write(Attendee& attendee, Outbox& out);
  void end(Attendee& attendee, CallEnd how, Outbox& out);
  static void end(Upload& upload, CallEnd how, Outbox& out);
  void settle(Attendee& attendee, Outbox& out);
  void depart(Attendee& attendee);
  void tell(Attendee& attendee, Outbox& out);
  void tell_all(Outbox& out);
  void note_asked(const Attendee& attendee, const Assignment& task);
  // Nothing where it does not belong to the task in progress.
  std::optional<MeasuredAnswer> answer_of(const Upload& upload, const Update& update, double seconds) const;
  void count_refusal(const Peer& peer, std::string_view call, Reason reason, std::string_view text);
  FederationStatus status_now(bool with_nodes) const;
  void need_nodes(std::size_t admitted);
  void warn_of_expiry(Time now);

  // Where the lists have changed or somebody has joined since: ends the presences that the lists no longer admit, and follows the
  // number of nodes that they do.
  void apply_lists();

  const Plan plan_;
  const bool has_tls_;
  const bool measure_;
  const std::size_t nodes_;  // as of ServerOptions
  const std::optional<std::int64_t> certificate_expires_;
  const OrderCodec codec_;

  std::mutex admission_mutex_;  // files are read with this one alone
  Admission admission_;
  std::uint64_t admitted_by_ = 0;  // the version of the lists that everybody present has passed

  mutable std::mutex mutex_;
  std::unique_ptr<Coordinator> coordinator_;
  bool closed_ = false;
  bool newcomers_ = false;  // since the lists were last compared with those present
  std::set<Attendee*> attending_;
  std::shared_ptr<Messages> task_;  // the last task that somebody was given
  std::map<std::string, Upload*> uploads_;
  // Nodes that were present when the run ended and may not know of it; nothing before that.
  std::optional<std::set<std::string>> unaware_;
  NodeTable table_;
  std::array<std::uint64_t, kReasons> refused_ =
      {};  // by the transport and the lists; the coordinator counts its own
  SessionLog log_;
  Time expiry_checked_{0};
  Assignment asked_for_;         // the task in progress, where it is measured
  std::set<std::string> asked_;  // nodes that have been given it
  Measurement measured_;
  std::uint64_t heard_ = 0;  // the news that everybody was told
};

}  // namespace mfl
