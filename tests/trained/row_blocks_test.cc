// Rows for a model from files: columns by name, parts of long files, and what is wrong with them.
#include "mfl/trained/row_blocks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mfl/base/files.h"
#include "mfl/data/npy.h"
#include "mfl/trained/predict_rows.h"
#include "tests/trained/small_models.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

class RowBlocksTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(write_file(folder_.path() / name, text));
    return (folder_.path() / name).string();
  }
  // All lines that are predicted, without the header.
  Result<std::string> predicted(const std::string& spec, const TrainedModel& model = two_classes("svm"),
                                unsigned threads = 1, CsvHeader header = CsvHeader::kAuto) const {
    const Predictor predictor = Predictor::make(model).value();
    DataOptions options;
    options.source = spec;
    options.csv.header = header;
    MFL_TRY(const auto blocks, open_row_blocks(options, predictor.model().schema));
    std::string out;
    MFL_CHECK(predict_rows(predictor, *blocks, threads, [&](std::string_view text) -> Result<void> {
      out += text;
      return {};
    }));
    return out;
  }

  TempFolder folder_ = *TempFolder::make();
};

TEST_F(RowBlocksTest, ColumnsAreFoundByName) {
  const std::string wanted = "yes,1\nno,-1\n";
  EXPECT_EQ(predicted("csv:" + file("1.csv", "a,b\n1,1\n0,1\n")).value(), wanted);
  EXPECT_EQ(predicted("csv:" + file("2.csv", "b,z,a,y\n1,text,1,no\n1,,0,no\n")).value(), wanted);
  EXPECT_EQ(predicted("csv:" + file("3.csv", "\"b\", a \r\n1, +1\r\n\"1\",0\r\n")).value(), wanted);
  EXPECT_EQ(predicted("csv:" + file("4.csv",
                                    "\xef\xbb\xbf"
                                    "a,b\n1,1\n0,1"))
                .value(),
            wanted);
}

TEST_F(RowBlocksTest, ColumnsWithoutNamesAreTakenInOrder) {
  const auto unnamed_file = [&](const std::string& text) {
    return predicted("csv:" + file("1.csv", text), two_classes("svm"), 1, CsvHeader::kNo);
  };
  EXPECT_EQ(unnamed_file("1,1\n0,1\n").value(), "yes,1\nno,-1\n");
  EXPECT_EQ(unnamed_file("1,1,7\n0,1,7\n").value(), "yes,1\nno,-1\n") << "the last column is the label";
  TrainedModel unnamed = two_classes("svm");
  unnamed.schema.features.clear();
  EXPECT_EQ(predicted("csv:" + file("2.csv", "p,q\n1,1\n0,1\n"), unnamed).value(), "yes,1\nno,-1\n");
  EXPECT_THAT(unnamed_file("1,2,3,4\n").error().message, HasSubstr("4 feature columns of 4, expected 2"));
  EXPECT_THAT(predicted("csv:" + file("3.csv", "1,1\n")).error().message,
              HasSubstr("no header, and columns are found by name: 'a', 'b'"));
}

TEST_F(RowBlocksTest, BadFilesAreRefusedWithTheirPlace) {
  const auto message = [&](const std::string& text) {
    const auto said = predicted("csv:" + file("bad.csv", text));
    EXPECT_FALSE(said);
    return said ? "" : said.error().message;
  };
  EXPECT_THAT(message("a,c\n1,1\n"), HasSubstr("missing column 'b'"));
  EXPECT_THAT(message("c,d\n1,1\n"), HasSubstr("missing columns 'a', 'b'"));
  EXPECT_THAT(message("a,b\n1,2\n1,x\n"), HasSubstr("bad.csv, line 3: column 2"));
  EXPECT_THAT(message("a,b\n1,\n"), HasSubstr("line 2: column 2"));
  EXPECT_THAT(message("a,b\n1,nan\n"), HasSubstr("line 2: column 2"));
  EXPECT_THAT(message("a,b\n1,2,3\n"), HasSubstr("line 2: ragged row"));
  EXPECT_THAT(message(""), HasSubstr("the file is empty"));
  EXPECT_THAT(predicted("csv:" + (folder_.path() / "none.csv").string()).error().message,
              HasSubstr("none.csv"));
}

TEST_F(RowBlocksTest, LongFilesKeepTheirOrderOnAnyNumberOfThreads) {
  std::string text = "a,note,b\n", wanted;
  constexpr int kRows = 120'000;
  for (int i = 0; i < kRows; ++i) {
    text += fmt::format("{},\"line\nof {}, and more\",{}\n", i, i, 2 * i - (i % 7) + 3);
    const int score = i % 7 - 3;
    wanted += fmt::format("{},{}\n", score > 0 ? "yes" : "no", score);
  }
  const std::string spec = "csv:" + file("long.csv", text);
  for (const unsigned threads : {1U, 2U, 5U})
    EXPECT_TRUE(predicted(spec, two_classes("svm"), threads).value() == wanted);
  const auto failed = predicted("csv:" + file("long.csv", text + "x,,1\n" + text), two_classes("svm"), 3);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr(fmt::format("line {}:", 2 * kRows + 2)));
}

TEST_F(RowBlocksTest, SparseRowsAndArraysAreReadToo) {
  const std::string wanted = "yes,2\nno,-1\nno,0\n";
  EXPECT_EQ(predicted("libsvm:" + file("s.txt", "1 1:1\n# nothing\n0 2:1 # b\n\n1\n\n")).value(), wanted);
  EXPECT_THAT(predicted("libsvm:" + file("t.txt", "1 1:1\n1 3:1\n")).error().message,
              HasSubstr("line 2: index 3 is larger than 2"));
  Dataset data;
  data.rows = 3;
  data.columns = 2;
  data.features = DenseRows<double>{{1, 0, 0, 1, 0, 0}};
  data.labels = {0, 0, 0};
  ASSERT_TRUE(write_npy_folder(folder_.path() / "npy", data));
  EXPECT_EQ(predicted("npy:" + (folder_.path() / "npy").string()).value(), wanted);
  EXPECT_EQ(predicted("npy:" + (folder_.path() / "npy" / "x.npy").string()).value(), wanted);
}

TEST_F(RowBlocksTest, ClassesWithCommasAreQuoted) {
  TrainedModel model = two_classes("svm");
  model.schema.classes = {"a \"b\"", "x, y"};
  model.schema.positive = "x, y";
  EXPECT_EQ(predicted("csv:" + file("1.csv", "a,b\n1,1\n0,1\n"), model).value(),
            "\"x, y\",1\n\"a \"\"b\"\"\",-1\n");
}

}  // namespace
}  // namespace mfl::test
