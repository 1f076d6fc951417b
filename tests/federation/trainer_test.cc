// A node does the work of its plan and no other, and stops when it is told to.
#include "mfl/federation/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>

#include "mfl/algorithm/algorithms.h"
#include "mfl/federation/payload.h"
#include "reference.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

Assignment task_of(std::uint64_t steps, float value = 0) {
  return {kRun,
          {1, 3, 1},
          steps,
          {},
          {{"w", "f32", kColumns}, {"d", "f32", kColumns}},
          0,
          std::make_shared<const std::string>(to_payload(
              std::vector<Vector<float>>{Vector<float>(kColumns, value), Vector<float>(kColumns)}))};
}

TEST(Trainer, RefusesATaskThatIsNotOfItsPlan) {
  Reference reference(make_mfl(0.1, 0.5, 4), 1, 8);
  Trainer& trainer = reference.trainer(0);
  EXPECT_TRUE(trainer.train(task_of(4)));
  EXPECT_TRUE(trainer.train(task_of(1)));
  const auto many = trainer.train(task_of(5));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::kNetwork);
  EXPECT_THAT(many.error().message, HasSubstr("asks for 5 steps in round 3, and tau is 4"));
  const auto bad = trainer.train(task_of(4, std::numeric_limits<float>::infinity()));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kNetwork);
  EXPECT_THAT(bad.error().message, HasSubstr("w[0] of the server's State for round 3 is not finite"));
}

// Without the flag the task would take hours.
TEST(Trainer, StopsInsideATask) {
  for (const unsigned threads : {1U, 2U}) {
    Dataset data;
    data.rows = 2'000;
    data.columns = 200;
    data.features = DenseRows<float>{std::vector<float>(data.rows * data.columns, 0.5F)};
    const std::vector<double> targets(data.rows, 1);
    data.labels = targets;
    const std::size_t rows = data.rows;
    const Federation<float> federation{linear_model<float>(Loss::kSquaredHinge, 200),
                                       Samples<float>(std::move(data), targets),
                                       {{0, rows}},
                                       std::nullopt};
    const Algorithm algorithm = make_fl(1e-9, std::uint64_t{1} << 40U);
    std::atomic<bool> stop = false;
    const auto trainer =
        make_trainer<float>(federation, Setting{algorithm, 0}, thread_workers(threads), &stop);
    Assignment task = task_of(std::uint64_t{1} << 40U);
    task.blocks = {{"w", "f32", 200}};
    task.payload = std::make_shared<const std::string>(200 * sizeof(float), '\0');
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      stop = true;
    });
    const auto result = trainer->train(task);
    later.join();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kRunFailed);
    EXPECT_THAT(result.error().message, HasSubstr("stopped in round 3"));
  }
}

}  // namespace
}  // namespace mfl::test
