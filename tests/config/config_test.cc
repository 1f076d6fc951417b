#include "mfl/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "mfl/base/files.h"
#include "mfl/base/nearest.h"
#include "mfl/config/config_keys.h"
#include "mfl/engine/workers.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Nearest, FindsTheClosestWithinReach) {
  constexpr std::string_view kWords[] = {"eta", "gamma", "tau", "lambda", "steps"};
  EXPECT_EQ(nearest("gama", kWords), "gamma");
  EXPECT_EQ(nearest("gmama", kWords), "gamma");
  EXPECT_EQ(nearest("etaa", kWords), "eta");
  EXPECT_EQ(nearest("tua", kWords), "tau");
  EXPECT_EQ(nearest("step", kWords), "steps");
  EXPECT_EQ(nearest("zzzzzz", kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest("xy", kWords), "");
  EXPECT_EQ(nearest("gamma", {}), "");
}

TEST(Config, EmptyFileIsTheDefaults) {
  const auto config = parse_config("", "empty.toml");
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(*config, Config{});
  EXPECT_TRUE(validate(*config));
}

TEST(Config, ReadsEveryKey) {
  const auto config = parse_config(R"(
[data]
source = "csv:a.csv"
test_source = "csv:b.csv"
train = 5000
test = "all"
take = "random"
task = "raw"
scale = 2
label = 3
header = "no"
drop = ["id", 4]
features = ["age", "b,mi"]
separator = ";"
positive = 1.0
[federation]
nodes = 10
partition = "file:parts.json"
[model]
name = "logistic"
lambda = 1e-3
[algorithm]
name = "fedavg"
eta = 1
gamma = 0.9
tau = 7
[run]
name = "mine \"quoted\""
steps = 10
seed = 9223372036854775807
precision = "f64"
engine = "serial"
threads = 3
record_every = 2
checkpoint_every = 5
keep_states = 9
target_loss = -0.5
target_accuracy = 0.75
patience = 12
[schema]
features = ["a, b", "c"]
label = "d"
task = "binary"
classes = [1, "0.0"]
positive = 1
)",
                                   "all.toml");
  ASSERT_TRUE(config) << config.error().text();
  Config expected;
  expected.data = {.source = "csv:a.csv",
                   .test_source = "csv:b.csv",
                   .train = 5000,
                   .test = std::nullopt,
                   .take = Take::kRandom,
                   .task = Task::kRaw,
                   .scale = 2.0,
                   .label = "3",
                   .header = CsvHeader::kNo,
                   .drop = {"id", "4"},
                   .features = {"age", "b,mi"},
                   .separator = ';',
                   .positive = "1"};
  expected.federation = {10, "file:parts.json"};
  expected.model = {"logistic", 1e-3};
  expected.algorithm = {.name = "fl", .eta = 1.0, .gamma = 0.9, .tau = 7};
  expected.run = {.name = "mine \"quoted\"",
                  .steps = 10,
                  .target_loss = -0.5,
                  .target_accuracy = 0.75,
                  .patience = 12,
                  .seed = 9223372036854775807U,
                  .precision = Precision::kF64,
                  .engine = "serial",
                  .threads = 3,
                  .record_every = 2,
                  .checkpoint_every = 5,
                  .keep_states = 9};
  expected.schema = {2, {"a, b", "c"}, "", "d", LabelTask::kBinary, {"0", "1"}, "1"};
  EXPECT_EQ(*config, expected);
}

TEST(Config, FeaturesMayBeANumberAndListsMayBeFlags) {
  Config config;
  ASSERT_TRUE(set_key(config, "schema.features", "30"));
  EXPECT_EQ(config.schema.columns, 30U);
  ASSERT_TRUE(set_key(config, "schema.features", "age, bmi"));
  EXPECT_EQ(config.schema.features, (std::vector<std::string>{"age", "bmi"}));
  ASSERT_TRUE(set_key(config, "schema.features", R"(["a,b", "c\"d"])"));
  EXPECT_EQ(config.schema.features, (std::vector<std::string>{"a,b", "c\"d"}));
  EXPECT_EQ(parse_config(to_toml(config), "again")->schema, config.schema);
  EXPECT_FALSE(set_key(config, "schema.features", "[1, [2]]"));
  ASSERT_TRUE(set_key(config, "schema.classes", "10, a, 9.0, b"));
  EXPECT_EQ(config.schema.classes, (std::vector<std::string>{"9", "10", "a", "b"}));
  EXPECT_FALSE(set_key(config, "schema.classes", "a"));
  EXPECT_FALSE(set_key(config, "schema.classes", "a,b,c,a"));
  EXPECT_FALSE(set_key(config, "schema.classes", "1,1.0"));
  EXPECT_FALSE(parse_config("[schema]\nclasses = \"a,b\"", "text"));
  EXPECT_FALSE(parse_config("[schema]\nclasses = [{}]", "tables"));
}

TEST(Config, ColumnsAndSeparatorsOfCsvFiles) {
  Config config;
  ASSERT_TRUE(set_key(config, "data.drop", "id, 3"));
  EXPECT_EQ(config.data.drop, (std::vector<std::string>{"id", "3"}));
  ASSERT_TRUE(set_key(config, "data.features", R"(["a,b", ""])"));
  EXPECT_EQ(config.data.features, (std::vector<std::string>{"a,b", ""}));
  for (const char* tab : {"tab", "\t", "\\t"}) {
    config.data.separator = ',';
    ASSERT_TRUE(set_key(config, "data.separator", tab));
    EXPECT_EQ(config.data.separator, '\t');
  }
  EXPECT_EQ(parse_config(to_toml(config), "again")->data, config.data);
  for (const char* bad : {"", "x", ",,", "comma"}) {
    const auto set = set_key(config, "data.separator", bad);
    ASSERT_FALSE(set);
    EXPECT_THAT(set.error().text(), HasSubstr("must be ,, ;, | or tab"));
  }
  const DataOptions options = data_options(config);
  EXPECT_EQ(options.csv.drop, config.data.drop);
  EXPECT_EQ(options.csv.features, config.data.features);
  EXPECT_EQ(options.csv.separator, '\t');
  config.data.source = "fleet";
  const auto fleet = validate(config);
  ASSERT_FALSE(fleet);
  EXPECT_THAT(fleet.error().text(), HasSubstr("for CSV files"));
}

TEST(Config, ASchemaDoesNotContradictTheRest) {
  for (const char* text :
       {"[data]\ntask = \"even-odd\"\n[schema]\ntask = \"binary\"", "[schema]\ntask = \"regression\"",
        "[model]\nname = \"linear\"\n[schema]\ntask = \"regression\"\npositive = 1",
        "[schema]\nclasses = [0, 1]\npositive = 2", "[schema]\nclasses = [0, 1, 2]",
        "[schema]\ntask = \"multiclass\"", "[data]\ntask = \"multiclass\"",
        "[model]\nname = \"linear\"\n[schema]\ntask = \"multiclass\"",
        "[model]\nname = \"linear\"\n[schema]\nclasses = [0, 1, 2]",
        "[data]\npositive = 0\n[schema]\npositive = 1"})
    EXPECT_FALSE(parse_config(text, "bad.toml")) << text;
  EXPECT_TRUE(parse_config("[data]\ntask = \"raw\"\n[schema]\ntask = \"binary\"", "good.toml"));
}

struct BadConfig {
  const char* text;
  std::vector<const char*> fragments;
};

TEST(Config, BadFilesNameLineKeyAndTheNearestOne) {
  const std::vector<BadConfig> table = {
      {"[algorithm]\neta = 0.1\n\n\n\n\ngama = 0.5\n",
       {"experiment.toml:7: unknown key \"gama\" in [algorithm]; did you mean \"gamma\"?"}},
      {"[algoritm]\ngamma = 0.5\n",
       {"experiment.toml:1: unknown table [algoritm]; did you mean \"algorithm\"?"}},
      {"[model]\n\ngamma = 0.5\n",
       {"experiment.toml:3: ", "unknown key \"gamma\" in [model]", "belongs in [algorithm]"}},
      {"gamma = 0.5\n", {"experiment.toml:1: ", "outside of any table", "belongs in [algorithm]"}},
      {"data = \"mnist\"\n", {"experiment.toml:1: data must be a table, [data], not a string"}},
      {"[model]\nzzzzzzzz = 1\n", {"experiment.toml:2: ", "known: name lambda"}},
      {"[algorithm]\neta = 0\n", {"experiment.toml:2: eta = 0 in [algorithm]: must be > 0"}},
      {"[algorithm]\neta = -0.5\n", {":2: eta = -0.5", "> 0"}},
      {"[algorithm]\neta = inf\n", {":2: eta = inf", "> 0"}},
      {"[algorithm]\neta = nan\n", {":2: eta = nan", "> 0"}},
      {"[algorithm]\neta = \"0.1\"\n", {":2: eta = \"0.1\" in [algorithm]: must be a number or \"auto\""}},
      {"[algorithm]\neta = true\n", {":2: eta = true", "must be a number or \"auto\", not a boolean"}},
      {"[algorithm]\neta = [0.1]\n", {":2: eta", "must be a number or \"auto\", not an array"}},
      {"[algorithm]\ngamma = 1\n", {":2: gamma = 1 in [algorithm]: must be in [0, 1)"}},
      {"[algorithm]\ngamma = -0.1\n", {":2: ", "in [0, 1)"}},
      {"[algorithm]\ntau = 0\n", {":2: tau = 0", ">= 1"}},
      {"[algorithm]\ntau = 4.0\n",
       {":2: tau = 4.0", "must be an integer or \"auto\", not a floating-point number"}},
      {"[algorithm]\nname = \"mlf\"\n", {":2: ", "unknown algorithm \"mlf\"", "did you mean \"mfl\"?"}},
      {"[federation]\nnodes = 0\n", {":2: nodes = 0", ">= 1"}},
      {"[federation]\nnodes = -4\n", {":2: nodes = -4", ">= 1"}},
      {"[federation]\npartition = \"contigous\"\n", {":2: ", "did you mean \"contiguous\"?"}},
      {"[federation]\npartition = \"file:\"\n", {":2: ", "file: missing PATH"}},
      {"[federation]\npartition = \"iid(4)\"\n", {":2: ", "iid: takes no parameters"}},
      {"[federation]\npartition = \"file:a\\u0000b\"\n", {":2: ", "must be UTF-8 text"}},
      {"[federation]\nnodes = 11\n[data]\ntrain = 10\n",
       {"experiment.toml: 11 nodes cannot share 10 training samples"}},
      {"[federation]\nfraction_train = 0\n", {":2: fraction_train = 0", "in (0, 1]"}},
      {"[federation]\nfraction_train = 1.5\n", {":2: fraction_train = 1.5", "in (0, 1]"}},
      {"[federation]\nround_deadline = 0\n", {":2: round_deadline = 0", "> 0"}},
      {"[federation]\nmax_update_norm = -1\n", {":2: max_update_norm = -1", ">= 0"}},
      {"[federation]\nmax_samples = -1\n", {":2: max_samples = -1"}},
      {"[federation]\nquorum = 5\n", {"quorum = 5 is more than the 4 nodes there are"}},
      {"[federation]\nmin_available_nodes = 5\n", {"min_available_nodes = 5 is more than the 4 nodes"}},
      {"[run]\nsteps = 0\n", {":2: steps = 0", ">= 1"}},
      {"[run]\nprecision = \"f16\"\n", {":2: ", "must be f32 or f64", "did you mean \"f32\"?"}},
      {"[run]\nengine = \"thread\"\n", {":2: ", "did you mean \"threads\"?"}},
      {"[run]\nname = 7\n", {":2: name = 7 in [run]: must be a string, not an integer"}},
      {"[run]\nsteps = \"all\"\n", {":2: ", "must be an integer or \"auto\""}},
      {"[run]\nseed = \"all\"\n", {":2: ", "must be an integer, not a string"}},
      {"[data]\ntrain = 0\n", {":2: train = 0", ">= 1, or \"all\""}},
      {"[data]\ntrain = \"most\"\n", {":2: train = \"most\"", "must be an integer or \"all\""}},
      {"[data]\nscale = 0.0\n", {":2: scale = 0.0", "> 0, or \"auto\""}},
      {"[data]\nsource = \"\"\n", {":2: ", "must not be empty"}},
      {"[data]\ntake = \"randm\"\n", {":2: ", "first or random", "did you mean \"random\"?"}},
      {"[data]\ntask = \"evenodd\"\n", {":2: ", "did you mean \"even-odd\"?"}},
      {"[model]\nname = \"squared_svm\"\n", {":2: ", "did you mean \"squared-svm\"?"}},
      {"[model]\nlambda = -1\n", {":2: lambda = -1", ">= 0"}},
      {"[run]\nseed = 9223372036854775808\n", {"experiment.toml:2: "}},
      {"[run]\nseed = 1\nseed = 2\n", {"experiment.toml:3: "}},
      {"[run]\n\nsteps = \n", {"experiment.toml:3: "}},
      {"[run\n", {"experiment.toml:1: "}},
      {"[run]\nname = \"\xff\"\n", {"experiment.toml:2: "}},
      {"[run]\nsteps = 0\n[algorithm]\neta = 0\n", {"experiment.toml:2: "}},
  };
  for (const BadConfig& bad : table) {
    SCOPED_TRACE(bad.text);
    const auto config = parse_config(bad.text, "experiment.toml");
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().code, ErrorCode::kBadConfig);
    for (const char* fragment : bad.fragments) EXPECT_THAT(config.error().message, HasSubstr(fragment));
    EXPECT_EQ(config.error().message.find('\n'), std::string::npos);
  }
}

TEST(Config, FilesThatCannotBeReadAreBadConfiguration) {
  const auto folder = TempFolder::make();
  ASSERT_TRUE(folder);
  for (const auto& path : {folder->path() / "absent.toml", folder->path()}) {
    const auto config = read_config(path);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().code, ErrorCode::kBadConfig);
    EXPECT_THAT(config.error().message, HasSubstr(path.string()));
  }
}

TEST(Config, SetKeyNamesWhereAndLeavesTheRest) {
  Config config;
  ASSERT_TRUE(set_key(config, "algorithm.gamma", "0.9"));
  EXPECT_EQ(config.algorithm.gamma, 0.9);
  ASSERT_TRUE(set_key(config, "data.train", "all"));
  const Config before = config;
  const struct {
    const char *key, *text, *where, *message;
  } table[] = {
      {"algorithm.gamma", "1.5", "--gamma 1.5", "--gamma 1.5: must be in [0, 1)"},
      {"algorithm.gamma", "abc", "--gamma abc", "--gamma abc: must be a number in [0, 1)"},
      {"algorithm.gamma", "", "", "algorithm.gamma = : must be a number"},
      {"algorithm.gamma", "0.5x", "", "algorithm.gamma = 0.5x: must be a number"},
      {"algorithm.tau", "4.5", "--tau 4.5", "--tau 4.5: must be a whole number >= 1"},
      {"algorithm.tau", "-1", "--tau -1", "--tau -1: must be a whole number >= 1"},
      {"run.seed", "99999999999999999999", "--seed", "--seed: must be at most 9223372036854775807"},
      {"run.threads", "70000", "--threads 70000", "--threads 70000: must be at most 4096"},
      {"run.threads", "4294967296", "--threads 4294967296", "--threads 4294967296: must be at most 4096"},
      {"algorithm.gama", "0.5", "--set algorithm.gama=0.5", "did you mean \"gamma\"?"},
      {"gama", "0.5", "--set gama=0.5", "is not table.key; did you mean \"algorithm.gamma\"?"},
      {"run.name", "a\xC3", "--name", "must be UTF-8"},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(row.message);
    const auto set = set_key(config, row.key, row.text, row.where);
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, ErrorCode::kBadConfig);
    EXPECT_THAT(set.error().message, HasSubstr(row.message));
    EXPECT_EQ(config, before);
  }
}

TEST(Config, ValidateChecksAConfigMadeByHand) {
  const std::vector<void (*)(Config&)> faults = {
      [](Config& c) { c.algorithm.eta = 0; },
      [](Config& c) { c.algorithm.eta = std::nan(""); },
      [](Config& c) { c.algorithm.gamma = 1; },
      [](Config& c) { c.algorithm.tau = 0; },
      [](Config& c) { c.algorithm.name = "adam"; },
      [](Config& c) { c.federation.nodes = 0; },
      [](Config& c) { c.federation.partition = "dirichlet"; },
      [](Config& c) { c.model.lambda = -1; },
      [](Config& c) { c.run.steps = 0; },
      [](Config& c) { c.run.seed = ~std::uint64_t{0}; },
      [](Config& c) { c.data.train = 3; },
  };
  for (const auto& fault : faults) {
    Config config;
    fault(config);
    const auto valid = validate(config);
    ASSERT_FALSE(valid) << to_toml(config);
    EXPECT_EQ(valid.error().code, ErrorCode::kBadConfig);
  }
}

std::string any_text() {
  const auto points = *rc::gen::container<std::vector<char>>(rc::gen::inRange<char>(1, 127));
  return {points.begin(), points.end()};
}

double any_positive() {
  const double x = std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>() & 0x7FFF'FFFF'FFFF'FFFFU);
  return std::isfinite(x) && x > 0 ? x : 1.0;
}

std::uint64_t any_count(std::uint64_t least) {
  return std::max(least, *rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(1, 64));
}

Config any_config() {
  Config c;
  const auto coin = [] { return *rc::gen::arbitrary<bool>(); };
  c.data.source = "csv:x" + any_text();
  if (coin()) c.data.test_source = "npy:x" + any_text();
  if (coin()) c.data.test = any_count(0);
  if (coin()) c.data.scale = any_positive();
  c.data.take = *rc::gen::element(Take::kFirst, Take::kRandom);
  c.data.task = *rc::gen::element<std::optional<Task>>(std::nullopt, Task::kEvenOdd, Task::kRaw);
  c.data.header = *rc::gen::element(CsvHeader::kAuto, CsvHeader::kYes, CsvHeader::kNo);
  c.data.label = "x" + any_text() + "\xC3\xA9";
  if (coin()) c.data.drop = {any_text(), any_text()};
  if (coin()) c.data.features = {any_text()};
  c.data.separator = *rc::gen::element(',', ';', '|', '\t');
  c.federation.nodes = any_count(1);
  if (coin()) c.data.train = std::max(c.federation.nodes, any_count(1));
  c.federation.partition =
      *rc::gen::element<std::string>("iid", "contiguous", "label-sorted", "file:\"a\\b\"\t\n");
  if (coin()) c.federation.fraction_train = 0x1p-10;
  if (coin()) c.federation.min_available_nodes = c.federation.nodes;
  if (coin()) c.federation.quorum = 1;
  if (coin()) c.federation.round_deadline = 0.25;
  if (coin()) c.federation.max_samples = any_count(1);
  if (coin()) c.federation.max_update_norm = any_positive();
  const auto any_spread = [&] {
    const double x = any_positive();
    return *rc::gen::element(Distribution{Distribution::Kind::kFixed, x, 0},
                             Distribution{Distribution::Kind::kUniform, x, 2 * x},
                             Distribution{Distribution::Kind::kLognormal, x, 0.1}, kNoLimit);
  };
  if (coin()) c.devices.speed = any_spread();
  if (coin()) c.devices.dropout = {Distribution::Kind::kUniform, 0, 0.3};
  if (coin()) c.network = {any_spread(), any_spread(), {Distribution::Kind::kFixed, any_positive(), 0}};
  c.model.name = *rc::gen::element<std::string>("svm", "squared-svm", "linear", "logistic");
  if (coin()) c.model.lambda = coin() ? 0 : any_positive();
  c.algorithm.name = *rc::gen::element<std::string>("gd", "mgd", "fl", "mfl");
  c.algorithm.eta = any_positive();
  c.algorithm.gamma = static_cast<double>(*rc::gen::arbitrary<std::uint64_t>() >> 11U) * 0x1p-53;
  c.algorithm.tau = any_count(1);
  c.run.name = any_text();
  c.run.steps = any_count(1);
  c.run.patience = *rc::gen::inRange<std::uint64_t>(0, 100);
  c.run.seed = any_count(0);
  c.run.precision = *rc::gen::element(Precision::kF32, Precision::kF64);
  c.run.engine = *rc::gen::element<std::string>("threads", "serial");
  c.run.threads = any_count(0) % (kMaxThreads + 1);
  c.run.record_every = any_count(0);
  c.run.checkpoint_every = any_count(0);
  c.run.keep_states = 1 + any_count(0) % kMaxKeepStates;
  return c;
}

TEST(Config, CanonicalTextReadsBackEqual) {
  EXPECT_TRUE(rc::check([] {
    const Config config = any_config();
    RC_ASSERT(validate(config).has_value());
    const std::string text = to_toml(config);
    const auto again = parse_config(text, "canonical.toml");
    if (!again) RC_FAIL(again.error().text());
    RC_ASSERT(*again == config);
    RC_ASSERT(to_toml(*again) == text);
    RC_ASSERT(config_digest(*again) == config_digest(config));
  }));
}

// The plan of a server and the record of a run with trainers name no rows.
TEST(Config, SourcesWithoutRowsReadBackEqual) {
  for (const char* source : {kFederationSource, kTrainerSource}) {
    Config config;
    config.data.source = source;
    const auto again = parse_config(to_toml(config), "again");
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->data.source, source);
  }
}

TEST(Config, DigestSeesTheTrajectoryAndNothingElse) {
  const Config base;
  const std::string digest = config_digest(base);
  for (const Key& key : config_keys()) {
    Config other = base;
    const std::string_view text = key.kind == KeyKind::kText
                                      ? (key.key == "engine"                             ? "serial"
                                         : key.key == "precision"                        ? "f64"
                                         : key.key == "take"                             ? "random"
                                         : key.key == "task" && key.table == "data"      ? "raw"
                                         : key.key == "task"                             ? "binary"
                                         : key.key == "header"                           ? "no"
                                         : key.key == "standardise"                      ? "full"
                                         : key.key == "class_weight"                     ? "balanced"
                                         : key.key == "separator"                        ? ";"
                                         : key.key == "partition"                        ? "contiguous"
                                         : key.key == "feature_skew"                     ? "noise"
                                         : key.key == "aggregator"                       ? "median"
                                         : key.key == "codecs"                           ? "bf16"
                                         : key.key == "correction"                       ? "control-variates"
                                         : key.key == "momentum"                         ? "reset"
                                         : key.key == "server_step"                      ? "adam"
                                         : key.key == "source"                           ? "synthetic"
                                         : key.key == "test_source"                      ? "synthetic"
                                         : key.key == "name" && key.table == "model"     ? "linear"
                                         : key.key == "name" && key.table == "algorithm" ? "gd"
                                                                                         : "other")
                                  : key.kind == KeyKind::kBoolean ? "true"
                                  : key.key == "classes"          ? "a, b"
                                  : key.key == "gamma" || key.key == "fraction_train" ||
                                          key.key == "dropout" || key.key == "target_accuracy"
                                      ? "0.25"
                                      : "77";
    ASSERT_TRUE(key.set(other, text)) << key.table << '.' << key.key;
    ASSERT_NE(other, base) << key.table << '.' << key.key;
    EXPECT_EQ(config_digest(other) != digest, key.digested != Digested::kNever)
        << key.table << '.' << key.key;
  }
  Config explicit_lambda = base;
  explicit_lambda.model.lambda = 0.3;
  explicit_lambda.data.task = Task::kEvenOdd;
  EXPECT_EQ(config_digest(explicit_lambda), digest);
}

TEST(Config, KeysAndFlagsAreUniqueAndDefaultsAreShown) {
  std::set<std::string_view> flags;
  std::set<std::string> names;
  for (const Key& key : config_keys()) {
    EXPECT_TRUE(flags.insert(key.flag).second) << key.flag;
    EXPECT_TRUE(names.insert(std::string(key.table) + '.' + std::string(key.key)).second);
    EXPECT_THAT(std::string(key.flag), StartsWith("--"));
    EXPECT_FALSE(key.help.empty());
    if (default_text(key).empty()) continue;
    Config config;
    ASSERT_TRUE(key.set(config, default_text(key))) << key.flag;
    EXPECT_EQ(config, Config{}) << key.flag;
  }
}

}  // namespace
}  // namespace mfl
