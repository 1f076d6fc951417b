// The server's desk: the coordinator, its clock and everybody who is connected, under one lock. gRPC may call back from within
// its own functions, so these are called only after the lock was given back.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

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
#include "mfl/network/log_limit.h"
#include "mfl/network/server.h"

namespace mfl {

struct Peer {
  std::string name;
  std::string serial;   // of its certificate, hex
  std::string refusal;  // why it may not call; empty when it may
};

// An order as messages that any number of calls send. Each is made when the first of them needs it; gRPC shares its bytes.
class Messages {
 public:
  explicit Messages(Order order);
  const Order& order() const { return order_; }
  std::size_t size() const { return messages_.size(); }
  // Not thread-safe, but what it gave stays as it is. number < size()
  const grpc::ByteBuffer& at(std::size_t number);

 private:
  Order order_;
  std::vector<grpc::ByteBuffer> messages_;  // those that nobody needed yet have no bytes
};

// A node's presence: its open Attend call. gRPC allows one write at a time, and no end while one is under way.
class Attendee {
 public:
  explicit Attendee(Peer peer) : peer_(std::move(peer)) {}
  virtual ~Attendee() = default;
  const Peer& peer() const { return peer_; }

 protected:
  // Called by the desk without its lock. The message stays until Desk::written.
  virtual void start_write(const grpc::ByteBuffer& message) = 0;
  virtual void finish(const grpc::Status& status) = 0;  // once, and nothing after it
  virtual void cancel() = 0;

 private:
  friend class Desk;
  Peer peer_;
  std::uint64_t session_ = 0;
  Ticket last_;
  std::shared_ptr<Messages> messages_;  // that are being sent; null: none
  std::size_t number_ = 0;              // of the one under way
  int busy_ = 0;                        // writes and cancellations under way
  std::optional<grpc::Status> ending_;
  Time ending_since_{0};
  bool finished_ = false, departed_ = false;
};

// A node's open Submit call.
class Upload {
 public:
  explicit Upload(Peer peer) : peer_(std::move(peer)) {}
  virtual ~Upload() = default;
  const Peer& peer() const { return peer_; }

 protected:
  virtual void finish(const grpc::Status& status) = 0;  // called by the desk without its lock

 private:
  friend class Desk;
  Peer peer_;
  bool finished_ = false;
};

// Safe to use from any thread.
class Desk {
 public:
  Desk(std::unique_ptr<Coordinator> coordinator, Plan plan, const ServerOptions& options);

  const Plan& plan() const { return plan_; }
  bool has_tls() const { return has_tls_; }
  FederationStatus status() const;
  std::optional<Error> failure() const;
  std::size_t attending() const;
  std::size_t unaware() const;
  // The status, for a peer that asks. One that asks after the end knows of it.
  FederationStatus watch(const Peer& peer);
  Measurement measured() const;

  // Why the lists do not admit the peer; empty when they do.
  std::string refusal(const Peer& peer);

  // The life of a presence: it joins or is refused; a write is done; the peer has cancelled; nothing will come any more.
  void attend(Attendee& attendee, const Result<Joining>& joining);
  void written(Attendee& attendee, bool ok);
  void cancelled(Attendee& attendee);
  void gone(Attendee& attendee);

  // The life of an upload. A node has one: a newer one ends the older.
  void begin(Upload& upload);
  // Bytes that an update with this ticket has; nothing where it would not count.
  std::optional<std::uint64_t> expected(const Upload& upload, const Ticket& ticket) const;
  // An empty string to read such an update into.
  std::string room();
  // `seconds` is how long its parts took to arrive.
  Verdict submit(const Upload& upload, Update update, double seconds);
  // True once: who gets it calls Finish.
  bool claim(Upload& upload);
  void gone(const Upload& upload);

  void tick();
  void end_all();

  void log(LogLine::Level level, std::string event, std::vector<std::pair<std::string, std::string>> fields);
  void log_refusal(const Peer& peer, std::string_view call, std::string_view reason, std::string_view text);

 private:
  // What is to be said to gRPC once the lock is given back.
  struct Outbox {
    std::vector<std::pair<Attendee*, const grpc::ByteBuffer*>> writes;
    std::vector<Attendee*> cancels;
    std::vector<std::pair<Attendee*, grpc::Status>> ends;
    std::vector<Upload*> replaced;
  };
  // Calls change(outbox) with the lock held, then says what is in the box without it.
  template <class Change>
  void change(Change change);
  void deliver(const Outbox& out);

  // With the lock held.
  void send(Attendee& attendee, std::shared_ptr<Messages> messages, Outbox& out);
  void write(Attendee& attendee, Outbox& out);
  void end(Attendee& attendee, const grpc::Status& status, Outbox& out);
  void settle(Attendee& attendee, Outbox& out);
  void depart(Attendee& attendee);
  void tell(Attendee& attendee, Outbox& out);
  void tell_all(Outbox& out);
  void put_out_the_refused(Outbox& out);
  void note_asked(const Attendee& attendee, const Assignment& task);
  // Nothing where it does not belong to the task under way.
  std::optional<MeasuredAnswer> answer_of(const Upload& upload, const Update& update, double seconds) const;
  void log_progress();
  void say(LogLine::Level level, std::string event, std::vector<std::pair<std::string, std::string>> fields);
  void say_refused(const Peer& peer, std::string_view call, std::string_view reason, std::string_view text);

  const Plan plan_;
  const bool has_tls_;
  const bool measure_;
  const Log log_;
  mutable std::mutex mutex_;
  std::unique_ptr<Coordinator> coordinator_;
  Admission admission_;
  std::uint64_t admitted_by_ = 0;  // the version of the lists that all who are here have passed
  std::set<Attendee*> attending_;
  std::shared_ptr<Messages> task_;  // the last task that somebody was given
  std::map<std::string, Upload*> uploads_;
  std::optional<std::set<std::string>>
      unaware_;  // who was here when the run ended and may not know; nothing before that
  FederationStatus logged_;
  LogLimit limit_;
  Assignment asked_for_;         // the task under way, where it is measured
  std::set<std::string> asked_;  // who has got it
  Measurement measured_;
  std::uint64_t heard_ = 0;  // the news that everybody was told
};

}  // namespace mfl
