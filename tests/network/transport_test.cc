#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <thread>

#include "call.h"
#include "mfl/network/transport/budget.h"
#include "mfl/network/transport/framing.h"
#include "mfl/network/transport/http2.h"
#include "mfl/network/transport/rpc_client.h"
#include "mfl/network/transport/rpc_server.h"

namespace mfl {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

std::string framed(const std::string& message) {
  const auto prefix = message_prefix(message.size());
  return std::string(prefix.data(), prefix.size()) + message;
}

// However a stream is cut into pieces, the messages are the same.
RC_GTEST_PROP(Framing, MessagesDoNotDependOnHowBytesArrive, (const std::vector<std::string>& messages)) {
  std::string stream;
  for (const std::string& message : messages) stream += framed(message);
  MessageSplitter splitter(1 << 20);
  std::vector<std::string> found, owned;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t size = *rc::gen::inRange<std::size_t>(1, 20);
    const auto fault =
        splitter.feed(std::string_view(stream).substr(at, size), [&](std::string_view message) {
          found.emplace_back(message);
          owned.push_back(splitter.own(message, "room"));
          return true;
        });
    RC_ASSERT(fault == MessageSplitter::Fault::kNone);
    at += size;
  }
  RC_ASSERT(found == messages);
  RC_ASSERT(owned == messages);
  RC_ASSERT(splitter.at_boundary());
}

TEST(Framing, LongAndCompressedMessagesAreFaults) {
  const auto feed = [](const std::string& bytes) {
    MessageSplitter splitter(10);
    return splitter.feed(bytes, [](std::string_view) { return true; });
  };
  EXPECT_EQ(feed(framed("0123456789")), MessageSplitter::Fault::kNone);
  EXPECT_EQ(feed(framed("0123456789x")), MessageSplitter::Fault::kTooLong);
  EXPECT_EQ(feed(std::string("\x01\0\0\0\1x", 6)), MessageSplitter::Fault::kCompressed);
  EXPECT_EQ(feed(std::string("\0\xff\xff\xff\xff", 5)), MessageSplitter::Fault::kTooLong);
  MessageSplitter splitter(1 << 30);
  splitter.feed(std::string("\0\x20\0\0\0", 5), [](std::string_view) { return true; });
  EXPECT_LE(splitter.held(), 5U) << "memory follows what arrives, not what is claimed";
}

TEST(Framing, NothingIsTakenAfterAFault) {
  MessageSplitter splitter(10);
  const auto refuse = [](std::string_view) {
    ADD_FAILURE() << "a message was taken";
    return true;
  };
  EXPECT_EQ(splitter.feed(framed("0123456789x"), refuse), MessageSplitter::Fault::kTooLong);
  EXPECT_EQ(splitter.feed(framed("y"), refuse), MessageSplitter::Fault::kTooLong);
}

RC_GTEST_PROP(Framing, StatusTextsSurvive, (const std::string& text)) {
  const std::string encoded = percent_encoded(text);
  RC_ASSERT(std::ranges::all_of(encoded, [](char c) { return c >= ' ' && c <= '~'; }));
  RC_ASSERT(percent_decoded(encoded) == text);
}

// Allows so many frames and counts what arrives.
struct CountedEvents : Http2Events {
  std::size_t most_frames = 0, frames = 0, requests = 0;

  void headers(StreamId, HeaderFields, bool) override { ++requests; }
  void data(StreamId, std::string_view) override {}
  void ended(StreamId) override {}
  void closed(StreamId, std::uint32_t) override {}
  bool frame(std::uint8_t, std::size_t) override { return ++frames <= most_frames; }
  void goaway(std::uint32_t, std::string_view) override {}
};

TEST(Http2, BytesAfterAFailureAreIgnored) {
  CountedEvents peer, events;
  events.most_frames = 2;
  Http2Session client(Http2Session::Role::kClient, {}, peer);
  Http2Session server(Http2Session::Role::kServer, {}, events);
  const auto request = [&] {
    client.request({{":method", "POST"}, {":scheme", "http"}, {":path", "/a"}, {":authority", "a"}});
    std::string bytes;
    client.output(bytes);
    return bytes;
  };
  EXPECT_FALSE(server.receive(request()));
  const std::string failure = server.failure();
  const std::size_t frames = events.frames;
  EXPECT_FALSE(server.receive(request()));
  EXPECT_EQ(events.frames, frames);
  EXPECT_EQ(events.requests, 0U);
  EXPECT_EQ(server.failure(), failure);
}

TEST(Budgets, RefillWithTimeAndWithWhatIsEarned) {
  const SteadyTime start;
  Budget budget(10, 2, start);
  EXPECT_TRUE(budget.spend(10, start));
  EXPECT_FALSE(budget.spend(1, start));
  EXPECT_TRUE(budget.spend(2, start + std::chrono::seconds(1)));
  budget.earn(100);
  EXPECT_TRUE(budget.spend(10, start + std::chrono::seconds(1)));
  EXPECT_FALSE(budget.spend(1, start + std::chrono::seconds(1)));
}

TEST(Budgets, PenaltiesDoubleAndAreForgotten) {
  SteadyTime now;
  Penalties penalties;
  EXPECT_EQ(penalties.left("a", now).count(), 0);
  penalties.add("a", now);
  EXPECT_EQ(penalties.left("a", now), Penalties::kFirst);
  EXPECT_EQ(penalties.left("b", now).count(), 0);
  now += Penalties::kFirst;
  EXPECT_EQ(penalties.left("a", now).count(), 0);
  penalties.add("a", now);
  EXPECT_EQ(penalties.left("a", now), 2 * Penalties::kFirst);
  now += std::chrono::hours(1);
  penalties.add("b", now);
  penalties.add("a", now);
  EXPECT_EQ(penalties.left("a", now), Penalties::kFirst);
}

// Answers every message with itself; "end" ends the call.
class Echo final : public CallHandler {
 public:
  std::size_t most_bytes() const override { return 1 << 20; }
  void message(ServerCall& call, std::string_view bytes) override {
    call.send(std::make_shared<const std::string>(bytes));
    if (bytes == "end") call.finish({StatusCode::kAborted, "100 % over\n"}, true);
  }
  void ended(ServerCall& call) override { call.finish({}, true); }
};

class RpcTest : public ::testing::Test {
 protected:
  void start(const RpcLimits& limits = {}) {
    RpcServerOptions options;
    options.listen = "127.0.0.1:0";
    options.limits = limits;
    options.open = [](ServerCall&, std::string_view path) -> std::unique_ptr<CallHandler> {
      return path == "/echo" ? std::make_unique<Echo>() : nullptr;
    };
    options.report = [this](const RpcPeer&, std::string_view what, std::string_view) {
      if (what == "abusive") ++abusive;
    };
    server = RpcServer::open(std::move(options)).value();
    server->serve();
  }
  std::unique_ptr<RpcClient> client() const {
    return RpcClient::make({server->address(), std::nullopt, {}, 1 << 20}).value();
  }
  static RpcClient::Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

  std::atomic<int> abusive{0};
  std::unique_ptr<RpcServer> server;
};

TEST_F(RpcTest, MessagesOfEverySizeComeBackInOrder) {
  start();
  const auto rpc = client();
  const StreamId call = rpc->open("/echo", soon());
  ASSERT_GT(call, 0) << rpc->failure().text;
  const std::size_t sizes[] = {0, 1, 5, 16'379, 16'384, 65'536, 300'000, 1 << 20};
  for (const std::size_t size : sizes)
    ASSERT_TRUE(rpc->send(call, std::make_shared<const std::string>(size, 'x'), soon()));
  rpc->end(call);
  for (const std::size_t size : sizes) EXPECT_EQ(rpc->read(call, soon()).value().size(), size);
  EXPECT_FALSE(rpc->read(call, soon()));
  EXPECT_TRUE(rpc->finish(call, soon()).ok());
}

TEST_F(RpcTest, StatusesArriveWithTheirText) {
  start();
  const auto rpc = client();
  EXPECT_EQ(test::call_once(*rpc, "/echo", "hello"), (std::pair<CallStatus, std::string>{{}, "hello"}));
  const auto [aborted, text] = test::call_once(*rpc, "/echo", "end");
  EXPECT_EQ(aborted, (CallStatus{StatusCode::kAborted, "100 % over\n"}));
  EXPECT_EQ(test::call_once(*rpc, "/nothing", "").first.code, StatusCode::kUnimplemented);
  EXPECT_EQ(test::call_once(*rpc, "/echo", std::string((1 << 20) + 1, 'x')).first.code,
            StatusCode::kResourceExhausted);
  EXPECT_TRUE(test::call_once(*rpc, "/echo", "still there").first.ok());
}

TEST_F(RpcTest, AClientThatCallsForNothingIsCutOff) {
  RpcLimits limits;
  limits.frame_burst = 200;
  limits.frames_per_second = 1;
  start(limits);
  const auto rpc = client();
  for (int i = 0; i < 100; ++i)
    (void)test::call_once(*rpc, "/echo", "x");  // it connects again when it is cut off
  EXPECT_GE(abusive, 3);
}

TEST_F(RpcTest, StoppingEndsCallsAndConnections) {
  start();
  const auto rpc = client();
  const StreamId call = rpc->open("/echo", soon());
  ASSERT_TRUE(rpc->send(call, std::make_shared<const std::string>("x"), soon()));
  EXPECT_EQ(rpc->read(call, soon()), "x");
  std::thread stopper([this] { server->stop(); });
  EXPECT_FALSE(rpc->read(call, soon()));
  EXPECT_EQ(rpc->finish(call, soon()).code, StatusCode::kUnavailable);
  stopper.join();
  EXPECT_LT(rpc->open("/echo", soon()), 0);
  EXPECT_THAT(rpc->failure().text, HasSubstr("cannot connect"));
}

TEST_F(RpcTest, CancellingEndsAWait) {
  start();
  const auto rpc = client();
  const StreamId call = rpc->open("/echo", soon());
  std::thread canceller([&] {
    std::this_thread::sleep_for(milliseconds(50));
    rpc->cancel();
  });
  EXPECT_FALSE(rpc->read(call, std::nullopt));
  EXPECT_EQ(rpc->finish(call, std::nullopt).code, StatusCode::kCancelled);
  canceller.join();
}

// Many at once, with calls that overlap, so that the thread sanitizer sees the server's threads.
TEST_F(RpcTest, ClientsOnManyThreads) {
  start();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      const auto rpc = client();
      for (int n = 0; n < 50; ++n) {
        const std::string text = fmt::format("{} {}", i, n);
        if (test::call_once(*rpc, "/echo", text).second == text) ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 400);
}

}  // namespace
}  // namespace mfl
