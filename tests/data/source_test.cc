#include "mfl/data/source.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "tests/data/small_files.h"

namespace mfl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

DataOptions from(const std::string& source) {
  DataOptions options;
  options.source = source;
  return options;
}

// Ten rows whose label is their number.
std::string ten_rows(const Folder& folder) {
  std::string text;
  for (int row = 0; row < 10; ++row) text += fmt::format("{},{}\n", row + 100, row);
  return "csv:" + folder.write("ten.csv", text).string();
}

std::string idx_folder(const Folder& folder, bool with_test) {
  folder.write("idx/my-train-images.idx3.gz", gzip(idx({3, 1, 2}, "abcdef")));
  folder.write("idx/my-train-labels", idx({3}, "\1\2\3"));
  if (with_test) folder.write("idx/my-t10k-images", idx({2, 1, 2}, "ghij"));
  if (with_test) folder.write("idx/my-t10k-labels", idx({2}, "\4\5"));
  return "idx:" + folder.path("idx").string();
}

TEST(Load, IdxServesItsOwnTestPart) {
  const Folder folder;
  DataOptions options = from(idx_folder(folder, true));
  const auto all = load(options);
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_THAT(all->train.labels, ElementsAre(1, 2, 3));
  EXPECT_THAT(all->test->labels, ElementsAre(4, 5));
  EXPECT_EQ(all->train.scale, 1.0 / 255);
  options.train = 2;
  options.test = 1;
  options.scale = 1;
  const auto some = load(options);
  EXPECT_THAT(some->train.labels, ElementsAre(1, 2));
  EXPECT_THAT(some->test->labels, ElementsAre(4));
  EXPECT_EQ(some->train.scale, 1);
  EXPECT_EQ(some->test->scale, 1);
  options.test = 0;
  EXPECT_FALSE(load(options)->test.has_value());
}

TEST(Load, IdxWithoutTestPartIsOnePool) {
  const Folder folder;
  DataOptions options = from(idx_folder(folder, false));
  EXPECT_FALSE(load(options)->test.has_value());
  options.test = 1;
  const auto sets = load(options);
  EXPECT_THAT(sets->train.labels, ElementsAre(1, 2));
  EXPECT_THAT(sets->test->labels, ElementsAre(3));
}

TEST(Load, IdxFolderProblemsAreNamed) {
  const Folder folder;
  const std::string source = idx_folder(folder, true);
  std::filesystem::remove(folder.path("idx/my-t10k-labels"));
  expect_error(load(from(source)), ErrorCode::kBadData, {"t10k-images", "no t10k-labels"});
  folder.write("idx/your-train-images", "");
  expect_error(load(from(source)), ErrorCode::kBadData, {"my-train-images.idx3.gz", "your-train-images"});
  expect_error(load(from("idx:" + folder.path("none").string())), ErrorCode::kBadData, {"none"});
  folder.write("empty/readme", "");
  expect_error(load(from("idx:" + folder.path("empty").string())), ErrorCode::kBadData, {"train-images"});
}

TEST(Load, MnistIsTheCacheFolder) {
  const Folder folder;
  ::setenv("MFL_CACHE", folder.path("cache").c_str(), 1);
  const auto missing = load(from("mnist"));
  expect_error(missing, ErrorCode::kBadData, {folder.path("cache/mnist").string()});
  EXPECT_EQ(missing.error().hint, "run: mfl data fetch mnist");
  folder.write("cache/mnist/train-images-idx3-ubyte", idx({1, 1, 1}, "a"));
  folder.write("cache/mnist/train-labels-idx1-ubyte", idx({1}, "\6"));
  EXPECT_THAT(load(from("mnist"))->train.labels, ElementsAre(6));
  ::unsetenv("MFL_CACHE");
}

TEST(Load, OnePoolIsSplitWithoutOverlap) {
  const Folder folder;
  DataOptions options = from(ten_rows(folder));
  EXPECT_EQ(load(options)->train.rows, 10U);
  EXPECT_FALSE(load(options)->test.has_value());
  options.test = 3;
  EXPECT_EQ(load(options)->train.rows, 7U);
  options.train = 4;
  const auto sets = load(options);
  EXPECT_THAT(sets->train.labels, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(sets->test->labels, ElementsAre(4, 5, 6));
}

TEST(Load, RandomIsSeededWithoutReplacementAndDisjoint) {
  const Folder folder;
  DataOptions options = from(ten_rows(folder));
  options.take = Take::kRandom;
  options.train = 6;
  options.test = 4;
  const auto once = load(options);
  ASSERT_TRUE(once) << once.error().text();
  std::vector<double> labels = once->train.labels;
  labels.insert(labels.end(), once->test->labels.begin(), once->test->labels.end());
  EXPECT_THAT(labels, ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_FALSE(std::is_sorted(labels.begin(), labels.end()));
  EXPECT_EQ(data_digest(load(options)->train), data_digest(once->train));
  options.train = 3;
  const auto fewer = load(options);
  EXPECT_TRUE(std::equal(fewer->train.labels.begin(), fewer->train.labels.end(), once->train.labels.begin()));
  options.train = 6;
  options.seed = 1;
  EXPECT_NE(data_digest(load(options)->train), data_digest(once->train));
}

TEST(Load, AskingForTooManySamplesNamesTheirNumber) {
  const Folder folder;
  DataOptions options = from(ten_rows(folder));
  options.train = 11;
  expect_error(load(options), ErrorCode::kBadData, {"11 training", "has 10"});
  options.train = 6;
  options.test = 5;
  expect_error(load(options), ErrorCode::kBadData, {"6 training and 5 test", "has 10"});
  options.train.reset();
  options.test = 10;
  expect_error(load(options), ErrorCode::kBadData, {"10 test", "has 10"});
  options.test = 11;
  expect_error(load(options), ErrorCode::kBadData, {"11 test", "has 10"});
  DataOptions own = from(idx_folder(folder, true));
  own.test = 3;
  expect_error(load(own), ErrorCode::kBadData, {"3 test", "has 2"});
  own.test = 1;
  own.train = 4;
  expect_error(load(own), ErrorCode::kBadData, {"4 training", "has 3"});
}

TEST(Load, NpyWithAndWithoutTestFiles) {
  const Folder folder;
  const std::string x =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", raw<float>({1, 2}));
  const std::string y = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", "\5");
  folder.write("x.npy", x);
  folder.write("y.npy", y);
  const DataOptions options = from("npy:" + folder.path().string());
  EXPECT_FALSE(load(options)->test.has_value());
  folder.write("x_test.npy", x);
  expect_error(load(options), ErrorCode::kBadData, {"y_test.npy"});
  folder.write("y_test.npy", y);
  EXPECT_THAT(load(options)->test->labels, ElementsAre(5));
}

TEST(Load, LibsvmColumnsAreUnified) {
  const Folder folder;
  DataOptions options = from("libsvm:" + folder.write("a", "1 2:1\n").string());
  options.test_source = "libsvm:" + folder.write("b", "1 5:1\n-1 1:1\n").string();
  for (int turn = 0; turn < 2; ++turn) {
    const auto sets = load(options);
    ASSERT_TRUE(sets) << sets.error().text();
    EXPECT_EQ(sets->train.columns, 5U);
    EXPECT_EQ(sets->test->columns, 5U);
    std::swap(options.source, options.test_source);
  }
}

TEST(Load, TestSourceMustFit) {
  const Folder folder;
  DataOptions options = from(ten_rows(folder));
  options.test_source = "csv:" + folder.write("wide.csv", "1,2,3\n").string();
  expect_error(load(options), ErrorCode::kBadData, {"1 columns for training, 2 for testing", "wide.csv"});
  options.test_source = "csv:" + folder.write("fits.csv", "1,2\n").string();
  const auto sets = load(options);
  EXPECT_EQ(sets->train.rows, 10U);
  EXPECT_THAT(sets->test->labels, ElementsAre(2));
}

TEST(Load, Synthetic) {
  DataOptions options = from("synthetic:30x4");
  EXPECT_EQ(load(options)->train.rows, 30U);
  EXPECT_EQ(load(options)->train.columns, 4U);
  options = from("synthetic");
  const auto halves = load(options);
  EXPECT_EQ(halves->train.rows, 5000U);
  EXPECT_EQ(halves->train.columns, 784U);
  EXPECT_EQ(halves->test->rows, 5000U);
  options.train = 9000;
  EXPECT_EQ(load(options)->test->rows, 1000U);
  for (const char* spec :
       {"synthetic:30", "synthetic:x", "synthetic:3x4x5", "synthetic:-1x4", "synthetic:0x4"})
    EXPECT_EQ(load(from(spec)).error().code, ErrorCode::kBadConfig) << spec;
}

TEST(Load, BadSpecsAndOptionsAreConfiguration) {
  expect_error(load(from("minst")), ErrorCode::kBadConfig, {"\"minst\"; did you mean \"mnist\"?"});
  expect_error(load(from("libsv:a")), ErrorCode::kBadConfig, {"did you mean \"libsvm\"?"});
  EXPECT_THAT(load(from("nothing")).error().hint, HasSubstr("npy"));
  expect_error(load(from("")), ErrorCode::kBadConfig, {"missing data source"});
  expect_error(load(from("csv")), ErrorCode::kBadConfig, {"csv: missing FILE"});
  expect_error(load(from("csv:")), ErrorCode::kBadConfig, {"csv: missing FILE"});
  expect_error(load(from("mnist:a")), ErrorCode::kBadConfig, {"mnist: unexpected \":a\""});
  DataOptions options = from("synthetic:4x4");
  options.train = 0;
  expect_error(load(options), ErrorCode::kBadConfig, {"0 training"});
  options.train = 1;
  for (const double scale :
       {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    options.scale = scale;
    expect_error(load(options), ErrorCode::kBadConfig, {"scale"});
  }
}

TEST(Load, CsvOptionsReachTheReader) {
  const Folder folder;
  DataOptions options = from("csv:" + folder.write("a.csv", "1,2\n3,4\n").string());
  options.csv.label = "0";
  options.csv.header = CsvHeader::kYes;
  EXPECT_THAT(load(options)->train.labels, ElementsAre(3));
}

TEST(Load, FilesWithColumnsInAnotherOrderAreReadAlike) {
  const Folder folder;
  DataOptions options = from("csv:" + folder.write("a.csv", "id;age;bmi;y\nu;1;2;0\nv;3;4;1\n").string());
  options.test_source = "csv:" + folder.write("b.csv", "bmi;y;age\n6;1;5\n").string();
  options.csv = {.label = "y", .features = {"age", "bmi"}, .separator = ';'};
  const auto data = load(options);
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_THAT(std::get<DenseRows<double>>(data->train.features).values, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(std::get<DenseRows<double>>(data->test->features).values, ElementsAre(5, 6));
  const auto rows = open_rows(options);
  ASSERT_TRUE(rows) << rows.error().text();
  EXPECT_EQ(rows->train.shape().columns, 2U);
  options.csv.drop = {"id"};
  expect_error(load(options), ErrorCode::kBadConfig, {options.test_source.substr(4), "'id'"});
}

TEST(Load, ColumnsAreForCsvFiles) {
  const struct {
    CsvOptions csv;
    const char* key;
  } table[] = {
      {{.drop = {"0"}}, "drop"}, {{.features = {"0"}}, "features"}, {{.separator = ';'}, "separator"}};
  for (const auto& row : table) {
    DataOptions options = from("synthetic:4x4");
    options.csv = row.csv;
    expect_error(load(options), ErrorCode::kBadConfig, {row.key, "CSV", "synthetic:4x4"});
    expect_error(open_rows(options), ErrorCode::kBadConfig, {row.key});
  }
}

}  // namespace
}  // namespace mfl::test
