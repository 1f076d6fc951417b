// Rows read on demand equal those that load() reads, and have the same digest.
#include "mfl/data/rows.h"

#include <numeric>

#include "mfl/data/npy.h"
#include "mfl/data/source.h"
#include "mfl/data/synthetic.h"
#include "tests/data/small_files.h"

namespace mfl::test {
namespace {

void expect_same(const SomeRows& rows, const Dataset& whole) {
  ASSERT_EQ(rows.size(), whole.rows);
  EXPECT_EQ(rows.columns(), whole.columns);
  EXPECT_EQ(rows.labels(), whole.labels);
  EXPECT_EQ(rows.digest().value(), data_digest(whole));
  std::vector<std::uint32_t> some;  // ascending runs, a jump back, and one row twice
  for (std::uint32_t row = 0; row < whole.rows; row += row % 3 == 0 ? 1 : 2) some.push_back(row);
  some.push_back(0);
  some.push_back(static_cast<std::uint32_t>(whole.rows - 1));
  EXPECT_EQ(data_digest(rows.read(some).value()), data_digest(take_rows(whole, some)));
  EXPECT_EQ(rows.read({}).value().rows, 0U);
}

void expect_as_loaded(const DataOptions& options) {
  const auto whole = load(options);
  ASSERT_TRUE(whole) << whole.error().text();
  const auto rows = open_rows(options);
  ASSERT_TRUE(rows) << rows.error().text();
  expect_same(rows->train, whole->train);
  ASSERT_EQ(rows->test.has_value(), whole->test.has_value());
  if (whole->test) expect_same(*rows->test, *whole->test);
}

std::string body(std::size_t size) {
  std::string bytes(size, '\0');
  std::iota(bytes.begin(), bytes.end(), '\1');
  return bytes;
}

TEST(Rows, MatchThoseOfLoadForEveryFormat) {
  const Folder folder;
  folder.write("plain/train-images", idx({9, 2, 3}, body(54)));
  folder.write("plain/train-labels", idx({9}, body(9)));
  folder.write("plain/t10k-images", idx({4, 2, 3}, body(24)));
  folder.write("plain/t10k-labels", idx({4}, body(4)));
  folder.write("packed/train-images.gz", gzip(idx({9, 2, 3}, body(54))));
  folder.write("packed/train-labels.gz", gzip(idx({9}, body(9))));
  folder.write("a.csv", "1,2,1\n2,1,0\n3,5,1\n0,1,0\n9,1,1\n");
  folder.write("a.svm", "1 1:2 3:4\n-1 2:1\n1 1:1 2:2 5:3\n-1 4:1\n");
  folder.write("b.svm", "1 7:2\n-1 2:1\n");
  ASSERT_TRUE(write_npy_folder(folder.path("bytes"), *make_synthetic(30, 7, 2)));
  for (const Precision precision : {Precision::kF32, Precision::kF64}) {
    Dataset data = *make_synthetic(30, 7, 2);
    const auto values = std::get<DenseRows<std::uint8_t>>(data.features).values;
    data.features = DenseRows<double>{{values.begin(), values.end()}};
    ASSERT_TRUE(write_npy_folder(folder.path(precision == Precision::kF32 ? "f4" : "f8"),
                                 with_precision(std::move(data), precision).value()));
  }
  for (const std::string& spec :
       {"idx:" + folder.path("plain").string(), "idx:" + folder.path("packed").string(),
        "csv:" + folder.path("a.csv").string(), "libsvm:" + folder.path("a.svm").string(),
        "npy:" + folder.path("bytes").string(), "npy:" + folder.path("f4").string(),
        "npy:" + folder.path("f8").string(), std::string("synthetic:40x9")})
    for (const Take take : {Take::kFirst, Take::kRandom}) {
      SCOPED_TRACE(spec);
      DataOptions options;
      options.source = spec;
      options.seed = 5;
      options.take = take;
      expect_as_loaded(options);
      options.train = 3;
      options.test = 1;
      options.scale = 0.5;
      expect_as_loaded(options);
    }
  DataOptions wider;  // sparse sets grow to the wider one
  wider.source = "libsvm:" + folder.path("a.svm").string();
  wider.test_source = "libsvm:" + folder.path("b.svm").string();
  expect_as_loaded(wider);
}

TEST(Rows, InMemoryMoveOutIfNobodyElseUsesThem) {
  Dataset data = *make_synthetic(6, 3, 1);
  const std::string digest = data_digest(data);
  const auto place = [](const Dataset& set) {
    return std::get<DenseRows<std::uint8_t>>(set.features).values.data();
  };
  const std::uint8_t* const numbers = place(data);
  std::shared_ptr<RowSource> source = rows_in_memory(std::move(data));
  const auto copied = SomeRows(source).take();
  EXPECT_EQ(data_digest(*copied), digest);
  EXPECT_NE(place(*copied), numbers);
  const auto some = SomeRows(source, {4, 2}).take();
  EXPECT_EQ(data_digest(*some), data_digest(take_rows(*copied, std::vector<std::uint32_t>{4, 2})));
  const auto moved = SomeRows(std::move(source)).take();
  EXPECT_EQ(data_digest(*moved), digest);
  EXPECT_EQ(place(*moved), numbers);
}

TEST(Rows, FailAsLoadDoes) {
  const Folder folder;
  folder.write("short/train-images", idx({9, 2, 3}, body(50)));
  folder.write("short/train-labels", idx({9}, body(9)));
  folder.write("nan/x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1), }\n",
                                raw<float>({1, std::numeric_limits<float>::quiet_NaN(), 3})));
  folder.write("nan/y.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }\n", body(3)));
  folder.write("cut/x.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1), }\n", body(16)));
  folder.write("cut/y.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }\n", body(3)));
  for (const char* name :
       {"idx:short", "npy:cut", "npy:nothing", "csv:nothing", "synthetic:0x5", "nonsense"}) {
    DataOptions options;
    options.source = name;
    const std::size_t colon = options.source.find(':');
    if (colon != std::string::npos && options.source.find('x', colon) == std::string::npos)
      options.source.insert(colon + 1, folder.path().string() + "/");
    const auto rows = open_rows(options);
    const auto whole = load(options);
    ASSERT_FALSE(rows) << name;
    ASSERT_FALSE(whole) << name;
    EXPECT_EQ(rows.error().text(), whole.error().text());
    EXPECT_EQ(rows.error().first_hint(), whole.error().first_hint());
    EXPECT_EQ(rows.error().code, whole.error().code);
  }
  DataOptions nan;
  nan.source = "npy:" + folder.path("nan").string();
  const auto rows = open_rows(nan);
  ASSERT_TRUE(rows);
  const std::vector<std::uint32_t> good = {2, 0}, bad = {0, 1};
  EXPECT_TRUE(rows->train.read(good));
  expect_error(rows->train.read(bad), ErrorCode::kBadData, {"row 1, column 0", "not finite"});
  EXPECT_FALSE(rows->train.digest());
  // A file that shrinks after it was opened.
  folder.write("plain/train-images", idx({9, 2, 3}, body(54)));
  folder.write("plain/train-labels", idx({9}, body(9)));
  DataOptions plain;
  plain.source = "idx:" + folder.path("plain").string();
  const auto opened = open_rows(plain);
  ASSERT_TRUE(opened);
  std::filesystem::resize_file(folder.path("plain/train-images"), 40);
  const std::vector<std::uint32_t> last = {8};
  expect_error(opened->train.read(last), ErrorCode::kBadData, {"truncated"});
}

}  // namespace
}  // namespace mfl::test
