// Partitions that must be refused.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>

#include "mfl/partition/partitions.h"

namespace mfl::test {

inline Error refusal(const std::string& spec, std::span<const double> labels, std::size_t nodes) {
  const auto refused = make_partition(spec, {labels, nodes, 1});
  EXPECT_FALSE(refused) << spec;
  if (refused) return {};
  EXPECT_EQ(refused.error().code, ErrorCode::kBadConfig) << spec;
  EXPECT_FALSE(refused.error().hint.empty()) << spec;
  return refused.error();
}

}  // namespace mfl::test
