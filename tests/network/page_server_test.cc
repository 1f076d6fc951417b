// The metrics endpoint under connections that do not behave.
#include "mfl/network/page_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "mfl/network/metrics.h"
#include "tests/network/loopback.h"

namespace mfl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in to = test::loopback(port);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  Client(Client&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Client& operator=(Client&&) = delete;
  ~Client() {
    if (socket_ >= 0) ::close(socket_);
  }

  // False when the server has closed the connection.
  bool send(std::string_view text) const {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // Everything until the server closes.
  std::string rest() const {
    std::string out;
    std::array<char, 4096> piece;
    while (pollable(seconds(30))) {
      const ssize_t got = ::recv(socket_, piece.data(), piece.size(), 0);
      if (got <= 0) return out;
      out.append(piece.data(), static_cast<std::size_t>(got));
    }
    ADD_FAILURE() << "neither an answer nor an end";
    return out;
  }
  bool pollable(milliseconds patience) const {
    pollfd file{socket_, POLLIN, 0};
    return ::poll(&file, 1, static_cast<int>(patience.count())) == 1;
  }

 private:
  int socket_;
};

std::string ask(std::uint16_t port, std::string_view request) {
  const Client client(port);
  EXPECT_TRUE(client.send(request));
  return client.rest();
}

constexpr const char* kGet = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

std::unique_ptr<PageServer> served(PageServer::Page page, const PageOptions& options = {}) {
  return PageServer::start({"127.0.0.1", 0}, std::move(page), options).value();
}

TEST(PageServer, AnswersItsPage) {
  const auto server = served([] { return "one 1\n"; });
  const std::string answer = ask(server->port(), kGet);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 6\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\none 1\n"));
  EXPECT_THAT(ask(server->port(), "GET /metrics?name[]=x HTTP/1.0\n\n"), EndsWith("one 1\n"));
  const std::string head = ask(server->port(), "HEAD /metrics HTTP/1.1\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("\r\nContent-Length: 6\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
}

TEST(PageServer, RefusesEverythingElse) {
  std::atomic<int> pages = 0;
  const auto server = served([&] { return std::to_string(++pages); });
  const auto status = [&](std::string_view request) { return ask(server->port(), request).substr(0, 12); };
  EXPECT_EQ(status("GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 404");
  EXPECT_EQ(status("GET /metrics/x HTTP/1.1\r\n\r\n"), "HTTP/1.1 404");
  EXPECT_EQ(status("POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), "HTTP/1.1 405");
  EXPECT_EQ(status("GET /metrics HTTP/2.0\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("GET  /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("GET metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("get /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status(std::string_view("\x16\x03\x01\0\n\n\0", 7)), "HTTP/1.1 400");
  EXPECT_EQ(status("\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status(std::string(20'000, 'x')), "HTTP/1.1 400");
  EXPECT_EQ(status("GET /metrics HTTP/1.1\r\nX: " + std::string(9'000, 'x') + "\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(pages, 0);
  EXPECT_EQ(status(kGet), "HTTP/1.1 200");
}

TEST(PageServer, OneResponsePerConnection) {
  std::atomic<int> pages = 0;
  const auto server = served([&] { return std::to_string(++pages); });
  EXPECT_THAT(ask(server->port(), std::string(kGet) + kGet), EndsWith("\r\n\r\n1"));
  EXPECT_EQ(pages, 1);
}

TEST(PageServer, IdleConnectionsAndSlowWritersDoNotBlockOthers) {
  PageOptions options;
  options.patience = std::chrono::hours(1);  // to wait for one of them would not end
  const auto server = served([] { return "page"; }, options);
  std::vector<Client> idle, slow;
  for (int i = 0; i < 100; ++i) idle.emplace_back(server->port());
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(slow.emplace_back(server->port()).send("GET /me"));
  for (int i = 0; i < 20; ++i) EXPECT_THAT(ask(server->port(), kGet), EndsWith("page"));
  EXPECT_TRUE(slow.back().send("trics HTTP/1.1\r\n\r\n"));
  EXPECT_THAT(slow.back().rest(), EndsWith("page")) << "slow, but in time";
  EXPECT_EQ(idle.front().rest(), "") << "the oldest made room";
}

TEST(PageServer, ClosesSilentConnections) {
  PageOptions options;
  options.patience = milliseconds(100);
  const auto server = served([] { return "page"; }, options);
  const Client idle(server->port()), slow(server->port());
  const auto start = std::chrono::steady_clock::now();
  bool open = true;
  while (open && std::chrono::steady_clock::now() - start < seconds(30)) {
    open = slow.send("G") && !slow.pollable(milliseconds(10));
  }
  EXPECT_FALSE(open) << "a byte now and then is not a request";
  EXPECT_EQ(idle.rest(), "");
}

TEST(PageServer, ALargePageReachesASlowReaderAndDoesNotBlockOthers) {
  const std::string page(8'000'000, 'p');
  const auto server = served([&] { return page; });
  const Client reader(server->port());
  EXPECT_TRUE(reader.send(kGet));
  EXPECT_TRUE(reader.pollable(seconds(30)));
  EXPECT_THAT(ask(server->port(), kGet).size(), ::testing::Gt(page.size()))
      << "while the other does not read";
  EXPECT_GT(reader.rest().size(), page.size());
}

TEST(PageServer, APageThatFailsIsAnError) {
  const auto server = served([]() -> std::string { throw std::runtime_error("no page"); });
  EXPECT_THAT(ask(server->port(), kGet), StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(ask(server->port(), kGet), Not(HasSubstr("no page")));
}

TEST(PageServer, StopsWhileConnectionsAreOpen) {
  for (int i = 0; i < 20; ++i) {
    auto server = served([] { return std::string(1'000'000, 'p'); });
    std::vector<Client> clients;
    for (int k = 0; k < 30; ++k) clients.emplace_back(server->port());
    for (int k = 0; k < 10; ++k) EXPECT_TRUE(clients[static_cast<std::size_t>(k)].send(kGet));
    for (int k = 10; k < 20; ++k) EXPECT_TRUE(clients[static_cast<std::size_t>(k)].send("GET"));
    const std::uint16_t port = server->port();
    std::thread other([&] { (void)Client(port).send(kGet); });
    other.join();
    server.reset();
  }
}

TEST(PageServer, AnAddressInUseIsAnError) {
  const auto server = served([] { return "page"; });
  const auto second = PageServer::start({"127.0.0.1", server->port()}, [] { return ""; });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kNetwork);
  EXPECT_FALSE(PageServer::start({"203.0.113.1", 0}, [] { return ""; })) << "not of this machine";
}

TEST(Metrics, AreServedAsPrometheusReadsThem) {
  FederationStatus status;
  status.round = 12;
  NodeStatus node;
  node.name = "a\"b\\c\nd";
  node.samples = 7;
  status.node_list.push_back(node);
  const auto endpoint = serve_metrics("127.0.0.1:0", [&] { return status; }).value();
  const std::string page = ask(endpoint->port(), kGet);
  EXPECT_THAT(page, HasSubstr("\n# TYPE mfl_round gauge\nmfl_round 12\n"));
  EXPECT_THAT(page, HasSubstr("\nmfl_node_samples{node=\"a\\\"b\\\\c\\nd\"} 7\n"));
  const auto second = serve_metrics("127.0.0.1:" + std::to_string(endpoint->port()), [&] { return status; });
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().text(), StartsWith("cannot serve metrics on 127.0.0.1:"));
}

}  // namespace
}  // namespace mfl
