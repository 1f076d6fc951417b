#include "mfl/data/schema.h"

#include <fmt/core.h>

#include <algorithm>

#include "mfl/data/csv.h"
#include "mfl/data/libsvm.h"
#include "mfl/data/source.h"
#include "mfl/data/task.h"
#include "tests/data/small_files.h"

namespace mfl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Schema, TheLastOfTwoClassesIsPositive) {
  const Folder folder;
  struct Row {
    const char* text;
    std::vector<std::string> classes;
  };
  for (const Row& row :
       {Row{"1,0\n2,1\n", {"0", "1"}}, Row{"1,1\n2,-1\n", {"-1", "1"}}, Row{"1,2\n2,1\n", {"1", "2"}},
        Row{"1,10\n2,9\n", {"9", "10"}}, Row{"1,0.0\n2,1.0\n", {"0", "1"}},
        Row{"1,True\n2,False\n3,True\n", {"False", "True"}},
        Row{"a,b\n1,malignant\n2,benign\n", {"benign", "malignant"}}, Row{"a,b\n1,x\n2,7.0\n", {"7", "x"}}}) {
    const Dataset data = csv_rows(folder, row.text);
    const Schema schema = schema_alone(data);
    EXPECT_EQ(schema.classes, row.classes) << row.text;
    EXPECT_EQ(schema.positive, row.classes[1]) << row.text;
    const auto targets = make_targets(data, schema, TargetKind::kSigned).value();
    for (std::size_t i = 0; i < data.rows; ++i)
      EXPECT_EQ(targets[i], label_text(data, data.labels[i]) == row.classes[1] ? 1 : -1) << row.text;
  }
}

TEST(Schema, ThePositiveClassCanBeNamed) {
  const Folder folder;
  const Dataset data = csv_rows(folder, "age,kind\n1,malignant\n2,benign\n");
  Schema wanted;
  wanted.positive = "benign";
  const Schema schema = settle(wanted, observe(data, LabelTask::kBinary).value()).value();
  EXPECT_THAT(make_targets(data, schema, TargetKind::kUnit).value(), ElementsAre(0, 1));
  wanted.positive = "malign";
  expect_error(settle(wanted, observe(data, LabelTask::kBinary).value()), ErrorCode::kBadData,
               {"\"malign\"", "\"benign\", \"malignant\""});
}

TEST(Schema, EvenAndOddAreClasses) {
  Dataset digits;
  digits.labels = {0, 1, 2, 9};
  digits.rows = 4;
  const Schema schema = schema_alone(digits, LabelTask::kEvenOdd);
  EXPECT_THAT(schema.classes, ElementsAre("odd", "even"));
  EXPECT_EQ(schema.positive, "even");
  EXPECT_THAT(make_targets(digits, schema, TargetKind::kReal).value(), ElementsAre(1, -1, 1, -1));
}

TEST(Schema, LabelErrorsNameFileLineAndColumn) {
  const Folder folder;
  const std::string place = folder.path("points.csv").string() + ", line 4, column 2";
  const Dataset wine = csv_rows(folder, "a,kind,b\n1,0,2\n1,1,2\n1,2,2\n", {"kind", CsvHeader::kAuto});
  const auto third = observe(wine, LabelTask::kBinary);
  expect_error(third, ErrorCode::kBadData, {place, "label \"2\"", "third class", "\"0\", \"1\""});
  EXPECT_THAT(third.error().hint, ::testing::Not(HasSubstr("even-odd")));
  const Dataset fraction = csv_rows(folder, "a,kind,b\n1,0,2\n1,1,2\n1,0.5,2\n", {"kind", CsvHeader::kAuto});
  expect_error(observe(fraction, LabelTask::kEvenOdd), ErrorCode::kBadData, {place, "\"0.5\"", "even-odd"});
  const Dataset text = csv_rows(folder, "a,kind,b\n1,0,2\n1,1,2\n1,many,2\n", {"kind", CsvHeader::kAuto});
  expect_error(observe(text, LabelTask::kRegression), ErrorCode::kBadData,
               {place, "\"many\"", "not a number"});
  const Dataset sparse = read_libsvm(folder.write("a.svm", "# x\n1 1:1\n-1 2:1\n0 1:1\n")).value();
  expect_error(observe(sparse, LabelTask::kBinary), ErrorCode::kBadData, {"a.svm, line 4", "third class"});
  const Dataset quoted = csv_rows(folder, "\"a\nb\",kind\n1,0\n2,1\n3,7\n");
  expect_error(observe(quoted, LabelTask::kBinary), ErrorCode::kBadData, {"line 5, column 2"});
}

TEST(Schema, ALabelThatTheRunDoesNotKnowIsRefusedWithItsPlace) {
  const Folder folder;
  const Schema run = schema_alone(csv_rows(folder, "1,0\n2,1\n"));
  expect_error(make_targets(csv_rows(folder, "1,1\n2,-1\n"), run, TargetKind::kSigned), ErrorCode::kBadData,
               {"points.csv, line 2, column 2", "\"-1\"", "not one of the classes"});
  // The run decides, not the labels of one site: a lone 0 is negative, a lone 1 positive.
  EXPECT_THAT(make_targets(csv_rows(folder, "1,0\n"), run, TargetKind::kSigned).value(), ElementsAre(-1));
  EXPECT_THAT(make_targets(csv_rows(folder, "1,1.0\n"), run, TargetKind::kSigned).value(), ElementsAre(1));
}

TEST(Schema, OneClassAloneIsRefusedUnlessBothAreStated) {
  const Folder folder;
  for (const char* label : {"benign", "0", "-1", "1"}) {
    const Schema seen =
        observe(csv_rows(folder, fmt::format("a,b\n1,{0}\n2,{0}\n", label)), LabelTask::kBinary).value();
    const Schema one = settle({}, seen).value();
    EXPECT_FALSE(is_complete(one));
    expect_error(settle_alone(one), ErrorCode::kBadData, {fmt::format("\"{}\"", label), "two classes"});
    const std::string hint = settle_alone(one).error().hint;
    EXPECT_THAT(hint, HasSubstr("--label"));
    EXPECT_THAT(hint, HasSubstr(fmt::format("--schema-classes {},OTHER", label)));
    Schema both;
    both.classes = {label, "other"};
    std::ranges::sort(both.classes, class_before);
    EXPECT_EQ(settle_alone(settle(both, seen).value()).value().classes, both.classes);
  }
}

Schema example() {
  return {3, {"id", "age", "bmi"}, "", "diagnosis", LabelTask::kBinary, {"benign", "malignant"}, "malignant"};
}

TEST(Schema, TheFirstDifferenceIsNamed) {
  const Schema run = example();
  EXPECT_FALSE(difference(run, run));
  Schema other = run;
  other.positive.clear();
  other.classes = {"benign"};
  EXPECT_FALSE(difference(run, other)) << "one of the classes is enough";
  std::swap(other.features[1], other.features[2]);
  EXPECT_EQ(difference(run, other), "column 2 is \"bmi\" here and \"age\" in the run");
  other = run;
  other.classes = {"0", "1"};
  EXPECT_EQ(difference(run, other), "classes are \"0\", \"1\" here and \"benign\", \"malignant\" in the run");
  other = run;
  other.task = LabelTask::kEvenOdd;
  EXPECT_EQ(difference(run, other), "the task is even-odd here and binary in the run");
  other = run;
  other.label = "outcome";
  EXPECT_EQ(difference(run, other), "the label column is \"outcome\" here and \"diagnosis\" in the run");
  other = run;
  other.columns = 2;
  other.features.pop_back();
  EXPECT_EQ(difference(run, other), "there are 2 features here and 3 in the run");
  other = run;
  other.positive = "benign";
  EXPECT_EQ(difference(run, other), "the positive class is \"benign\" here and \"malignant\" in the run");
  other = run;
  other.features.clear();
  EXPECT_THAT(difference(run, other).value_or(""), HasSubstr("no names here"));
  EXPECT_FALSE(difference(other, run)) << "a run without names compares the number of features";
  other.features.assign(3, "a\nb" + std::string(100, 'x'));
  EXPECT_THAT(difference(run, other).value_or(""), HasSubstr("\"a?bxxx"));
}

TEST(Schema, GapsAreFilledByTheData) {
  const Schema seen = [] {
    Schema out = example();
    out.positive.clear();
    return out;
  }();
  EXPECT_EQ(settle({}, seen).value(), example());
  Schema wanted;
  wanted.columns = 3;
  EXPECT_TRUE(settle(wanted, seen)->features.empty()) << "a number of features asks for no names";
}

TEST(Schema, JsonBringsBackTheSchema) {
  Dataset numbers;
  numbers.rows = 1;
  numbers.columns = 4;
  numbers.labels = {3};
  for (const Schema& schema : {example(), Schema{}, schema_alone(numbers, LabelTask::kRegression)})
    EXPECT_EQ(parse_schema(schema_json(schema)).value(), schema);
  EXPECT_EQ(schema_json(example()),
            R"({"columns":3,"features":["id","age","bmi"],"label":"diagnosis","task":"binary",)"
            R"("classes":["benign","malignant"],"positive":"malignant"})");
  for (const char* bad : {"", "[]", "{\"columns\":-1}", "{\"task\":\"x\"}", "{\"classes\":[1]}",
                          "{\"label\":1}", "{\"columns\":1,\"features\":[\"a\",\"b\"]}"})
    EXPECT_FALSE(parse_schema(bad)) << bad;
}

TEST(Schema, LongNamesCanBeShortenedAndStillDiffer) {
  const Schema cut = shortened(example(), 5);
  EXPECT_TRUE(cut.features.empty());
  EXPECT_FALSE(difference(cut, example()));
  EXPECT_FALSE(difference(example(), cut));
  Schema other = example();
  other.features[2] = "weight";
  EXPECT_TRUE(difference(cut, other));
}

TEST(Csv, NamesAndTextLabelsAreKept) {
  const Folder folder;
  const Dataset data = csv_rows(folder, "\xe4ge,kind,b\n1,x,2\n3,y,4\n5,x,6\n", {"kind", CsvHeader::kAuto});
  EXPECT_THAT(data.origin->features, ElementsAre("\xc3\xa4ge", "b"));
  EXPECT_EQ(data.origin->label, "kind");
  EXPECT_TRUE(data.origin->header_guessed);
  EXPECT_THAT(data.origin->classes, ElementsAre("x", "y"));
  EXPECT_THAT(data.labels, ElementsAre(0, 1, 0));
  EXPECT_THAT(take_rows(data, std::vector<std::uint32_t>{1}).origin->classes, ElementsAre("x", "y"));
}

TEST(Csv, AFirstLineWhoseOnlyTextIsAClassIsASample) {
  const Folder folder;
  const Dataset data = csv_rows(folder, "5,3,benign\n6,2,malignant\n7,1,benign\n");
  EXPECT_EQ(data.rows, 3U);
  EXPECT_THAT(std::get<DenseRows<double>>(data.features).values, ElementsAre(5, 3, 6, 2, 7, 1));
  EXPECT_EQ(label_text(data, data.labels[0]), "benign");
  EXPECT_FALSE(data.origin->header_guessed);
  EXPECT_EQ(csv_rows(folder, "0,1,target\n6,2,malignant\n7,1,benign\n").rows, 2U);
}

TEST(Csv, LabelsThatAreNotClassesAreRefused) {
  const Folder folder;
  std::string names = "a,b\n";
  for (int i = 0; i < 2000; ++i) names += "1,name" + std::to_string(i) + "\n";
  expect_error(read_csv(folder.write("names.csv", names)), ErrorCode::kBadData, {"line 1002", "column 'b'"});
  expect_error(read_csv(folder.write("hole.csv", "a,b\n1,x\n1,\n")), ErrorCode::kBadData,
               {"line 3", "column 'b' is empty"});
}

TEST(Csv, ALabelColumnInAnotherCaseIsFound) {
  const Folder folder;
  const auto missing = read_csv(folder.write("points.csv", "x,y\n1,2\n"), {"Y", CsvHeader::kAuto});
  expect_error(missing, ErrorCode::kBadConfig, {"'Y'"});
  EXPECT_THAT(missing.error().hint, HasSubstr("did you mean 'y'?"));
}

TEST(Source, RowsThatTrainLeavesAreTheTestSet) {
  const Folder folder;
  DataOptions options;
  options.source = "csv:" + folder.write("points.csv", "1,0\n2,1\n3,0\n4,1\n5,0\n").string();
  EXPECT_FALSE(load(options)->test);
  options.train = 3;
  EXPECT_EQ(load(options)->test->rows, 2U);
  EXPECT_EQ(open_rows(options)->test->size(), 2U);
  options.test = 0;
  EXPECT_FALSE(load(options)->test);
  options.test.reset();
  options.train = 5;
  EXPECT_FALSE(load(options)->test);
}

TEST(Source, TestDataWithOtherColumnsIsRefused) {
  const Folder folder;
  DataOptions options;
  options.source = "csv:" + folder.write("train.csv", "age,bmi,sick\n1,2,0\n2,3,1\n").string();
  options.test_source = "csv:" + folder.write("test.csv", "bmi,age,sick\n1,2,0\n2,3,1\n").string();
  for (const auto& error : {load(options).error(), open_rows(options).error()})
    EXPECT_THAT(error.message, HasSubstr("column 1 is \"bmi\" here and \"age\" in the run"));
}

TEST(Digest, CoversTheNamesOfClassesAndNotThoseOfColumns) {
  const Folder folder;
  const std::string base = data_digest(csv_rows(folder, "a,b\n1,x\n2,y\n"));
  EXPECT_EQ(base, data_digest(csv_rows(folder, "c,d\n1,x\n2,y\n")));
  EXPECT_NE(base, data_digest(csv_rows(folder, "a,b\n1,x\n2,z\n")));
  EXPECT_EQ(data_digest(csv_rows(folder, "1,0\n2,1\n")), data_digest(csv_rows(folder, "a,b\n1,0.0\n2,1\n")));
}

}  // namespace
}  // namespace mfl::test
