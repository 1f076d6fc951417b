// All kinds of bad input, end to end: one clear line, the exit code, and store and files unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <limits>

#include "make_files.h"
#include "process.h"

namespace mfl::test {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

struct Row {
  const char* name;
  Files files;
  std::vector<std::string> args;
  int code;
  std::vector<std::string> fragments;
};

const std::string kImages = "d/train-images-idx3-ubyte";
const std::string kLabels = "d/train-labels-idx1-ubyte";
const std::string kPixels(4 * 4, '\x40');
const std::string kDigits = {0, 1, 2, 3};

Files idx_files(std::string images, std::string labels = idx({4}, kDigits)) {
  return {{kImages, std::move(images)}, {kLabels, std::move(labels)}};
}

Files npy_files(std::string x, std::string y = npy("<f8", "(2,)", raw<double>({1, -1}))) {
  return {{"n/x.npy", std::move(x)}, {"n/y.npy", std::move(y)}};
}

std::vector<std::string> train_on(const std::string& spec) {
  return {"run", "--data", spec, "--nodes", "1", "--steps", "4", "--quiet"};
}

// On a small valid data set, with more arguments appended.
std::vector<std::string> train_with(std::vector<std::string> more) {
  std::vector<std::string> args{"run", "--data", "synthetic:40x8", "--steps", "4", "--quiet"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

std::vector<Row> data_rows() {
  const std::string images = idx({4, 2, 2}, kPixels);
  const std::string packed = gzip(images);
  const std::string nan = raw<float>({1, 2, 3, std::numeric_limits<float>::quiet_NaN()});
  return {
      {"idx truncated",
       idx_files(images.substr(0, images.size() - 3)),
       train_on("idx:d"),
       3,
       {kImages, "truncated", "byte"}},
      {"idx header truncated", idx_files(images.substr(0, 9)), train_on("idx:d"), 3, {kImages, "truncated"}},
      {"idx over-long", idx_files(images + "x"), train_on("idx:d"), 3, {kImages, "over-long"}},
      {"idx bad magic",
       idx_files("\x01\x02\x03\x04" + images.substr(4)),
       train_on("idx:d"),
       3,
       {kImages, "bad magic"}},
      {"idx labels do not fit",
       idx_files(images, idx({3}, "\1\2\3")),
       train_on("idx:d"),
       3,
       {"3 labels", "4 images"}},
      {"idx folder not there", {}, train_on("idx:d"), 3, {"d"}},
      {"gz cut short",
       {{kImages + ".gz", packed.substr(0, packed.size() - 9)}, {kLabels, idx({4}, kDigits)}},
       train_on("idx:d"),
       3,
       {kImages + ".gz", "cut short"}},
      {"csv ragged row", {{"a.csv", "1,2,1\n3,-1\n"}}, train_on("csv:a.csv"), 3, {"a.csv, line 2", "ragged"}},
      {"csv non-number",
       {{"a.csv", "1,2,1\n3,x,-1\n"}},
       train_on("csv:a.csv"),
       3,
       {"a.csv, line 2", "column 2"}},
      {"csv NaN", {{"a.csv", "1,2,1\n3,nan,-1\n"}}, train_on("csv:a.csv"), 3, {"a.csv, line 2", "column 2"}},
      {"no step is small enough",
       {{"a.csv", "1e308,2,1\n3,4,-1\n"}},
       {"run", "--data", "csv:a.csv", "--test", "0", "--nodes", "1", "--steps", "4", "--precision", "f64",
        "--quiet"},
       3,
       {"smoothness", "a feature is too large"}},
      {"csv wide",
       {{"a.csv", std::string(std::size_t{1} << 22U, ',') + "\n"}},
       train_on("csv:a.csv"),
       3,
       {"a.csv: 4194305 columns", "--max-columns 4194305"}},
      {"libsvm wide",
       {{"a.svm", "1 2000000000:1\n-1 1:1\n"}},
       train_on("libsvm:a.svm"),
       3,
       {"a.svm: 2000000000 columns, more than 4194304", "--max-columns 2000000000"}},
      {"csv empty", {{"a.csv", ""}}, train_on("csv:a.csv"), 3, {"a.csv"}},
      {"csv not there", {}, train_on("csv:a.csv"), 3, {"a.csv"}},
      {"csv no such label",
       {{"a.csv", "x,price\n1,1\n2,-1\n"}},
       {"run", "--data", "csv:a.csv", "--label", "prise", "--quiet"},
       2,
       {"a.csv", "prise", "did you mean", "price"}},
      {"libsvm index 0", {{"a.svm", "1 0:1\n-1 2:1\n"}}, train_on("libsvm:a.svm"), 3, {"a.svm, line 1", "0"}},
      {"libsvm unsorted",
       {{"a.svm", "1 1:1\n-1 3:1 2:1\n"}},
       train_on("libsvm:a.svm"),
       3,
       {"a.svm, line 2", "unsorted"}},
      {"libsvm empty", {{"a.svm", ""}}, train_on("libsvm:a.svm"), 3, {"a.svm"}},
      {"npy unsupported type",
       npy_files(npy("<c8", "(2, 1)", raw<double>({1, 2}))),
       train_on("npy:n"),
       3,
       {"n/x.npy", "unsupported type"}},
      {"npy Fortran order",
       npy_files(npy("<f4", "(2, 2)", raw<float>({1, 2, 3, 4}), true)),
       train_on("npy:n"),
       3,
       {"n/x.npy", "Fortran"}},
      {"npy truncated",
       npy_files(npy("<f4", "(2, 2)", raw<float>({1, 2, 3}))),
       train_on("npy:n"),
       3,
       {"n/x.npy", "truncated"}},
      {"npy NaN", npy_files(npy("<f4", "(2, 2)", nan)), train_on("npy:n"), 3, {"n/x.npy", "not finite"}},
      {"npy not one", npy_files("hello"), train_on("npy:n"), 3, {"n/x.npy"}},
      {"label outside even-odd",
       {{"a.csv", "1,2,0.5\n3,4,1\n"}},
       {"run", "--data", "csv:a.csv", "--task", "even-odd", "--nodes", "1", "--quiet"},
       3,
       {"a.csv, line 1, column 3", "label \"0.5\"", "even-odd"}},
      {"three classes",
       {{"a.csv", "1,2,7\n3,4,1\n5,6,2\n"}},
       train_on("csv:a.csv"),
       3,
       {"a.csv, line 3, column 3", "label \"2\" is a third class", "keep the samples of two"}},
      {"one class",
       {{"a.csv", "1,2,7\n3,4,7\n"}},
       train_on("csv:a.csv"),
       3,
       {"all labels are \"7\"", "--schema-classes 7,OTHER"}},
      {"text for a regression",
       {{"a.csv", "a,b\n1,3\n2,high\n"}},
       {"run", "--data", "csv:a.csv", "--model", "linear", "--nodes", "1", "--quiet"},
       3,
       {"a.csv, line 3, column 2", "\"high\" is not a number"}},
      {"positive class that does not exist",
       {{"a.csv", "a,b\n1,no\n2,yes\n"}},
       {"run", "--data", "csv:a.csv", "--positive", "y", "--nodes", "1", "--quiet"},
       3,
       {"\"y\" is none of the classes \"no\", \"yes\""}},
      {"columns that [schema] does not name",
       {{"a.csv", "a,b,c\n1,2,0\n2,3,1\n"}},
       {"run", "--data", "csv:a.csv", "--schema-features", "b,a", "--nodes", "1", "--quiet"},
       3,
       {"csv:a.csv: column 1 is \"a\" here and \"b\" in the run"}},
      {"schema against the model",
       {},
       train_with({"--schema-task", "regression"}),
       2,
       {"model svm is a classifier"}},
      {"mnist not there", {}, train_on("mnist"), 3, {"MNIST", "mfl data fetch mnist"}},
      {"more samples than there are", {}, train_with({"--train", "999999"}), 3, {"999999", "synthetic"}},
      {"partition file twice",
       {{"p.txt", "0 1 2\n3 1\n"}},
       train_with({"--partition", "file:p.txt", "--nodes", "2"}),
       3,
       {"p.txt, line 2", "duplicate"}},
      {"partition file of other nodes",
       {{"p.txt", "0 1 2\n3\n"}},
       train_with({"--partition", "file:p.txt"}),
       2,
       {"p.txt names 2 nodes, nodes is 4"}},
  };
}

std::vector<Row> configuration_rows() {
  return {
      {"eta 0", {}, train_with({"--eta", "0"}), 2, {"--eta 0: must be > 0"}},
      {"eta negative", {}, train_with({"--eta", "-1"}), 2, {"--eta -1: must be > 0"}},
      {"eta infinite", {}, train_with({"--eta", "inf"}), 2, {"--eta inf: must be > 0"}},
      {"eta no number", {}, train_with({"--eta", "fast"}), 2, {"--eta fast: must be a number > 0"}},
      {"gamma 1", {}, train_with({"--gamma", "1"}), 2, {"--gamma 1: must be in [0, 1)"}},
      {"gamma negative", {}, train_with({"--gamma=-0.1"}), 2, {"--gamma -0.1: must be in [0, 1)"}},
      {"tau 0", {}, train_with({"--tau", "0"}), 2, {"--tau 0: must be a whole number >= 1"}},
      {"nodes 0", {}, train_with({"--nodes", "0"}), 2, {"--nodes 0: must be a whole number >= 1"}},
      {"steps 0", {}, {"run", "--steps", "0"}, 2, {"--steps 0: must be a whole number >= 1"}},
      {"lambda negative", {}, train_with({"--lambda", "-1"}), 2, {"--lambda -1: must be >= 0"}},
      {"model", {}, train_with({"--model", "svn"}), 2, {"--model svn", "did you mean \"svm\"?"}},
      {"algorithm", {}, train_with({"--algorithm", "mlf"}), 2, {"--algorithm mlf", "did you mean \"mfl\"?"}},
      {"precision", {}, train_with({"--precision", "f31"}), 2, {"--precision f31", "f32 or f64"}},
      {"partition", {}, train_with({"--partition", "label_sorted"}), 2, {"did you mean \"label-sorted\"?"}},
      {"partition with parameters",
       {},
       train_with({"--partition", "iid(4)"}),
       2,
       {"--partition iid(4): iid: takes no parameters"}},
      {"partition file without a path", {}, train_with({"--partition", "file:"}), 2, {"file: missing PATH"}},
      {"partition of a split",
       {},
       {"data", "split", "synthetic:40x8", "--partition", "iid:4", "--out", "parts"},
       2,
       {"--partition iid:4: iid: unexpected \":4\""}},
      {"data spec", {}, train_on("mnsit"), 2, {"mnsit", "mnist"}},
      {"data in memory", {}, train_on("memory"), 2, {"a program gave this data in memory", "npy:DIR"}},
      {"data in memory with a path", {}, train_on("memory:x"), 2, {"unknown data source \"memory\""}},
      {"more nodes than samples",
       {},
       train_with({"--nodes", "41", "--train", "40", "--test", "0"}),
       2,
       {"41 nodes", "40 training samples"}},
      {"more nodes than samples in the file",
       {{"a.csv", "1,1\n2,-1\n"}},
       {"run", "--data", "csv:a.csv", "--quiet"},
       2,
       {"more nodes than samples", "4 nodes"}},
      {"fraction 0", {}, train_with({"--fraction-train", "0"}), 2, {"--fraction-train 0: must be in (0, 1]"}},
      {"fraction above 1", {}, train_with({"--fraction-train", "1.5"}), 2, {"must be in (0, 1]"}},
      {"quorum of more than there are", {}, train_with({"--quorum", "5"}), 2, {"quorum = 5", "4 nodes"}},
      {"fleet without columns", {}, train_on("fleet:10"), 2, {"fleet:10", "fleet:SAMPLESxCOLUMNS"}},
      {"fleet of no samples", {}, train_on("fleet:0x9"), 2, {"fleet:0x9"}},
      {"fleet upside down", {}, train_on("fleet:9-3x9"), 2, {"fleet:9-3x9"}},
      {"fleet misspelt", {}, train_on("flet:3x9"), 2, {"did you mean \"fleet\"?"}},
      {"fleet in one place",
       {},
       {"run", "--data", "fleet", "--algorithm", "mgd"},
       2,
       {"mgd", "fleet", "use fl or mfl"}},
      {"fleet with a partition",
       {},
       {"run", "--data", "fleet", "--partition", "label-sorted"},
       2,
       {"partition label-sorted", "fleet"}},
      {"fleet with training samples", {}, {"run", "--data", "fleet", "--train", "50"}, 2, {"fleet:10x784"}},
      {"fleet as a stored set", {}, {"data", "info", "fleet"}, 2, {"no rows to read", "synthetic"}},
      {"theory of a fleet", {}, {"theory", "run", "--data", "fleet"}, 2, {"needs stored data"}},
      {"theory of some nodes",
       {},
       {"theory", "run", "--data", "synthetic:40x8", "--fraction-train", "0.5"},
       2,
       {"fraction_train is 0.5"}},
      {"speed 0",
       {},
       train_with({"--device-speed", "0"}),
       2,
       {"--device-speed 0: must be a number > 0", "or none"}},
      {"speed of no known kind",
       {},
       train_with({"--device-speed", "normal(1, 2)"}),
       2,
       {"uniform(LEAST, GREATEST) or lognormal(MEDIAN, SIGMA)"}},
      {"sigma negative",
       {},
       train_with({"--network-up", "lognormal(1, -2)"}),
       2,
       {"--network-up lognormal(1, -2)", "SIGMA must be in [0, 10]"}},
      {"dropout 1", {}, train_with({"--device-dropout", "1"}), 2, {"must be a number in [0, 1)"}},
      {"latency negative", {}, train_with({"--network-latency=-1"}), 2, {"must be a number >= 0"}},
      {"file with a table for a spread",
       {{"e.toml", "[devices]\nspeed = { lognormal = 3 }\n"}},
       {"run", "e.toml"},
       2,
       {"e.toml:2: ", "a string or a number"}},
      {"unknown flag",
       {},
       train_with({"--gama", "0.5"}),
       2,
       {"unknown flag --gama", "did you mean --gamma?"}},
      {"unknown flag with =", {}, train_with({"--recordevery=5"}), 2, {"did you mean --record-every?"}},
      {"flag without value", {}, {"run", "--gamma"}, 2, {"run: --gamma: its value is missing"}},
      {"flag twice",
       {},
       train_with({"--gamma", "0.1", "--gamma", "0.2"}),
       2,
       {"run: --gamma is given twice: 0.1 and 0.2; leave one out"}},
      {"set without =", {}, train_with({"--set", "algorithm.gamma"}), 2, {"--set algorithm.gamma: has no ="}},
      {"set unknown key", {}, train_with({"--set", "algorithm.gama=0.5"}), 2, {"did you mean \"gamma\"?"}},
      {"set without table", {}, train_with({"--set", "gamma=0.5"}), 2, {"did you mean \"algorithm.gamma\"?"}},
      {"file not there", {}, {"run", "absent.toml"}, 2, {"absent.toml"}},
      {"file unknown key",
       {{"e.toml", "[algorithm]\n\ngama = 0.5\n"}},
       {"run", "e.toml"},
       2,
       {"e.toml:3: unknown key \"gama\" in [algorithm]; did you mean \"gamma\"?"}},
      {"file unknown table",
       {{"e.toml", "[modle]\n"}},
       {"run", "e.toml"},
       2,
       {"e.toml:1: ", "did you mean \"model\"?"}},
      {"file bad value",
       {{"e.toml", "[algorithm]\neta = 0\n"}},
       {"run", "e.toml"},
       2,
       {"e.toml:2: eta = 0", "> 0"}},
      {"file wrong type",
       {{"e.toml", "[run]\nsteps = \"many\"\n"}},
       {"run", "e.toml"},
       2,
       {"e.toml:2: ", "an integer"}},
      {"file syntax", {{"e.toml", "[run]\nsteps = = 1\n"}}, {"run", "e.toml"}, 2, {"e.toml:2: "}},
      {"resume unknown run", {}, {"run", "--resume", "ffffffff"}, 2, {"ffffffff"}},
      {"resume with a setting", {}, {"run", "--resume", "latest", "--gamma", "0.1"}, 2, {"remove --gamma"}},
      {"resume a finished run", {}, {"run", "--resume", "latest"}, 2, {"nothing to resume"}},
  };
}

std::vector<Row> command_rows() {
  return {
      {"show unknown run", {}, {"runs", "show", "ffffffff"}, 2, {"ffffffff"}},
      {"show nothing", {}, {"runs", "show"}, 2, {"RUN"}},
      {"compare unknown run", {}, {"runs", "compare", "latest", "ffffffff"}, 2, {"ffffffff"}},
      {"delete unknown run", {}, {"runs", "delete", "latest", "ffffffff"}, 2, {"ffffffff"}},
      {"export format",
       {},
       {"runs", "export", "latest", "--format", "xml"},
       2,
       {"--format xml: must be csv or json"}},
      {"export into nowhere",
       {{"file", "mine"}},
       {"runs", "export", "latest", "--out", "file/x.csv"},
       1,
       {"file", "Not a directory"}},
      {"export onto a folder",
       {{"folder/file", "mine"}},
       {"runs", "export", "latest", "--out", "folder"},
       1,
       {"cannot write folder: it is a folder"}},
      {"data from a device", {}, train_on("csv:/dev/zero"), 3, {"/dev/zero: it is a character device"}},
      {"configuration from a device", {}, {"run", "/dev/zero"}, 2, {"/dev/zero: it is a character device"}},
      {"store on a device",
       {},
       {"runs", "list", "--store", "/dev/null"},
       1,
       {"cannot open store /dev/null: it is not a regular file"}},
      {"threads", {}, train_with({"--threads", "70000"}), 2, {"--threads 70000: must be at most 4096"}},
      {"threads beyond 32 bits",
       {},
       train_with({"--threads", "4294967296"}),
       2,
       {"--threads 4294967296: must be at most 4096"}},
      {"list status", {}, {"runs", "list", "--status", "don"}, 2, {"did you mean \"done\"?"}},
      {"list limit", {}, {"runs", "list", "--limit", "few"}, 2, {"--limit"}},
      {"store not there", {}, {"runs", "show", "latest", "--store", "other.db"}, 2, {"other.db"}},
      {"split into a full folder",
       {{"o/x", "mine"}},
       {"data", "split", "synthetic:40x8", "--out", "o"},
       2,
       {"o"}},
      {"split without out", {}, {"data", "split", "synthetic"}, 2, {"--out"}},
      {"split more nodes than samples",
       {},
       {"data", "split", "synthetic:40x8", "--nodes", "99", "--out", "o"},
       2,
       {"99 nodes"}},
      {"info bad spec", {}, {"data", "info", "cvs:a.csv"}, 2, {"cvs"}},
      {"fetch unknown set", {}, {"data", "fetch", "cifar"}, 2, {"cifar"}},
      {"fetch from a folder without it",
       {{"m/readme", ""}},
       {"data", "fetch", "mnist", "--from", "m", "--quiet"},
       3,
       {"m"}},
      {"unknown command", {}, {"rnu"}, 2, {"unknown command \"rnu\"; did you mean run?"}},
      {"unknown command before flags",
       {},
       {"rnu", "--data", "x"},
       2,
       {"unknown command \"rnu\"; did you mean run?"}},
      {"flag before the command", {}, {"--data", "x"}, 2, {"flags follow a command: mfl run --data"}},
      {"word of Flower", {}, train_with({"--num-rounds", "9"}), 2, {"did you mean --rounds?"}},
      {"word of PyTorch", {}, train_with({"--lr=0.1"}), 2, {"unknown flag --lr; did you mean --eta?"}},
      {"word with underscores", {}, train_with({"--num_clients", "9"}), 2, {"did you mean --nodes?"}},
      {"a batch of nothing", {}, train_with({"--batch-size", "0"}), 2, {"--batch-size 0", ">= 1"}},
      {"two lengths of a round",
       {},
       {"run", "--data", "synthetic", "--tau", "4", "--local-epochs", "1", "--rounds", "3"},
       2,
       {"tau = 4 and local_epochs = 1 both say how long a round is"}},
      {"adaptive tau without a budget",
       {},
       {"run", "--data", "synthetic", "--tau", "adaptive"},
       2,
       {"tau = \"adaptive\" needs a budget to divide", "set budget_seconds or budget_bytes"}},
      {"adaptive tau in one place",
       {},
       {"run", "--data", "synthetic", "--algorithm", "gd", "--tau", "adaptive"},
       2,
       {"gd has all samples in one place and no tau"}},
      {"a budget in one place",
       {},
       {"run", "--data", "synthetic", "--algorithm", "mgd", "--budget-bytes", "9"},
       2,
       {"mgd has no rounds between nodes that a budget could count"}},
      {"adaptive tau of batches",
       {},
       {"run", "--data", "synthetic", "--tau", "adaptive", "--budget-bytes", "9", "--batch-size", "4"},
       2,
       {"is about steps on all samples of a node", "leave batch_size out"}},
      {"adaptive tau of epochs",
       {},
       {"run", "--data", "synthetic", "--tau", "adaptive", "--budget-bytes", "9", "--local-epochs", "4"},
       2,
       {"local_epochs = 4 both say how long a round is"}},
      {"adaptive tau of rounds",
       {},
       {"run", "--data", "synthetic", "--tau", "adaptive", "--budget-bytes", "9", "--rounds", "4"},
       2,
       {"rounds do not say how long the run is"}},
      {"adaptive tau of medians",
       {},
       {"run", "--data", "synthetic", "--tau", "adaptive", "--budget-bytes", "9", "--aggregator", "median"},
       2,
       {"needs the exact means of what nodes estimate"}},
      {"a word for tau",
       {},
       {"run", "--data", "synthetic", "--tau", "adaptiv"},
       2,
       {"--tau adaptiv: must be a whole number >= 1, or \"auto\" or \"adaptive\""}},
      {"phi without adaptive tau",
       {},
       {"run", "--data", "synthetic", "--phi", "1"},
       2,
       {"tau_max and phi have no effect without tau = \"adaptive\""}},
      {"no phi", {}, train_with({"--phi", "0"}), 2, {"--phi 0", "> 0"}},
      {"no budget", {}, train_with({"--budget-seconds", "0"}), 2, {"--budget-seconds 0", "> 0"}},
      {"a budget of less than a round",
       {},
       {"run", "--data", "synthetic", "--tau", "adaptive", "--budget-bytes", "9", "--quiet"},
       2,
       {"the budget does not allow a round of one local step"}},
      {"theory of an adaptive tau",
       {},
       {"theory", "run", "--data", "synthetic", "--tau", "adaptive", "--budget-bytes", "9", "--model",
        "linear"},
       2,
       {"is about rounds of equal length"}},
      {"users of data without them",
       {},
       train_with({"--partition", "users"}),
       2,
       {"the data does not say which user its samples are from"}},
      {"other nodes than users",
       {},
       {"run", "--data", "synthetic-fedprox(1, 1)", "--partition", "users", "--quiet"},
       2,
       {"the data has 30 users, nodes is 4", "set nodes to 30"}},
      {"fashion-mnist not there",
       {},
       train_on("fashion-mnist"),
       3,
       {"Fashion-MNIST", "mfl data fetch fashion-mnist"}},
      {"cifar10 not there", {}, train_on("cifar10"), 3, {"CIFAR-10", "mfl data fetch cifar10"}},
      {"a path of cifar10", {}, train_on("cifar10:x"), 2, {"cifar10: unexpected \":x\""}},
      {"two lengths of a run",
       {},
       train_with({"--rounds", "3"}),
       2,
       {"steps = 4 and rounds = 3 both say how long the run is"}},
      {"local epochs without rounds",
       {},
       {"run", "--data", "synthetic", "--local-epochs", "1"},
       2,
       {"a run has rounds, not steps", "set rounds in [run]"}},
      {"local epochs of a centralised run",
       {},
       {"run", "--data", "synthetic", "--algorithm", "gd", "--local-epochs", "1", "--rounds", "3"},
       2,
       {"gd has all samples in one place"}},
      {"drop_last without batches", {}, train_with({"--drop-last", "true"}), 2, {"set batch_size"}},
      {"drop_last of another type",
       {{"e.toml", "[algorithm]\ndrop_last = 1\n"}},
       {"run", "e.toml"},
       2,
       {"e.toml:2: ", "true or false"}},
      {"an aggregator that trims all",
       {},
       train_with({"--aggregator", "trimmed-mean(0.5)"}),
       2,
       {"fraction", "0.5"}},
      {"Krum with too few nodes", {}, train_with({"--aggregator", "krum(1)"}), 2, {"krum", "5", "4"}},
      {"an unknown aggregator", {}, train_with({"--aggregator", "medain"}), 2, {"did you mean \"median\"?"}},
      {"an intercept of a fleet",
       {},
       {"run", "--data", "fleet:5x4", "--nodes", "10", "--intercept", "true"},
       2,
       {"an intercept of a linear model is not supported with data fleet:5x4"}},
      {"standardised fleets",
       {},
       {"run", "--data", "fleet:5x4", "--nodes", "10", "--standardise", "full"},
       2,
       {"standardise or class_weight is not supported"}},
      {"means of sparse rows",
       {{"s.libsvm", "1 1:2 3:1\n-1 2:1\n1 1:1\n-1 3:2\n"}},
       {"run", "--data", "libsvm:s.libsvm", "--standardise", "full", "--nodes", "1"},
       2,
       {"use standardise = scale"}},
      {"weights of a regression",
       {{"r.csv", "1,2.5\n2,3.5\n3,1.5\n4,0\n"}},
       {"run", "--data", "csv:r.csv", "--model", "linear", "--class-weight", "balanced", "--nodes", "1"},
       2,
       {"a regression has no classes"}},
      {"weights of three of two classes",
       {{"c.csv", "1,0\n2,1\n3,0\n4,1\n"}},
       {"run", "--data", "csv:c.csv", "--class-weight", "1, 2, 3", "--nodes", "1"},
       2,
       {"class_weight has 3 numbers, and there are 2 classes"}},
      {"a weight of zero",
       {{"c.csv", "1,0\n2,1\n3,0\n4,1\n"}},
       {"run", "--data", "csv:c.csv", "--class-weight", "1, 0", "--nodes", "1"},
       2,
       {"must be none, balanced, or two or more numbers > 0"}},
      {"one fold", {}, train_with({"--folds", "1"}), 2, {"at least 2 folds"}},
      {"a fold too many", {}, train_with({"--folds", "3", "--fold", "3"}), 2, {"between 0 and 2, got 3"}},
      {"an experiment for data that is not one's own", {}, {"init", "mnist"}, 2, {"not data of your own"}},
      {"theory of batches",
       {},
       {"theory", "run", "--data", "synthetic", "--batch-size", "9"},
       2,
       {"mfl theory run is about steps on all samples", "batch_size"}},
      {"output", {}, train_with({"--output", "w.npy"}), 2, {"did you mean --weights-out?"}},
      {"file behind a flag", {}, {"run", "--config", "e.toml"}, 2, {"name the file without a flag"}},
      {"key of PyTorch",
       {{"e.toml", "[algorithm]\nlearning_rate = 1\n"}},
       {"run", "e.toml"},
       2,
       {"e.toml:2: unknown key \"learning_rate\" in [algorithm]; did you mean \"eta\"?"}},
      {"key of Flower in another table",
       {{"e.toml", "[federation]\nnum_rounds = 1\n"}},
       {"run", "e.toml"},
       2,
       {"did you mean \"rounds\" in [run]?"}},
      {"help of an unknown command",
       {},
       {"help", "runs", "lst"},
       2,
       {"runs: unknown command \"lst\"; did you mean list?"}},
      {"unknown shell", {}, {"completion", "tcsh"}, 2, {"SHELL tcsh: must be bash, zsh or fish"}},
      {"flag with a value", {}, {"run", "--quiet=yes"}, 2, {"run: --quiet takes no value"}},
      {"unknown subcommand", {}, {"runs", "lst"}, 2, {"unknown command \"lst\"; did you mean list?"}},
      {"unexpected argument", {}, {"runs", "list", "extra"}, 2, {"extra"}},
      {"no command", {}, {}, 2, {"a command is missing: init, run, sweep, reproduce, study, report,"}},
      {"no subcommand", {}, {"data"}, 2, {"a command is missing: fetch, info, partition, split"}},
      {"control characters", {}, {"run", "--eta", "\x1b[31mred\n"}, 2, {"--eta"}},
  };
}

// One finished run, which must stay unchanged.
class BadInput : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    prepared_ = new Sandbox;
    ok_data(prepared_->run({"run", "--data", "synthetic:40x8", "--steps", "8", "--json"}));
  }
  static void TearDownTestSuite() { delete prepared_; }

  static void check(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      SCOPED_TRACE(row.name);
      const Sandbox box;
      std::filesystem::copy(prepared_->store(), box.store());
      for (const auto& [name, bytes] : row.files) box.write(name, bytes);
      const auto before = box.files();
      expect_error(box.run(row.args), row.code, row.fragments);
      expect_same_as_json(box, row);
      EXPECT_EQ(box.files(), before);
    }
  }

 private:
  static void expect_same_as_json(const Sandbox& box, const Row& row) {
    std::vector<std::string> args = row.args;
    args.emplace_back("--json");
    const Outcome outcome = box.run(args);
    EXPECT_EQ(outcome.code, row.code);
    EXPECT_EQ(outcome.err, "");
    const auto reply = outcome.json();
    EXPECT_EQ(reply["schema_version"], 1);
    EXPECT_EQ(reply["status"], "error");
    ASSERT_TRUE(reply.contains("error")) << outcome.out;
    for (const char* key : {"code", "message", "hint"}) EXPECT_TRUE(reply["error"].contains(key)) << key;
    constexpr const char* kCodes[] = {"", "run_failed", "bad_config", "bad_data", "network", "internal"};
    EXPECT_EQ(reply["error"]["code"], kCodes[row.code]);
  }

  static Sandbox* prepared_;
};

Sandbox* BadInput::prepared_ = nullptr;

TEST_F(BadInput, Data) { check(data_rows()); }
TEST_F(BadInput, Configuration) { check(configuration_rows()); }
TEST_F(BadInput, Commands) { check(command_rows()); }

TEST(BadStore, NotAStoreDamagedOrUnreachable) {
  const Sandbox box;
  const std::vector<std::string> train{"run", "--data", "synthetic:40x8", "--steps", "8", "--quiet"};
  const auto with_store = [](std::vector<std::string> args, const std::string& path) {
    args.insert(args.end(), {"--store", path});
    return args;
  };
  ASSERT_EQ(box.run(train).code, 0);
  std::string damaged = box.read("store.db");
  std::fill(damaged.begin() + 100, damaged.begin() + 4096, '\x5A');
  box.write("damaged.db", damaged);
  box.write(
      "text.db",
      "This is not a database, and it is longer than a header of one hundred bytes would be, is it not?");
  const auto before = box.files();
  for (const auto& args : {train, std::vector<std::string>{"runs", "list"}, {"runs", "delete", "latest"}}) {
    SCOPED_TRACE(args[0]);
    expect_error(box.run(with_store(args, "text.db")), 1, {"text.db"});
    expect_error(box.run(with_store(args, "damaged.db")), 1, {"damaged.db"});
  }
  expect_error(box.run(with_store(train, "text.db/runs.db")), 1, {"text.db"});
  EXPECT_EQ(box.files(), before);
}

TEST(BadStore, Locked) {
  const Sandbox box;
  const std::vector<std::string> train{"run", "--data", "synthetic:40x8", "--steps", "8", "--quiet"};
  ASSERT_EQ(box.run(train).code, 0);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(box.store().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  expect_error(box.run(train), 1, {"store.db", "locked"});
  expect_error(box.run({"runs", "delete", "latest"}), 1, {"store.db", "locked"});
  EXPECT_EQ(ok_data(box.run({"runs", "list", "--json"}))["runs"].size(), 1U) << "readers do not wait";
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  EXPECT_EQ(box.run(train).code, 0);
}

TEST(BadStore, FullDisk) {
  const Sandbox box;
  const std::vector<std::string> train{"run", "--data", "synthetic:40x8", "--steps", "8", "--quiet"};
  expect_error(box.run(train, {.file_bytes = 2048, .interrupt_after = {}}), 1, {"store.db"});
  ASSERT_EQ(box.run(train).code, 0);
  const auto before = ok_data(box.run({"runs", "list", "--json"}));
  expect_error(box.run(train, {.file_bytes = 2048, .interrupt_after = {}}), 1, {"store.db"});
  EXPECT_EQ(ok_data(box.run({"runs", "list", "--json"})), before);
}

TEST(BadRun, RoundsThatNoNodeCanFinishInTimeEndTheRun) {
  const Sandbox box;
  expect_error(box.run({"run", "--data", "synthetic:40x8", "--steps", "8", "--device-speed", "1",
                        "--round-deadline", "2", "--quiet"}),
               1, {"round 1 was abandoned 1000 times", "within 2 s", "raise round_deadline"});
  EXPECT_EQ(ok_data(box.run({"runs", "list", "--json"}))["runs"][0]["status"], "failed");
}

TEST(BadRun, WeightsThatCannotBeWrittenAreFoundBeforeTraining) {
  const Sandbox box;
  box.write("file", "x");
  ASSERT_TRUE(make_folder(box.path("folder.npy")));
  const std::pair<const char*, const char*> rows[] = {{"file/w.npy", "Not a directory"},
                                                      {"folder.npy", "it is a folder"},
                                                      {"w.txt", "name a file that ends in .npy"},
                                                      {".", "name a file that ends in .npy"}};
  for (const auto& [path, why] : rows)
    expect_error(
        box.run({"run", "--data", "synthetic:40x8", "--steps", "8", "--weights-out", path, "--quiet"}), 2,
        {"--weights-out", path, why});
  EXPECT_EQ(ok_data(box.run({"runs", "list", "--json"}))["runs"].size(), 0U);
}

TEST(BadRun, DivergenceIsRecordedAndExitsWithOne) {
  const Sandbox box;
  const std::vector<std::string> args{"run",   "--data", "synthetic:200x20", "--model", "linear",
                                      "--eta", "1e9",    "--steps",          "400",     "--quiet"};
  const Outcome people = box.run(args);
  EXPECT_EQ(people.code, 1);
  EXPECT_THAT(people.out, ::testing::HasSubstr("diverged"));
  EXPECT_THAT(people.err, ::testing::StartsWith("mfl: run "));
  EXPECT_THAT(people.err, ::testing::HasSubstr("diverged"));
  EXPECT_THAT(people.err, ::testing::HasSubstr("lower eta"));
  auto json_args = args;
  json_args.emplace_back("--json");
  const Outcome programs = box.run(json_args);
  EXPECT_EQ(programs.code, 1);
  const auto reply = programs.json();
  EXPECT_EQ(reply["status"], "error");
  EXPECT_EQ(reply["error"]["code"], "run_failed");
  EXPECT_EQ(reply["data"]["status"], "diverged");
  EXPECT_LT(reply["data"]["final"]["step"].count(), 400U);
  const auto listed = ok_data(box.run({"runs", "list", "--status", "diverged", "--json"}));
  EXPECT_EQ(listed["runs"].size(), 2U);
}

}  // namespace
}  // namespace mfl::test
