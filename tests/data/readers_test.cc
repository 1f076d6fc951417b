// Readers on valid files.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "mfl/data/csv.h"
#include "mfl/data/idx.h"
#include "mfl/data/libsvm.h"
#include "mfl/data/npy.h"
#include "tests/data/small_files.h"

namespace mfl::test {
namespace {

using ::testing::ElementsAre;

template <class X>
const std::vector<X>& dense(const Dataset& data) {
  return std::get<DenseRows<X>>(data.features).values;
}

const std::string kImages = idx({2, 1, 3}, std::string("\0\1\2\3\4\xff", 6));
const std::string kLabels = idx({2}, "\7\1");

TEST(Idx, PlainAndPackedGiveTheSameBytes) {
  const Folder folder;
  const std::string split = gzip(kImages.substr(0, 10)) + gzip(kImages.substr(10));
  for (const std::string& bytes : {kImages, gzip(kImages), split}) {
    const auto data = read_idx(folder.write("images", bytes), folder.write("labels", kLabels));
    ASSERT_TRUE(data) << data.error().text();
    EXPECT_EQ(data->rows, 2U);
    EXPECT_EQ(data->columns, 3U);
    EXPECT_EQ(data->scale, 1.0 / 255);
    EXPECT_THAT(dense<std::uint8_t>(*data), ElementsAre(0, 1, 2, 3, 4, 255));
    EXPECT_THAT(data->labels, ElementsAre(7, 1));
  }
}

TEST(Idx, RankTwoIsOneRowPerImage) {
  const Folder folder;
  const auto data =
      read_idx(folder.write("images", idx({2, 2}, "abcd")), folder.write("labels", gzip(kLabels)));
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_EQ(data->columns, 2U);
}

TEST(Csv, AColumnNamesTheNodeOfEachRow) {
  const Folder folder;
  const auto path = folder.write("a.csv", "x,site,y\n1,10,0\n2,b,1\n3,9,0\n4,\"b\",1\n5,a,1\n");
  for (const char* column : {"site", "1"}) {
    const auto data = read_csv(path, {.group = column});
    ASSERT_TRUE(data) << data.error().text();
    EXPECT_EQ(data->columns, 1U);
    EXPECT_THAT(data->origin->groups, ElementsAre("9", "10", "a", "b"));
    EXPECT_THAT(data->groups, ElementsAre(1, 3, 0, 3, 2));
    EXPECT_THAT(data->labels, ElementsAre(0, 1, 0, 1, 1));
    const std::vector<std::uint32_t> some = {4, 0};
    EXPECT_THAT(take_rows(*data, some).groups, ElementsAre(2, 1));
    const std::vector<std::uint32_t> turned = {4, 3, 2, 1, 0};
    EXPECT_THAT(reordered(*data, turned).groups, ElementsAre(2, 3, 0, 3, 1));
  }
  EXPECT_THAT(read_csv(folder.write("b.csv", "1,2,p\n3,4,q\n"), {.group = "2"})->groups, ElementsAre(0, 1));
  EXPECT_THAT(read_csv(folder.write("b.csv", "1,2,p\n3,4,q\n"), {.group = "2"})->labels, ElementsAre(2, 4));
  EXPECT_TRUE(read_csv(path, {.drop = {"site"}})->groups.empty());
}

TEST(Csv, AnUnusableColumnOfNodesIsRefused) {
  const Folder folder;
  const auto path = folder.write("a.csv", "x,site,y\n1,a,0\n2,,1\n");
  const auto says = [&](const CsvOptions& options) { return read_csv(path, options).error().text(); };
  EXPECT_THAT(says({.group = "site"}), ::testing::HasSubstr("line 3"));
  EXPECT_THAT(says({.group = "sites"}), ::testing::HasSubstr("no column of nodes named 'sites'"));
  EXPECT_THAT(says({.label = "site", .group = "site"}),
              ::testing::HasSubstr("is the label and names the nodes"));
  EXPECT_THAT(says({.features = {"site"}, .group = "site"}),
              ::testing::HasSubstr("is in features and names the nodes"));
}

TEST(Csv, LabelIsTheLastColumnUnlessSaid) {
  const Folder folder;
  const auto data = read_csv(folder.write("a.csv", "1,2,3\n4,5e-1,-6\n"));
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_EQ(data->rows, 2U);
  EXPECT_EQ(data->columns, 2U);
  EXPECT_EQ(data->scale, 1);
  EXPECT_THAT(dense<double>(*data), ElementsAre(1, 2, 4, 0.5));
  EXPECT_THAT(data->labels, ElementsAre(3, -6));
}

TEST(Csv, LabelColumnByNameAndNumber) {
  const Folder folder;
  const auto path = folder.write("a.csv", "one,class,two\n1,2,3\n");
  for (const char* label : {"class", "1"}) {
    const auto data = read_csv(path, {label, CsvHeader::kAuto});
    ASSERT_TRUE(data) << data.error().text();
    EXPECT_THAT(data->labels, ElementsAre(2));
    EXPECT_THAT(dense<double>(*data), ElementsAre(1, 3));
  }
}

TEST(Csv, BadLabelColumnIsConfiguration) {
  const Folder folder;
  const auto path = folder.write("a.csv", "one,class,class\n1,2,3\n");
  const auto label = [&](const char* name) { return read_csv(path, {name, CsvHeader::kAuto}); };
  expect_error(label("clas"), ErrorCode::kBadConfig, {path.string(), "'clas'"});
  EXPECT_THAT(label("clas").error().hint, ::testing::HasSubstr("class"));
  expect_error(label("class"), ErrorCode::kBadConfig, {"more than one"});
  expect_error(label("3"), ErrorCode::kBadConfig, {"column 3", "there are 3"});
  expect_error(read_csv(path, {"one", CsvHeader::kNo}), ErrorCode::kBadConfig, {"no header"});
}

TEST(Csv, HeaderCanBeForced) {
  const Folder folder;
  const auto path = folder.write("a.csv", "1,2\n3,4\n");
  EXPECT_EQ(read_csv(path)->rows, 2U);
  EXPECT_EQ(read_csv(path, {"last", CsvHeader::kYes})->rows, 1U);
  const auto names = folder.write("b.csv", "a,b\n3,4\n");
  EXPECT_EQ(read_csv(names)->rows, 1U);
  expect_error(read_csv(names, {"last", CsvHeader::kNo}), ErrorCode::kBadData, {"line 1", "column 1", "'a'"});
}

TEST(Csv, QuotesBlanksCarriageReturnsAndByteOrderMark) {
  const Folder folder;
  const auto data =
      read_csv(folder.write("a.csv", "\xef\xbb\xbf\"a, \"\"b\"\"\",y\r\n \"1\" , +2\r\n\t3,\"4\"\r\n\r\n"),
               {"y", CsvHeader::kAuto});
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_THAT(dense<double>(*data), ElementsAre(1, 3));
  EXPECT_THAT(data->labels, ElementsAre(2, 4));
}

const char* const kPatients = "id,age,bmi,kind,notes\np1,30,2.5,sick,\np2,40,3.5,well,\"a, b\"\n";

TEST(Csv, DroppedColumnsMayHoldAnything) {
  const Folder folder;
  const auto path = folder.write("a.csv", kPatients);
  for (const std::vector<std::string>& drop :
       {std::vector<std::string>{"id", "notes"}, {"4", "id"}, {"0", "4"}}) {
    const auto data = read_csv(path, {.drop = drop});
    ASSERT_TRUE(data) << data.error().text();
    EXPECT_THAT(dense<double>(*data), ElementsAre(30, 2.5, 40, 3.5));
    EXPECT_THAT(data->origin->features, ElementsAre("age", "bmi"));
    EXPECT_THAT(data->origin->classes, ElementsAre("sick", "well"));
    EXPECT_EQ(data->origin->label_column, 4U);
    EXPECT_EQ(data->origin->table_columns, 5U);
  }
}

TEST(Csv, FeaturesAreTakenInTheOrderNamed) {
  const Folder folder;
  const auto path = folder.write("a.csv", kPatients);
  for (const std::vector<std::string>& features : {std::vector<std::string>{"bmi", "age"}, {"2", "1"}}) {
    const auto data = read_csv(path, {.label = "kind", .features = features});
    ASSERT_TRUE(data) << data.error().text();
    EXPECT_THAT(dense<double>(*data), ElementsAre(2.5, 30, 3.5, 40));
    EXPECT_THAT(data->origin->features, ElementsAre("bmi", "age"));
  }
}

TEST(Csv, ColumnsThatAreNotReadSayNothingAboutAHeader) {
  const Folder folder;
  const auto path = folder.write("a.csv", "p1,1,2,0\np2,3,4,1\n");
  EXPECT_EQ(read_csv(path, {.drop = {"0"}})->rows, 2U);
  EXPECT_EQ(read_csv(path, {.features = {"2"}})->rows, 2U);
  EXPECT_EQ(read_csv(folder.write("b.csv", "p1,1,yes\np2,3,no\np3,4,yes\n"), {.drop = {"0"}})->rows, 3U);
  const auto named = read_csv(folder.write("c.csv", "id,1,2\np1,3,4\n"), {.drop = {"id"}});
  ASSERT_TRUE(named) << named.error().text();
  EXPECT_EQ(named->rows, 1U);
}

TEST(Csv, BadChoicesOfColumnsAreConfiguration) {
  const Folder folder;
  const auto path = folder.write("a.csv", kPatients);
  const auto refused = [&](const CsvOptions& options, const std::vector<std::string>& says,
                           const char* hint) {
    const auto data = read_csv(path, options);
    expect_error(data, ErrorCode::kBadConfig, says);
    EXPECT_THAT(data.error().hint, ::testing::HasSubstr(hint));
  };
  refused({.drop = {"note"}}, {path.string(), "column to drop", "'note'"}, "did you mean 'notes'?");
  refused({.features = {"AGE"}}, {"feature column", "'AGE'"}, "did you mean 'age'?");
  refused({.drop = {"5"}}, {"no column to drop 5", "there are 5"}, "the last one is 4");
  refused({.drop = {"age"}, .features = {"1"}}, {"'age'", "features", "drop"}, "one of them");
  refused({.features = {"age", "1"}}, {"'age'", "twice"}, "once");
  refused({.features = {"notes"}}, {"'notes'", "the label"}, "--label");
  refused({.label = "kind", .drop = {"kind"}}, {"'kind'", "dropped"}, "another label");
  refused({.label = "kind", .drop = {"0", "1", "2", "4"}}, {"no features"}, "fewer");
  refused({.header = CsvHeader::kNo, .features = {"age"}}, {"'age'", "no header"}, "number");
}

TEST(Csv, OtherSeparators) {
  const Folder folder;
  for (const char separator : {',', ';', '|', '\t'}) {
    std::string text = "a;\"b;c\";y\r\n1; 2 ;x\r\n\"3\"; \"4\" ;\"u;v\"\r\n \r\n";
    std::ranges::replace(text, ';', separator);
    const auto data = read_csv(folder.write("a.csv", text), {.separator = separator});
    ASSERT_TRUE(data) << data.error().text();
    EXPECT_THAT(dense<double>(*data), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(data->origin->classes, ElementsAre(std::string("u") + separator + "v", "x"));
  }
  const auto tabs =
      read_csv(folder.write("b.csv", "a\tb\tc\n1\t2\t\n3\t4\t\n"), {.drop = {"c"}, .separator = '\t'});
  ASSERT_TRUE(tabs) << tabs.error().text();
  EXPECT_THAT(tabs->labels, ElementsAre(2, 4));
}

TEST(Csv, ASeparatorThatTheFileDoesNotHaveIsNamed) {
  const Folder folder;
  const auto hint = [&](std::string_view text, char separator) {
    const auto data = read_csv(folder.write("a.csv", text), {.separator = separator});
    expect_error(data, ErrorCode::kBadData, {"line 1", "one column"});
    return data.error().hint;
  };
  EXPECT_THAT(hint("a;b;c\n1;2;3\n", ','), ::testing::HasSubstr("--separator ';'"));
  EXPECT_THAT(hint("a\tb\n1\t2\n", ','), ::testing::HasSubstr("--separator tab"));
  EXPECT_THAT(hint("a,b\n1,2\n", ';'), ::testing::HasSubstr("--separator ','"));
  EXPECT_EQ(hint("a\n1\n", '|'), "separate fields with bars");
  const auto ragged = read_csv(folder.write("b.csv", "1;2\n3\n"), {.separator = ';'});
  EXPECT_THAT(ragged.error().hint, ::testing::HasSubstr("semicolons"));
  const auto decimal =
      read_csv(folder.write("c.csv", "1,5;2\n3;4\n"), {.header = CsvHeader::kNo, .separator = ';'});
  EXPECT_THAT(decimal.error().hint, ::testing::HasSubstr("decimal point"));
}

TEST(Csv, NamesOfAHeaderInLatin1AreFound) {
  const Folder folder;
  const auto data = read_csv(folder.write("a.csv",
                                          "gr\xf6\xdf"
                                          "e,y\n1,2\n"),
                             {.features = {"gr\xc3\xb6\xc3\x9f"
                                           "e"}});
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_THAT(dense<double>(*data), ElementsAre(1));
}

TEST(Numbers, MatchThoseOfFromChars) {
  EXPECT_TRUE(rc::check([] {
    const auto digits = [](int most) {
      return *rc::gen::container<std::string>(static_cast<std::size_t>(*rc::gen::inRange(0, most)),
                                              rc::gen::inRange('0', static_cast<char>('9' + 1)));
    };
    std::string text =
        *rc::gen::element<std::string>("", "-", "--", "+") + digits(22) +
        *rc::gen::element<std::string>("", ".", ".") + digits(25) +
        *rc::gen::element<std::string>("", "", "e3", "e-300", "E", "e999", " ", ",1", "x", "inf");
    double expected = 0, value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, expected);
    const char* const at = read_number(text.data(), end, value);
    RC_ASSERT((at == nullptr) == (error != std::errc{}));
    if (at == nullptr) return;
    RC_ASSERT(at == stop);
    RC_ASSERT(std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(expected));
  }));
}

TEST(Libsvm, StaysSparse) {
  const Folder folder;
  const auto data = read_libsvm(folder.write("a", "# head\n+1 1:0.5 4:-2 # tail\r\n\n-1\n0\t2:3  \n"));
  ASSERT_TRUE(data) << data.error().text();
  const auto& rows = std::get<SparseRows<double>>(data->features);
  EXPECT_EQ(data->rows, 3U);
  EXPECT_EQ(data->columns, 4U);
  EXPECT_THAT(rows.starts, ElementsAre(0, 2, 2, 3));
  EXPECT_THAT(rows.columns, ElementsAre(0, 3, 1));
  EXPECT_THAT(rows.values, ElementsAre(0.5, -2, 3));
  EXPECT_THAT(data->labels, ElementsAre(1, -1, 0));
  EXPECT_EQ(read_libsvm(folder.path("a"), 10)->columns, 10U);
}

TEST(Npy, EveryLabelTypeIsRead) {
  const Folder folder;
  const auto x =
      folder.write("x.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1), }", "ab"));
  const auto check = [&](std::string_view type, const std::string& body) {
    const auto y = folder.write(
        "y.npy", npy(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (2,), }}", type), body));
    const auto data = read_npy(x, y);
    ASSERT_TRUE(data) << data.error().text();
    EXPECT_THAT(data->labels, ElementsAre(0, 1)) << type;
    EXPECT_EQ(data->scale, 1.0 / 255);
  };
  check("|b1", raw<std::uint8_t>({0, 1}));
  check("|u1", raw<std::uint8_t>({0, 1}));
  check("|i1", raw<std::int8_t>({0, 1}));
  check("<i2", raw<std::int16_t>({0, 1}));
  check("<u2", raw<std::uint16_t>({0, 1}));
  check("<i4", raw<std::int32_t>({0, 1}));
  check("<u4", raw<std::uint32_t>({0, 1}));
  check("<i8", raw<std::int64_t>({0, 1}));
  check("<u8", raw<std::uint64_t>({0, 1}));
  check("<f4", raw<float>({0, 1}));
  check("<f8", raw<double>({0, 1}));
}

TEST(Npy, VersionTwoAndAnyOrderOfKeys) {
  const Folder folder;
  const auto x = folder.write(
      "x.npy", npy("{\"shape\":(1,2),'fortran_order':False,'descr':'<f4'}\n", raw<float>({1, -2}), 2));
  const auto y = folder.write("y.npy", npy("{'descr': '|i1', 'fortran_order': True, 'shape': (1,)}", "\xff"));
  const auto data = read_npy(x, y);
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_THAT(dense<float>(*data), ElementsAre(1, -2));
  EXPECT_THAT(data->labels, ElementsAre(-1));
  EXPECT_EQ(data->scale, 1);
}

TEST(Npy, AVectorIsWrittenAsNumpyWritesIt) {
  const Folder folder;
  ASSERT_TRUE(write_npy(folder.path("w.npy"), std::vector<float>{1, 2}));
  const std::string bytes = *read_file(folder.path("w.npy"));
  ASSERT_EQ(bytes.size(), 128U + 8);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\1\0\x76\0", 10));
  EXPECT_EQ(bytes.substr(10, 56), "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), ");
  EXPECT_EQ(bytes[127], '\n');
  EXPECT_EQ(bytes.substr(128), raw<float>({1, 2}));
  ASSERT_TRUE(write_npy(folder.path("v.npy"), std::vector<double>{3}));
  EXPECT_EQ(read_file(folder.path("v.npy"))->substr(128), raw<double>({3}));
}

TEST(Npy, ASparseSetIsWrittenDensely) {
  const Folder folder;
  Dataset data{.rows = 2,
               .columns = 3,
               .scale = 1,
               .features = SparseRows<double>{{0, 2, 2}, {0, 2}, {5, 6}},
               .labels = {1, -1}};
  ASSERT_TRUE(write_npy_folder(folder.path("d"), data));
  const auto back = read_npy(folder.path("d/x.npy"), folder.path("d/y.npy"));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_THAT(dense<double>(*back), ElementsAre(5, 0, 6, 0, 0, 0));
  EXPECT_EQ(back->labels, data.labels);
}

TEST(Npy, ASparseSetTooLargeWhenDenseIsRefusedAndNothingWritten) {
  const Folder folder;
  const Dataset data{.rows = 2,
                     .columns = std::size_t{1} << 31,
                     .scale = 1,
                     .features = SparseRows<double>{{0, 0, 0}, {}, {}},
                     .labels = {1, 2}};
  expect_error(write_npy_folder(folder.path("d"), data), ErrorCode::kBadData,
               {"4 GiB", folder.path("d").string()});
  EXPECT_TRUE(folder.listing().empty());
}

double finite_number() {
  const auto mantissa = *rc::gen::inRange<std::int64_t>(-(std::int64_t{1} << 53), std::int64_t{1} << 53);
  return std::ldexp(static_cast<double>(mantissa), *rc::gen::inRange(-300, 200));
}

Dataset any_dense() {
  Dataset data;
  data.rows = *rc::gen::inRange<std::size_t>(1, 8);
  data.columns = *rc::gen::inRange<std::size_t>(1, 6);
  DenseRows<double> rows;
  for (std::size_t i = 0; i < data.rows * data.columns; ++i) rows.values.push_back(finite_number());
  for (std::size_t i = 0; i < data.rows; ++i) data.labels.push_back(finite_number());
  data.features = std::move(rows);
  return data;
}

RC_GTEST_PROP(RoundTrip, Npy, ()) {
  const Folder folder;
  const auto precision = *rc::gen::element(Precision::kF32, Precision::kF64);
  Dataset data = any_dense();
  if (precision == Precision::kF32)
    for (double& x : std::get<DenseRows<double>>(data.features).values) x = std::remainder(x, 1e6);
  data = with_precision(std::move(data), precision).value();
  RC_ASSERT(write_npy_folder(folder.path(), data).has_value());
  const auto back = read_npy(folder.path("x.npy"), folder.path("y.npy"));
  RC_ASSERT(back.has_value());
  RC_ASSERT(data_digest(*back) == data_digest(data));
}

RC_GTEST_PROP(RoundTrip, NpyBytes, ()) {
  const Folder folder;
  Dataset data = any_dense();
  data.scale = 1.0 / 255;
  DenseRows<std::uint8_t> rows;
  for (std::size_t i = 0; i < data.rows * data.columns; ++i)
    rows.values.push_back(*rc::gen::arbitrary<std::uint8_t>());
  data.features = std::move(rows);
  RC_ASSERT(write_npy_folder(folder.path(), data).has_value());
  RC_ASSERT(data_digest(*read_npy(folder.path("x.npy"), folder.path("y.npy"))) == data_digest(data));
}

RC_GTEST_PROP(RoundTrip, Csv, ()) {
  const Folder folder;
  const Dataset data = any_dense();
  const auto label = *rc::gen::inRange<std::size_t>(0, data.columns + 1);
  const std::string end = *rc::gen::element<std::string>("\n", "\r\n");
  std::string text;
  for (std::size_t row = 0; row < data.rows; ++row) {
    const double* x = dense<double>(data).data() + row * data.columns;
    for (std::size_t column = 0; column <= data.columns; ++column)
      text += fmt::format("{}{}", column == 0 ? "" : ",", column == label ? data.labels[row] : *x++);
    text += end;
  }
  const auto back = read_csv(folder.write("a.csv", text), {fmt::format("{}", label), CsvHeader::kNo});
  RC_ASSERT(back.has_value());
  RC_ASSERT(data_digest(*back) == data_digest(data));
}

RC_GTEST_PROP(RoundTrip, Libsvm, ()) {
  const Folder folder;
  Dataset data;
  data.columns = 7;
  SparseRows<double> rows{{0}, {}, {}};
  std::string text;
  data.rows = *rc::gen::inRange<std::size_t>(1, 6);
  for (std::size_t row = 0; row < data.rows; ++row) {
    data.labels.push_back(finite_number());
    text += fmt::format("{}", data.labels.back());
    for (std::uint32_t column = 0; column < data.columns; ++column) {
      if (*rc::gen::arbitrary<bool>()) continue;
      rows.columns.push_back(column);
      rows.values.push_back(finite_number());
      text += fmt::format(" {}:{}", column + 1, rows.values.back());
    }
    rows.starts.push_back(rows.values.size());
    text += '\n';
  }
  data.features = rows;
  const auto back = read_libsvm(folder.write("a.svm", text), 7);
  RC_ASSERT(back.has_value());
  RC_ASSERT(data_digest(*back) == data_digest(data));
}

}  // namespace
}  // namespace mfl::test
