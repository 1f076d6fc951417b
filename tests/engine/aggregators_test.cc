// Every aggregator of the table gives one trajectory, whatever runs it.
#include "tests/engine/aggregators.h"

#include <gtest/gtest.h>

#include "mfl/algorithm/algorithms.h"
#include "tests/base/precisions.h"
#include "tests/engine/federations.h"

namespace mfl {
namespace {

using test::aggregator_specs;
using test::kModels;
using test::make_federation;
using test::train_on;

template <class T>
State<T> trained(const Federation<T>& federation, const std::string& spec,
                 std::unique_ptr<Workers> workers = serial_workers()) {
  const Algorithm algorithm = make_mfl(0.02, 0.5, 3);
  const auto engine = local_engine<T>(federation, {Setting{algorithm, 0.1}}, std::move(workers),
                                      {.aggregator = make_aggregator(spec).value()});
  return train_on(*engine, algorithm, federation.model->parameters(), 12);
}

template <class T>
class Aggregators : public ::testing::Test {};
TYPED_TEST_SUITE(Aggregators, test::Precisions);

TYPED_TEST(Aggregators, ThreadsAndKernelsGiveTheBitsOfTheSerialEngine) {
  const Dataset data = *make_synthetic(400, 50, 1);
  for (const auto& spec : aggregator_specs())
    for (const auto& model : {kModels[1], kModels.back()}) {
      const auto federation = make_federation<TypeParam>(model, data, *iid(400, 9, 3));
      const std::string expected = state_digest(trained(federation, spec));
      for (const unsigned threads : {1, 2, 3, 8})
        EXPECT_EQ(state_digest(trained(federation, spec, thread_workers(threads))), expected)
            << spec << ' ' << threads;
      for (const KernelSet& set : kernel_sets())
        EXPECT_EQ(state_digest(trained(make_federation<TypeParam>(model, data, *iid(400, 9, 3), set), spec)),
                  expected)
            << spec << ' ' << set.name;
    }
}

TYPED_TEST(Aggregators, TheMeanOfTheTableIsThatOfTheEngine) {
  const auto& model = kModels[3];
  const auto federation = make_federation<TypeParam>(model, *make_synthetic(400, 50, 1), *contiguous(400, 7));
  const Algorithm algorithm = make_mfl(0.02, 0.5, 3);
  const auto engine = local_engine<TypeParam>(federation, {Setting{algorithm, 0.1}}, serial_workers());
  EXPECT_EQ(state_digest(train_on(*engine, algorithm, federation.model->parameters(), 12)),
            state_digest(trained(federation, "mean")));
}

TYPED_TEST(Aggregators, EqualNodesMakeClippingWithoutALimitTheMean) {
  const auto& model = kModels[3];
  const auto federation = make_federation<TypeParam>(model, *make_synthetic(400, 50, 1), *iid(400, 8, 3));
  EXPECT_EQ(state_digest(trained(federation, "centred-clipping(inf)")),
            state_digest(trained(federation, "mean")));
  EXPECT_NE(state_digest(trained(federation, "median")), state_digest(trained(federation, "mean")));
}

TYPED_TEST(Aggregators, AVectorThatIsNotFiniteNamesTheNode) {
  const auto& model = kModels[2];
  const auto federation = make_federation<TypeParam>(model, *make_synthetic(600, 50, 6), *contiguous(600, 5));
  const Algorithm algorithm = make_mfl(std::sqrt(std::numeric_limits<TypeParam>::max()), 0.5, 3);
  const auto engine = local_engine<TypeParam>(federation, {Setting{algorithm, 0}}, serial_workers(),
                                              {.aggregator = make_aggregator("median").value()});
  const State<TypeParam> state = initial_state<TypeParam>(algorithm, 50);
  Aggregate<TypeParam> out;
  const auto bad = test::run_round(*engine, state, 3, out);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->node, 0U);
}

}  // namespace
}  // namespace mfl
