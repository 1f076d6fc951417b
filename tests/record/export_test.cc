#include "mfl/record/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/base/json_value.h"
#include "tests/record/support.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

JsonValue parsed_json(const Json& value) { return JsonValue::parse(value.dump()); }

RunExport example() {
  RunExport run;
  static_cast<RunSpec&>(run.run) = spec();
  run.run.id = "0123abcd";
  run.records = {{0, 0, 1.0, {}, {}, 0, 0, 0.0, digest(0)},
                 {4, 1, 0.1, 0.2, 0.75, 100, 200, 0.5, digest(1), 12.5}};
  run.rounds = {{0, 0, 1.0, 0, 0, digest(0)},
                {1, 4, std::nan(""), 100, 200, "", RoundTime{12.5, 7.5, 2.5, 0.25, 10, 3, 1}, {}, 0.5}};
  run.records[1].start_loss = 0.625;
  return run;
}

TEST(Export, RecordsAsCsv) {
  EXPECT_EQ(records_csv(std::vector{example()}),
            "run,step,round,train_loss,batch_loss,start_loss,test_loss,test_accuracy,bytes_up,bytes_down,"
            "wall_seconds,digest,"
            "virtual_seconds\n"
            "0123abcd,0,0,1,,,,,0,0,0," +
                digest(0) +
                ",\n"
                "0123abcd,4,1,0.10000000000000001,,0.625,0.20000000000000001,0.75,100,200,0.5," +
                digest(1) + ",12.5\n");
}

TEST(Export, RoundsAsCsvOnlyWhereLoaded) {
  RunExport without = example();
  without.rounds.reset();
  EXPECT_EQ(rounds_csv(std::vector{without, example()}),
            "run,round,step,train_loss,batch_loss,start_loss,bytes_up,bytes_down,digest,virtual_seconds,"
            "round_seconds,slowest_seconds,idle_share,chosen,missed,abandoned\n"
            "0123abcd,0,0,1,,,0,0," +
                digest(0) +
                ",,,,,,,\n"
                "0123abcd,1,4,nan,0.5,,100,200,,12.5,7.5,2.5,0.25,10,3,1\n");
}

TEST(Export, NoRunsGiveAHeader) {
  EXPECT_EQ(rounds_csv({}),
            "run,round,step,train_loss,batch_loss,start_loss,bytes_up,bytes_down,digest,virtual_seconds,"
            "round_seconds,slowest_seconds,idle_share,chosen,missed,abandoned\n");
  EXPECT_EQ(JsonValue::parse(export_json_text({})), (Json{{"schema_version", 1}, {"runs", Json::array()}}));
}

TEST(Export, NodesAsCsvAndJson) {
  RunExport run = example();
  EXPECT_FALSE(parsed_json(export_json(run)).contains("nodes")) << "only if loaded";
  EXPECT_EQ(nodes_csv(std::vector{run}),
            "run,round,node,weight,train_loss,batch_loss,start_loss,seconds,digest,metrics,committed\n");
  run.nodes = {{1, "a", 3, 0.5, 0.25}, {1, "b, \"c\"", 5, 0.125, std::nullopt, "ab", R"({"f1":0.5})"}};
  run.nodes->front().start_loss = 0.75;
  run.nodes->front().committed = 2'000'000'000;
  EXPECT_EQ(nodes_csv(std::vector{run}),
            "run,round,node,weight,train_loss,batch_loss,start_loss,seconds,digest,metrics,committed\n"
            "0123abcd,1,a,3,0.5,,0.75,0.25,,,2033-05-18T03:33:20Z\n"
            "0123abcd,1,\"b, \"\"c\"\"\",5,0.125,,,,ab,\"{\"\"f1\"\":0.5}\",\n");
  EXPECT_EQ(parsed_json(export_json(run))["nodes"][1], (Json{{"round", 1},
                                                             {"node", "b, \"c\""},
                                                             {"weight", 5},
                                                             {"train_loss", 0.125},
                                                             {"batch_loss", nullptr},
                                                             {"start_loss", nullptr},
                                                             {"seconds", nullptr},
                                                             {"digest", "ab"},
                                                             {"metrics", {{"f1", 0.5}}},
                                                             {"committed", nullptr}}));
  EXPECT_EQ(parsed_json(export_json(run))["nodes"][0]["committed"], "2033-05-18T03:33:20Z");
}

TEST(Export, JsonHasNoBareNanOrInfinity) {
  RunExport run = example();
  run.run.summary = summary(std::numeric_limits<double>::infinity());
  run.records[1].test_loss = -std::numeric_limits<double>::infinity();
  const std::string text = export_json_text(std::vector{run});
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("inf")));
  const JsonValue parsed = JsonValue::parse(text)["runs"][0];
  EXPECT_TRUE(parsed["rounds"][1]["train_loss"].is_null());
  EXPECT_TRUE(parsed["run"]["final"]["train_loss"].is_null());
  EXPECT_TRUE(parsed["records"][1]["test_loss"].is_null());
  EXPECT_TRUE(parsed["records"][0]["test_accuracy"].is_null());
  EXPECT_EQ(parsed["records"][1]["test_accuracy"], 0.75);
  EXPECT_TRUE(parsed_json(export_json(run))["run"]["best"]["train_loss"].is_null());
}

TEST(Export, JsonBringsBackTheSameDoubles) {
  RunExport run = example();
  for (const double value : {0.1, 1.0 / 3.0, 5e-324, 1.7976931348623157e308, 0.30000000000000004, -0.0}) {
    run.records[0].train_loss = value;
    const JsonValue parsed = JsonValue::parse(export_json_text(std::vector{run}));
    EXPECT_TRUE(same_bits(parsed["runs"][0]["records"][0]["train_loss"].number(), value)) << value;
  }
}

TEST(Export, RunAsJson) {
  RunRow run = example().run;
  const JsonValue going = parsed_json(run_json(run));
  EXPECT_EQ(going["run_id"], "0123abcd");
  EXPECT_EQ(going["status"], "running");
  EXPECT_EQ(going["gamma"], 0.5);
  EXPECT_EQ(going["tau"], 4);
  EXPECT_TRUE(going["final"].is_null());
  EXPECT_TRUE(going["digest"].is_null());
  EXPECT_TRUE(going["test_metrics"].is_null());
  run.summary = summary();
  run.summary->test_metrics = R"({"samples":3,"confusion":[[1,1],[0,1]]})";
  run.gamma.reset();
  const JsonValue done = parsed_json(run_json(run));
  EXPECT_TRUE(done["gamma"].is_null());
  EXPECT_EQ(done["final"],
            (Json{{"step", 1000}, {"train_loss", 0.25}, {"test_loss", 0.3}, {"test_accuracy", 0.875}}));
  EXPECT_EQ(done["best"], (Json{{"step", 992}, {"train_loss", 0.125}}));
  EXPECT_EQ(done["rounds"], 250);
  EXPECT_EQ(done["test_metrics"], JsonValue::parse(run.summary->test_metrics));
  EXPECT_EQ(done["bytes_up"], 25000);
  EXPECT_EQ(done["digest"], digest(250));
}

TEST(Export, TextThatIsNotUtf8IsReplacedNotThrown) {
  RunExport run = example();
  run.run.name = "bad \xff name";
  EXPECT_THAT(export_json_text(std::vector{run}), HasSubstr("bad \xef\xbf\xbd name"));
}

TEST(Export, LoadsFromAStore) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string id = store.create_run(spec()).value();
  ASSERT_TRUE(store.append(id, rounds(0, 6), records(0, 3)));
  const RunExport with = load_run(store, "latest", true).value();
  EXPECT_EQ(with.run.id, id);
  EXPECT_EQ(with.records.size(), 4U);
  EXPECT_EQ(with.rounds.value().size(), 7U);
  EXPECT_FALSE(load_run(store, id, false).value().rounds);
  EXPECT_FALSE(export_json(load_run(store, id, false).value()).find("rounds") != nullptr);
  EXPECT_EQ(load_run(store, "zzz", false).error().code, ErrorCode::kBadConfig);
}

}  // namespace
}  // namespace mfl::test
