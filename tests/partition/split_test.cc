#include "mfl/partition/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "mfl/base/files.h"
#include "mfl/data/npy.h"

namespace mfl::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

Dataset five() {
  return {.rows = 5,
          .columns = 2,
          .scale = 1.0 / 255,
          .features = DenseRows<std::uint8_t>{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
          .labels = {4, 3, 2, 1, 0}};
}

class Split : public ::testing::Test {
 protected:
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }
  TempFolder folder_ = *TempFolder::make();
  fs::path out_ = folder_.path() / "out";
};

TEST_F(Split, EachFolderIsANodesData) {
  const Dataset data = five();
  const Partition partition = *iid(5, 2, 3);
  const auto done = split_to_folders(data, partition, out_ / "");
  ASSERT_TRUE(done) << done.error().text();
  for (std::size_t i = 0; i < 2; ++i) {
    const fs::path node = out_ / (i == 0 ? "node-0000" : "node-0001");
    const auto back = read_npy(node / "x.npy", node / "y.npy");
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(data_digest(*back), data_digest(take_rows(data, partition.node(i))));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(out_), {}), 2);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Split, MakesParentsAndTakesAnEmptyFolder) {
  EXPECT_TRUE(split_to_folders(five(), *contiguous(5, 5), out_ / "a" / "b"));
  fs::create_directory(folder_.path() / "empty");
  EXPECT_TRUE(split_to_folders(five(), *contiguous(5, 1), folder_.path() / "empty"));
  EXPECT_TRUE(fs::exists(folder_.path() / "empty" / "node-0000" / "x.npy"));
}

TEST_F(Split, RefusesAFolderWithFiles) {
  fs::create_directory(out_);
  std::ofstream(out_ / "keep") << "me";
  const auto folder = split_to_folders(five(), *contiguous(5, 2), out_);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kBadConfig);
  EXPECT_THAT(folder.error().message, HasSubstr(out_.string()));
  const auto file = split_to_folders(five(), *contiguous(5, 2), out_ / "keep");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(*read_file(out_ / "keep"), "me");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Split, AFailureLeavesNothingBehind) {
  // The first node is small enough to be written, the second is not.
  const std::size_t rows = 5;
  const Dataset data{.rows = rows,
                     .columns = (std::size_t{1} << 27) + 1,
                     .scale = 1,
                     .features = SparseRows<double>{std::vector<std::uint64_t>(rows + 1), {}, {}},
                     .labels = std::vector<double>(rows)};
  Partition partition;
  partition.order = {0, 1, 2, 3, 4};
  partition.starts = {0, 0, 5};
  const auto failed = split_to_folders(data, partition, out_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kBadData);
  EXPECT_EQ(entries(), 0U);
}

}  // namespace
}  // namespace mfl::test
