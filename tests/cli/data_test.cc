#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "make_files.h"
#include "process.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

TEST(DataInfo, DescribesEveryKindOfSource) {
  const Sandbox box;
  box.write("a.csv", "x,y,label\n0,2,1\n3,0,-1\n0,0,1\n");
  box.write("a.svm", "1 1:0.5 3:2\n-1 2:1\n");
  box.write("n/x.npy", npy("<f4", "(2, 3)", raw<float>({0, 1, 2, 3, 4, 5})));
  box.write("n/y.npy", npy("<i8", "(2,)", raw<std::int64_t>({1, -1})));
  box.write("d/train-images-idx3-ubyte.gz", gzip(idx({2, 2, 2}, std::string(8, '\x10'))));
  box.write("d/train-labels-idx1-ubyte", idx({2}, std::string("\x04\x07")));
  const struct {
    const char* spec;
    int rows, columns;
    const char* storage;
  } table[] = {
      {"csv:a.csv", 3, 2, "f64"}, {"libsvm:a.svm", 2, 3, "sparse f64"}, {"npy:n", 2, 3, "f32"},
      {"idx:d", 2, 4, "bytes"},   {"synthetic:30x8", 30, 8, "bytes"},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(row.spec);
    const auto data = ok_data(box.run({"data", "info", row.spec, "--test", "0", "--json"}));
    EXPECT_EQ(data["spec"], row.spec);
    EXPECT_EQ(data["train"]["rows"], row.rows);
    EXPECT_EQ(data["train"]["columns"], row.columns);
    EXPECT_EQ(data["train"]["storage"], row.storage);
    EXPECT_TRUE(data["test"].is_null());
    for (const char* key : {"scale", "min", "max", "nonzero_share", "zero_columns", "classes", "digest"})
      EXPECT_TRUE(data["train"].contains(key)) << key;
    const Outcome people = box.run({"data", "info", row.spec, "--test", "0"});
    EXPECT_EQ(people.code, 0);
    EXPECT_THAT(people.out, HasSubstr("samples x"));
    EXPECT_EQ(people.err, "");
  }
}

TEST(DataInfo, TakesTheDataFlags) {
  const Sandbox box;
  const auto data = ok_data(box.run({"data", "info", "synthetic:100x8", "--train", "20", "--test", "10",
                                     "--take", "random", "--seed", "7", "--json"}));
  EXPECT_EQ(data["train"]["rows"], 20);
  EXPECT_EQ(data["test"]["rows"], 10);
}

TEST(DataSplit, WritesOneFolderANodeThatCanBeReadBack) {
  const Sandbox box;
  const auto data =
      ok_data(box.run({"data", "split", "synthetic:50x8", "--train", "11", "--nodes", "3", "--partition",
                       "contiguous", "--seed", "1", "--out", "shards", "--json"}));
  ASSERT_EQ(data["nodes"].size(), 3U);
  int total = 0;
  for (const auto& node : data["nodes"]) {
    const std::string folder = "shards/" + node["folder"].get<std::string>();
    const auto info = ok_data(box.run({"data", "info", "npy:" + folder, "--json"}));
    EXPECT_EQ(info["train"]["rows"], node["samples"]);
    EXPECT_EQ(info["train"]["columns"], 8);
    total += node["samples"].get<int>();
  }
  EXPECT_EQ(total, 11);
  EXPECT_EQ(data["nodes"][0]["samples"], 4);
}

TEST(DataFetch, WrongFilesLeaveNothingBehind) {
  const Sandbox box;
  for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                           "t10k-labels-idx1-ubyte"})
    box.write(std::string("m/") + name, "not mnist");
  const auto before = box.files();
  expect_error(box.run({"data", "fetch", "mnist", "--from", "m", "--quiet"}), 3, {"m"});
  auto after = box.files();
  std::erase_if(after, [](const auto& file) { return file.second == "(folder)"; });
  auto expected = before;
  std::erase_if(expected, [](const auto& file) { return file.second == "(folder)"; });
  EXPECT_EQ(after, expected);
}

}  // namespace
}  // namespace mfl::test
