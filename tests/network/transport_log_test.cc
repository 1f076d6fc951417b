#include "mfl/network/transport_log.h"

#include <grpc/support/log.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace mfl {
namespace {

// gRPC logs nothing before it is initialised or told what to log.
class TransportLogs : public ::testing::Test {
 protected:
  void SetUp() override { gpr_set_log_verbosity(GPR_LOG_SEVERITY_INFO); }
};

TEST_F(TransportLogs, CallTheirLogWhileTheyExistAndNotAfter) {
  auto lines = std::make_unique<std::vector<std::string>>();
  {
    const TransportLog registered([&](const LogLine& line) { lines->push_back(line.fields.at(0).second); });
    gpr_log(GPR_ERROR, "a handshake failed");
    gpr_log(GPR_INFO, "of no interest");
    EXPECT_EQ(*lines, std::vector<std::string>{"a handshake failed"});
  }
  lines.reset();
  gpr_log(GPR_ERROR, "nobody listens");
}

TEST_F(TransportLogs, TheNewestIsGivenTheLines) {
  std::vector<std::string> outer, inner;
  const auto append = [](std::vector<std::string>& to) {
    return [&to](const LogLine& line) { to.push_back(line.fields.at(0).second); };
  };
  const TransportLog first(append(outer));
  {
    const TransportLog second(append(inner));
    gpr_log(GPR_ERROR, "one");
  }
  gpr_log(GPR_ERROR, "two");
  EXPECT_EQ(inner, std::vector<std::string>{"one"});
  EXPECT_EQ(outer, std::vector<std::string>{"two"});
}

TEST(Log, SerialisedMeansOneCallAtATime) {
  int inside = 0, most = 0, calls = 0;
  const Log log = serialised([&](const LogLine&) {
    most = std::max(most, ++inside);
    std::this_thread::yield();
    --inside;
    ++calls;
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&log] {
      for (int line = 0; line < 500; ++line) log({});
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(calls, 2000);
  EXPECT_FALSE(serialised({}));
}

}  // namespace
}  // namespace mfl
