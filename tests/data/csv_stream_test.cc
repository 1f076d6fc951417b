#include "mfl/data/csv_stream.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "tests/data/small_files.h"

namespace mfl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

// All blocks as one.
Result<CsvBlock> read_blocks(const std::filesystem::path& path, const CsvStreamOptions& options) {
  MFL_TRY(const auto stream, CsvStream::open(path, options));
  CsvBlock all, block;
  for (;;) {
    MFL_TRY(const bool more, stream->next(block));
    if (!more) break;
    EXPECT_EQ(block.first_row, all.rows);
    EXPECT_EQ(block.features.size(), block.rows * stream->columns());
    EXPECT_EQ(block.lines.size(), block.rows);
    EXPECT_EQ(block.labels.size(), options.label.empty() ? 0 : block.rows);
    EXPECT_LE(block.rows, options.block_rows);
    all.rows += block.rows;
    all.features.insert(all.features.end(), block.features.begin(), block.features.end());
    all.labels.insert(all.labels.end(), block.labels.begin(), block.labels.end());
    all.lines.insert(all.lines.end(), block.lines.begin(), block.lines.end());
  }
  MFL_TRY(const bool again, stream->next(block));
  EXPECT_FALSE(again);
  return all;
}

TEST(CsvStream, TakesColumnsByNameAndIgnoresTheOthers) {
  const Folder folder;
  const auto path =
      folder.write("a.csv", "id,bmi,notes,age,kind\np1,2.5,,30,sick\n\"p,2\",3.5,\"a\nb\",40,well\n");
  const auto rows = read_blocks(path, {.features = {"age", "bmi"}, .label = "kind"});
  ASSERT_TRUE(rows) << rows.error().text();
  EXPECT_THAT(rows->features, ElementsAre(30, 2.5, 40, 3.5));
  EXPECT_THAT(rows->labels, ElementsAre("sick", "well"));
  EXPECT_THAT(rows->lines, ElementsAre(2, 3));
  const auto stream = CsvStream::open(path, {.features = {"age", "bmi"}, .label = "4"});
  ASSERT_TRUE(stream) << stream.error().text();
  EXPECT_THAT((*stream)->features(), ElementsAre("age", "bmi"));
  EXPECT_EQ((*stream)->columns(), 2U);
  EXPECT_EQ((*stream)->label_column(), 5U);
}

TEST(CsvStream, MissingColumnsAreNamed) {
  const Folder folder;
  const auto path = folder.write("a.csv", "a,b,c\n1,2,3\n");
  const auto refused = [&](const CsvStreamOptions& options) { return CsvStream::open(path, options); };
  expect_error(refused({.features = {"a", "x", "y"}}), ErrorCode::kBadData,
               {path.string(), "columns 'x', 'y'"});
  expect_error(refused({.features = {"1", "2", "3", "4", "5", "6", "7"}}), ErrorCode::kBadData,
               {"'1'", "'5'", "and 2 more"});
  const auto nearest = refused({.features = {"A"}});
  expect_error(nearest, ErrorCode::kBadData, {"column 'A'"});
  EXPECT_THAT(nearest.error().hint, HasSubstr("did you mean 'a'?"));
  expect_error(refused({.features = {"a"}, .label = "kind"}), ErrorCode::kBadConfig, {"'kind'"});
  expect_error(refused({.features = {"a"}, .label = "a"}), ErrorCode::kBadConfig, {"'a'", "both"});
  expect_error(refused({.features = {"a"}, .header = CsvHeader::kNo}), ErrorCode::kBadData, {"no header"});
  expect_error(refused({.block_rows = 0}), ErrorCode::kBadConfig, {"0 rows"});
  const auto semicolons = CsvStream::open(folder.write("b.csv", "a;b\n1;2\n"), {.features = {"a", "b"}});
  expect_error(semicolons, ErrorCode::kBadData, {"'a', 'b'"});
  EXPECT_THAT(semicolons.error().hint, HasSubstr("--separator ';'"));
  expect_error(CsvStream::open(folder.path("none"), {}), ErrorCode::kBadData, {"none"});
  expect_error(CsvStream::open(folder.path(), {}), ErrorCode::kBadData, {folder.path().string()});
}

TEST(CsvStream, NamesThatOccurTwiceAreTakenInTheirOrder) {
  const Folder folder;
  const auto path = folder.write("a.csv", "x,y,x\n1,2,3\n");
  EXPECT_THAT(read_blocks(path, {.features = {"y", "x", "x"}})->features, ElementsAre(2, 1, 3));
  expect_error(CsvStream::open(path, {.features = {"x"}}), ErrorCode::kBadData, {"more than one"});
  expect_error(CsvStream::open(path, {.features = {"y", "y"}}), ErrorCode::kBadData, {"missing", "'y'"});
}

TEST(CsvStream, NamesThatAreNumbersAreNames) {
  const Folder folder;
  EXPECT_THAT(read_blocks(folder.write("a.csv", "1,0\n5,6\n"), {.features = {"0", "1"}})->features,
              ElementsAre(6, 5));
}

TEST(CsvStream, TakesColumnsByPosition) {
  const Folder folder;
  const auto headless = folder.write("a.csv", "p1,1,2,yes\np2,3,4,no\n");
  const auto rows = read_blocks(headless, {.columns = 2, .drop = {"0"}, .label = "last"});
  ASSERT_TRUE(rows) << rows.error().text();
  EXPECT_THAT(rows->features, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(rows->labels, ElementsAre("yes", "no"));
  EXPECT_THAT(rows->lines, ElementsAre(1, 2));
  const auto named = folder.write("b.csv", "id,a,b\np1,1,2\n");
  EXPECT_THAT(read_blocks(named, {.columns = 2, .drop = {"id"}})->features, ElementsAre(1, 2));
  EXPECT_THAT(read_blocks(folder.write("e.csv", "id,1,2\np1,3,4\n"), {.drop = {"id"}})->features,
              ElementsAre(3, 4));
  EXPECT_THAT(read_blocks(folder.write("c.csv", "7\n8"), {})->features, ElementsAre(7, 8));
  const auto more = CsvStream::open(folder.write("d.csv", "1,2,3\n"), {.columns = 2});
  expect_error(more, ErrorCode::kBadData, {"3 feature columns of 3, expected 2"});
  EXPECT_THAT(more.error().hint, HasSubstr("label"));
  expect_error(CsvStream::open(folder.path("d.csv"), {.columns = 4}), ErrorCode::kBadData, {"expected 4"});
}

TEST(CsvStream, LineEndsQuotesBlanksAndByteOrderMark) {
  const Folder folder;
  const std::string_view text = "\xef\xbb\xbf\"a, \"\"b\"\"\",y\r\n \"1\" , +2\r\n\t3,\"4\"\r\n\r\n \n";
  const auto rows = read_blocks(folder.write("a.csv", text), {.features = {"y", "a, \"b\""}});
  ASSERT_TRUE(rows) << rows.error().text();
  EXPECT_THAT(rows->features, ElementsAre(2, 1, 4, 3));
  const auto tabs =
      read_blocks(folder.write("b.csv", "a\tb\tc\n\t1\t\n\t2\t"), {.features = {"b"}, .separator = '\t'});
  ASSERT_TRUE(tabs) << tabs.error().text();
  EXPECT_THAT(tabs->features, ElementsAre(1, 2));
}

TEST(CsvStream, Latin1) {
  const Folder folder;
  const auto path = folder.write("a.csv", "gr\xf6sse,ort\n1,K\xf6ln\n");
  const auto rows = read_blocks(path, {.features = {"gr\xc3\xb6sse"}, .label = "ort"});
  ASSERT_TRUE(rows) << rows.error().text();
  EXPECT_THAT(rows->labels, ElementsAre("K\xc3\xb6ln"));
}

TEST(CsvStream, AHeaderAloneHasNoRows) {
  const Folder folder;
  for (const char* text : {"a,b", "a,b\n", "a,b\r\n\r\n"}) {
    const auto rows = read_blocks(folder.write("a.csv", text), {.features = {"b"}});
    ASSERT_TRUE(rows) << rows.error().text();
    EXPECT_EQ(rows->rows, 0U);
    EXPECT_THAT(rows->features, IsEmpty());
  }
  for (const char* text : {"", "\n \r\n", "\xef\xbb\xbf"})
    expect_error(read_blocks(folder.write("b.csv", text), {}), ErrorCode::kBadData, {"empty"});
}

TEST(CsvStream, BlockBoundaries) {
  const Folder folder;
  std::string text = "a,b\n";
  for (int i = 0; i < 12; ++i) text += fmt::format("{},x{}\n", i, i);
  const auto path = folder.write("a.csv", text);
  for (const std::size_t block : {1, 3, 4, 11, 12, 13}) {
    const auto rows = read_blocks(path, {.features = {"a"}, .label = "b", .block_rows = block});
    ASSERT_TRUE(rows) << rows.error().text();
    EXPECT_THAT(rows->features, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    EXPECT_EQ(rows->labels[11], "x11");
  }
}

TEST(CsvStream, LinesLongerThanTheBuffer) {
  const Folder folder;
  const std::string wide(3 << 20, 'x');
  const auto path = folder.write(
      "a.csv", "a,b\n1," + wide + "\n2,\"" + wide + "\n" + wide + "\"\n3,\n4,\"" + wide + "\"\r\n");
  const auto rows = read_blocks(path, {.features = {"a"}});
  ASSERT_TRUE(rows) << rows.error().text();
  EXPECT_THAT(rows->features, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(rows->lines, ElementsAre(2, 3, 5, 6));
  EXPECT_EQ(read_blocks(path, {.features = {"a"}, .label = "2"}).error().code, ErrorCode::kBadConfig);
}

TEST(CsvStream, AQuoteThatIsNeverClosedDoesNotFillTheMemory) {
  const Folder folder;
  const auto path = folder.write("a.csv", "a,b\n1,2\n3,\"" + std::string(CsvStream::kLongestRecord + 9, 'x'));
  expect_error(read_blocks(path, {.features = {"a"}}), ErrorCode::kBadData,
               {path.string(), "line 3", "64 MiB"});
}

TEST(CsvStream, BadRowsAreRefusedAsReadCsvRefusesThem) {
  const Folder folder;
  for (const char* text :
       {"a,b,y\n1,2,0\n3,4\n", "a,b,y\n1,2,0\n3,4,5,6\n", "a,b,y\n1,x4,0\n", "a,b,y\n1,,0\n",
        "a,b,y\n1,nan,0\n", "a,b,y\n1,-inf,0\n", "a,b,y\n1,1e999,0\n", "a,b,y\n1,2,0\n\n3,4,0\n",
        "a,b,y\n1,2,0\n\"3,4,0\n", "a,b,y\n1,\"2\"3,0\n", "a,b,y\n1,2,\n", "a,b,y\n1,2,0\n3,4",
        "a,b,y\n1,2,0\n3,4,5e", "a,b,y\n1,2,0\n3,-", "1,2,3\n4,5\n", "a,b,\"y\nz\"\n1,2,0\nx,1,0\n"}) {
    SCOPED_TRACE(text);
    const auto path = folder.write("a.csv", text);
    const auto whole = read_csv(path);
    const auto rows = read_blocks(path, {.label = "last"});
    if (whole) {  // a label that is text: all that is left of a line that was cut
      EXPECT_TRUE(rows);
      continue;
    }
    ASSERT_FALSE(rows);
    // read_csv() names columns, which the flags of those who use it can leave out.
    const std::string there = rows.error().text(), here = whole.error().text();
    EXPECT_EQ(there.substr(0, there.find("column")), here.substr(0, here.find("column")));
    EXPECT_EQ(rows.error().code, whole.error().code);
  }
}

TEST(CsvStream, ReadsStandardInput) {
  const Folder folder;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int before = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  const std::string_view text = "a,b\n1,2\n3,4\n5,x\n";
  ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  const auto stream = CsvStream::open("-", {.features = {"b"}, .block_rows = 2});
  ASSERT_TRUE(stream) << stream.error().text();
  CsvBlock block;
  EXPECT_TRUE((*stream)->next(block).value());
  EXPECT_THAT(block.features, ElementsAre(2, 4));
  expect_error((*stream)->next(block), ErrorCode::kBadData, {"standard input, line 4: column 2", "'x'"});
  dup2(before, STDIN_FILENO);
  close(before);
  close(ends[0]);
}

std::string any_field(bool number) {
  const std::string blank = *rc::gen::element<std::string>("", "", "", " ", "\t");
  const double value = static_cast<double>(*rc::gen::arbitrary<std::int64_t>()) * 1e-7;
  std::string text =
      number ? *rc::gen::element(fmt::format("{}", value), fmt::format("{:.3f}", value),
                                 fmt::format("{:e}", value), std::string("+1"), std::string("-0"))
             : *rc::gen::element<std::string>("sick", "well", "k\xf6ln", "\"a, \"\"b\"\"\"", "\"c\nd\"");
  if (number && *rc::gen::inRange(0, 5) == 0) text = '"' + text + '"';
  return blank + text + blank;
}

TEST(CsvStream, EqualsReadCsvOnAnyFile) {
  const Folder folder;
  EXPECT_TRUE(rc::check([&] {
    const auto columns = *rc::gen::inRange<std::size_t>(1, 6);
    const auto rows = *rc::gen::inRange<std::size_t>(1, 40);
    const auto end = *rc::gen::element<std::string>("\n", "\r\n");
    const bool header = *rc::gen::arbitrary<bool>();
    Names names;
    std::string text;
    for (std::size_t i = 0; i < columns; ++i) names.push_back(fmt::format("x{}", i));
    for (const std::string& name : names) text += header ? name + "," : "";
    if (header) text += "label" + end;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < columns; ++i) text += any_field(true) + ',';
      text += any_field(false) + (row + 1 < rows || *rc::gen::arbitrary<bool>() ? end : "");
    }
    const auto path = folder.write("a.csv", text);
    const CsvHeader has = header ? CsvHeader::kYes : CsvHeader::kNo;
    const auto whole = read_csv(path, {.header = has});
    const auto stream = read_blocks(path, {.features = header ? names : Names{},
                                           .label = "last",
                                           .header = has,
                                           .block_rows = *rc::gen::inRange<std::size_t>(1, 50)});
    if (!whole) RC_FAIL(whole.error().text());
    if (!stream) RC_FAIL(stream.error().text());
    RC_ASSERT(stream->features == std::get<DenseRows<double>>(whole->features).values);
    for (std::size_t row = 0; row < rows; ++row) {
      RC_ASSERT(stream->labels[row] == label_text(*whole, whole->labels[row]));
      RC_ASSERT(stream->lines[row] == whole->origin->lines[row]);
    }
  }));
}

TEST(CsvStream, EqualsReadCsvOnAnyText) {
  const Folder folder;
  EXPECT_TRUE(rc::check([&] {
    const auto pieces = *rc::gen::container<Names>(
        rc::gen::element<std::string>("1", "2.5", "-3e2", "a", ",", ",", ",", "\n", "\n", "\r\n", "\"",
                                      "\"x\"", "\"\n\"", " ", "\t", ";", "\xf6"));
    std::string text;
    for (const std::string& one : pieces) text += one;
    const auto path = folder.write("a.csv", text);
    const CsvHeader header = *rc::gen::element(CsvHeader::kYes, CsvHeader::kNo);
    const char separator = *rc::gen::element(',', ';', '\t');
    const auto whole = read_csv(path, {.header = header, .separator = separator});
    const auto stream =
        read_blocks(path, {.label = "last", .header = header, .separator = separator, .block_rows = 3});
    if (whole && !stream) RC_FAIL(stream.error().text());
    if (whole) RC_ASSERT(stream->features == std::get<DenseRows<double>>(whole->features).values);
    if (!whole && stream && stream->rows != 0) RC_FAIL(whole.error().text());
  }));
}

}  // namespace
}  // namespace mfl::test
