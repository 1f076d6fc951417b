#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

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

TEST(DataPartition, ShowsCountsFiguresAndAPicture) {
  const Sandbox box;
  const std::vector<std::string> words = {
      "data",   "partition", "synthetic:2000x16", "--test",         "0",     "--nodes",  "10",
      "--seed", "3",         "--partition",       "dirichlet(0.3)", "--out", "nodes.svg"};
  auto with_json = words;
  with_json.push_back("--json");
  const auto data = ok_data(box.run(with_json));
  EXPECT_EQ(data["partition"], "dirichlet(alpha=0.3, self_balancing=0)");
  EXPECT_EQ(data["labels"].size(), 10U);
  EXPECT_EQ(data["nodes"].size(), 10U);
  std::size_t samples = 0;
  double divergence = 0;
  for (const auto& node : data["nodes"]) {
    std::size_t counted = 0;
    for (const auto& count : node["counts"]) counted += count.count();
    EXPECT_EQ(node["samples"], counted);
    samples += counted;
    divergence += node["gradient_divergence"].number() * static_cast<double>(counted) / 2000;
  }
  EXPECT_EQ(samples, 2000U);
  EXPECT_NEAR(data["gradient_divergence"].number(), divergence, 1e-12);
  EXPECT_GT(data["label_distance"].number(), 0.2);
  EXPECT_LT(data["node_entropy"].number(), data["label_entropy"].number());
  const std::string svg = box.read("nodes.svg");
  EXPECT_THAT(svg, HasSubstr("<svg xmlns"));
  EXPECT_THAT(svg, HasSubstr("node 9, label 9:"));
  const Outcome people = box.run(words);
  EXPECT_EQ(people.code, 0);
  for (const char* word : {"label entropy", "label distance", "gradient", "wrote nodes.svg", "distance"})
    EXPECT_THAT(people.out, HasSubstr(word));
  EXPECT_EQ(box.read("nodes.svg"), svg);
}

TEST(DataPartition, FitsEightyColumnsWithAHundredNodes) {
  const Sandbox box;
  for (const char* nodes : {"1", "100"})
    for (const char* partition : {"iid", "dirichlet(1, min_partition_size=1)", "linear"}) {
      const Outcome people = box.run({"data", "partition", "synthetic:9000x16", "--test", "0", "--nodes",
                                      nodes, "--partition", partition});
      ASSERT_EQ(people.code, 0) << people.err;
      std::istringstream lines(people.out);
      std::size_t count = 0;
      for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80U) << line;
      EXPECT_GE(count, std::stoul(nodes) + 7);
    }
}

TEST(DataPartition, MeasuresHowMuchNodesDiffer) {
  const Sandbox box;
  const auto figures = [&](const std::string& partition, const std::string& skew) {
    return ok_data(box.run({"data", "partition", "synthetic:2000x16", "--test", "0", "--nodes", "10",
                            "--partition", partition, "--feature-skew", skew, "--json"}));
  };
  const auto iid = figures("iid", "none"), sorted = figures("label-sorted", "none");
  const auto turned = figures("iid", "rotation(90)");
  EXPECT_LT(iid["label_distance"].number(), 0.15);
  EXPECT_GT(sorted["label_distance"].number(), 0.8);
  EXPECT_GT(sorted["gradient_divergence"].number(), 2 * iid["gradient_divergence"].number());
  EXPECT_EQ(turned["label_distance"], iid["label_distance"]);
  EXPECT_GT(turned["gradient_divergence"].number(), iid["gradient_divergence"].number());
}

TEST(DataPartition, NaturalNodesHaveTheirNames) {
  const Sandbox box;
  box.write("a.csv", "x,site,kind\n1,Lyon,a\n2,Bern,b\n3,Lyon,b\n4,Bern,a\n5,Bern,b\n");
  const auto data = ok_data(
      box.run({"data", "partition", "csv:a.csv", "--nodes", "2", "--partition", "natural:site", "--json"}));
  EXPECT_EQ(data["nodes"][0]["name"], "Bern");
  EXPECT_EQ(data["nodes"][0]["samples"], 3);
  EXPECT_EQ(data["nodes"][1]["name"], "Lyon");
  EXPECT_EQ(data["labels"], (Json{"a", "b"}));
  const Outcome wrong =
      box.run({"data", "partition", "csv:a.csv", "--nodes", "3", "--partition", "natural:site"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("the column site names 2 nodes, nodes is 3 (set nodes to 2)"));
  const auto run = ok_data(box.run({"run", "--data", "csv:a.csv", "--nodes", "2", "--partition",
                                    "natural:site", "--steps", "4", "--quiet", "--json"}));
  EXPECT_EQ(run["schema"]["features"], (Json{"x"}));
  EXPECT_EQ(
      box.run({"data", "split", "csv:a.csv", "--nodes", "2", "--partition", "natural:site", "--out", "o"})
          .code,
      0);
}

TEST(DataPartition, RefusesWhatItCannotShow) {
  const Sandbox box;
  const auto refused = [&](std::vector<std::string> more, const char* says) {
    std::vector<std::string> words = {"data", "partition", "synthetic:300x12"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = box.run(words);
    EXPECT_EQ(outcome.code, 2) << says;
    EXPECT_THAT(outcome.err, HasSubstr(says));
  };
  refused({"--out", "a.png"}, "ends in .svg");
  refused({"--partition", "dirichlet(0)"}, "\"alpha\" must be");
  refused({"--partition", "pathological(11)"}, "the data has 10 classes");
  refused({"--partition", "natural:site"}, "for CSV files");
  refused({"--feature-skew", "rotation"}, "12 features are no square image");
  refused({"--nodes", "301"}, "more nodes than samples");
}

TEST(DataInfo, TakesTheDataFlags) {
  const Sandbox box;
  const auto data = ok_data(box.run({"data", "info", "synthetic:100x8", "--train", "20", "--test", "10",
                                     "--take", "random", "--seed", "7", "--json"}));
  EXPECT_EQ(data["train"]["rows"], 20);
  EXPECT_EQ(data["test"]["rows"], 10);
}

const char* const kPatients = "age,bmi,kind\n1,2,malignant\n2,3,benign\n3,1,benign\n4,5,malignant\n";

TEST(Labels, ColumnClassesAndHeaderAreShown) {
  const Sandbox box;
  box.write("a.csv", kPatients);
  const auto info = ok_data(box.run({"data", "info", "csv:a.csv", "--json"}));
  EXPECT_EQ(info["label_column"], 3);
  EXPECT_EQ(info["header_guessed"], true);
  EXPECT_EQ(info["schema"]["classes"], (Json{"benign", "malignant"}));
  EXPECT_EQ(info["schema"]["positive"], "malignant");
  EXPECT_EQ(info["train"]["classes"][0]["label"], "benign");
  const Outcome people = box.run({"data", "info", "csv:a.csv", "--positive", "benign"});
  for (const char* words : {"column 3 of 3, \"kind\"", "the first line has column names", "positive benign"})
    EXPECT_THAT(people.out, HasSubstr(words));
  const std::vector<std::string> run = {"run", "--data",  "csv:a.csv", "--nodes",
                                        "2",   "--steps", "4",         "--quiet"};
  EXPECT_THAT(box.run(run).out,
              HasSubstr("column \"kind\": classes benign, malignant; positive malignant; the first line"));
  auto with_json = run;
  with_json.insert(with_json.end(), {"--json", "--weights-out", "w.npy"});
  const auto data = ok_data(box.run(with_json));
  EXPECT_EQ(data["schema"]["features"], (Json{"age", "bmi"}));
  EXPECT_EQ(data["label_column"], 3);
  EXPECT_EQ(JsonValue::parse(box.read("w.schema.json")), data["schema"]);
  const auto shown = ok_data(box.run({"runs", "show", "latest", "--json"}));
  EXPECT_EQ(shown["run"]["schema"], data["schema"]);
  auto negated = run;
  negated.insert(negated.end(), {"--positive", "benign", "--json"});
  EXPECT_NE(ok_data(box.run(negated))["digest"], data["digest"]);
}

TEST(Columns, TheSameFeaturesGiveTheSameWeightsWhereverTheyAreInTheFile) {
  const Sandbox box;
  box.write("a.csv", kPatients);
  box.write("b.csv",
            "id;kind;bmi;age\np1;malignant;2;1\n;benign;3;2\n\"p;3\";benign;1;3\np4;malignant;5;4\n");
  const std::vector<std::string> run = {"run",     "--nodes", "2", "--steps", "8",   "--json",
                                        "--quiet", "--test",  "0", "--label", "kind"};
  const auto digest = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return ok_data(box.run(more))["digest"];
  };
  const std::vector<std::string> other = {"--data", "csv:b.csv", "--separator", ";"};
  const auto with = [&](const std::vector<std::string>& more) {
    auto words = other;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const auto expected = digest({"--data", "csv:a.csv"});
  EXPECT_EQ(digest(with({"--features", "age,bmi"})), expected);
  EXPECT_EQ(digest(with({"--features", "3,2", "--drop", "id"})), expected);
  EXPECT_NE(digest(with({"--drop", "id"})), expected);
  box.write(
      "sweep.toml",
      "[data]\nsource = \"csv:b.csv\"\nlabel = \"kind\"\nseparator = \";\"\nfeatures = [\"age\", \"bmi\"]\n"
      "[federation]\nnodes = [1, 2]\n[run]\nsteps = 8\n");
  const auto sweep = ok_data(box.run({"sweep", "sweep.toml", "--test", "0", "--json", "--quiet"}));
  EXPECT_THAT(sweep.dump(), HasSubstr(expected.text()));
  const Outcome info =
      box.run({"data", "info", "csv:b.csv", "--label", "kind", "--separator", ";", "--drop", "id"});
  for (const char* words : {"2 of 4 columns: \"bmi\", \"age\"", "column 2 of 4, \"kind\""})
    EXPECT_THAT(info.out, HasSubstr(words));
}

TEST(Columns, AreRefusedInOneLine) {
  const Sandbox box;
  box.write("a.csv", kPatients);
  const Outcome drop = box.run({"run", "--data", "csv:a.csv", "--drop", "agee", "--steps", "1"});
  EXPECT_EQ(drop.code, 2);
  EXPECT_THAT(drop.err, HasSubstr("did you mean 'age'?"));
  const Outcome other = box.run({"run", "--data", "synthetic:9x4", "--features", "age", "--steps", "1"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("features is for CSV files"));
}

TEST(Labels, TheSameRowsGiveTheSameWeightsHoweverTheTwoClassesAreWritten) {
  const Sandbox box;
  const auto digest = [&](const std::string& negative, const std::string& positive) {
    box.write("b.csv",
              "1,2," + positive + "\n2,3," + negative + "\n3,1," + negative + "\n4,5," + positive + "\n");
    return ok_data(box.run(
        {"run", "--data", "csv:b.csv", "--nodes", "2", "--steps", "8", "--json", "--quiet"}))["digest"];
  };
  const auto expected = digest("0", "1");
  EXPECT_EQ(digest("-1", "1"), expected);
  EXPECT_EQ(digest("1", "2"), expected);
  EXPECT_EQ(digest("0.0", "1.0"), expected);
  EXPECT_EQ(digest("False", "True"), expected);
  EXPECT_EQ(digest("benign", "malignant"), expected);
}

TEST(Labels, TextBecomesNumbersInASplit) {
  const Sandbox box;
  box.write("a.csv", kPatients);
  const Outcome split = box.run({"data", "split", "csv:a.csv", "--nodes", "2", "--out", "parts"});
  EXPECT_THAT(split.out, HasSubstr("label 0 is benign\nlabel 1 is malignant\n"));
}

TEST(DataSplit, WritesOneFolderPerNodeThatCanBeReadBack) {
  const Sandbox box;
  const auto data =
      ok_data(box.run({"data", "split", "synthetic:50x8", "--train", "11", "--nodes", "3", "--partition",
                       "contiguous", "--seed", "1", "--out", "shards", "--json"}));
  ASSERT_EQ(data["nodes"].size(), 3U);
  std::uint64_t total = 0;
  for (const auto& node : data["nodes"]) {
    const std::string folder = "shards/" + node["folder"].text();
    const auto info = ok_data(box.run({"data", "info", "npy:" + folder, "--json"}));
    EXPECT_EQ(info["train"]["rows"], node["samples"]);
    EXPECT_EQ(info["train"]["columns"], 8);
    total += node["samples"].count();
  }
  EXPECT_EQ(total, 11U);
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
