#include "mfl/federation/spare_buffers.h"

#include <gtest/gtest.h>

#include <utility>

namespace mfl {
namespace {

TEST(SpareBuffers, MemoryIsUsedAgainOnceNobodyOwnsIt) {
  SpareBuffers spare;
  EXPECT_EQ(spare.take().capacity(), std::string().capacity());
  std::string payload(1000, 'x');
  const char* const memory = payload.data();
  auto held = spare.hold(std::move(payload));
  EXPECT_EQ(*held, std::string(1000, 'x'));
  auto other = held;
  held.reset();
  EXPECT_EQ(spare.take().capacity(), std::string().capacity()) << "it has an owner";
  other.reset();
  const std::string buffer = spare.take();
  EXPECT_EQ(buffer.data(), memory);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(spare.take().capacity(), std::string().capacity());
}

TEST(SpareBuffers, MemoryBeyondTheLimitsIsNotKept) {
  const auto kept = [](SpareBuffers& spare) {
    { const auto one = spare.hold(std::string(1000, 'x')), two = spare.hold(std::string(1000, 'x')); }
    int count = 0;
    while (spare.take().capacity() >= 1000) ++count;
    return count;
  };
  SpareBuffers enough(2, 2000), few(1, 2000), small(2, 1999), tiny(2, 999);
  EXPECT_EQ(kept(enough), 2);
  EXPECT_EQ(kept(few), 1);
  EXPECT_EQ(kept(small), 1);
  EXPECT_EQ(kept(tiny), 0);
}

TEST(SpareBuffers, APayloadMayOutliveThem) {
  std::shared_ptr<const std::string> held;
  { held = SpareBuffers().hold("payload"); }
  EXPECT_EQ(*held, "payload");
}

}  // namespace
}  // namespace mfl
