// Model files: what is written is read, and nothing else is.
#include "mfl/trained/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mfl/base/files.h"
#include "mfl/run/runner.h"
#include "mfl/trained/onnx.h"
#include "mfl/trained/zip.h"
#include "tests/trained/small_models.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

TEST(ModelFile, KeepsEveryPartOfAModel) {
  for (const TrainedModel& model : {two_classes(), standardised()}) {
    const std::string bytes = model_file_bytes(model).value();
    const auto read = parse_model_file(bytes, "m.npz");
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, model);
    EXPECT_EQ(model_file_bytes(*read).value(), bytes);
  }
}

TEST(ModelFile, NoAlteredByteIsRead) {
  const std::string bytes = model_file_bytes(standardised()).value();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const char change : {'\1', '\x80'}) {
      std::string altered = bytes;
      altered[i] = static_cast<char>(altered[i] ^ change);
      const auto read = parse_model_file(altered, "m.npz");
      ASSERT_FALSE(read) << "byte " << i;
      ASSERT_EQ(read.error().code, ErrorCode::kBadData);
      ASSERT_THAT(read.error().message, HasSubstr("m.npz is not a model file"));
    }
}

TEST(ModelFile, NoBeginningIsRead) {
  const std::string bytes = model_file_bytes(standardised()).value();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(parse_model_file(std::string_view(bytes).substr(0, size), "m.npz")) << size;
  EXPECT_FALSE(parse_model_file(bytes + '\0', "m.npz"));
}

// As somebody would who knows the format but not the digest.
TEST(ModelFile, ChangedContentsInAGoodArchiveAreRefused) {
  for (const std::string_view member : {"weights.npy", "means.npy", "mfl.json"}) {
    auto members = read_zip(model_file_bytes(standardised()).value()).value();
    for (ZipMember& one : members)
      if (one.name == member) {
        const std::size_t at = one.name == "mfl.json" ? one.bytes.find("0.3") : one.bytes.size() - 1;
        one.bytes[at] = static_cast<char>(one.bytes[at] ^ 1);
      }
    const auto read = parse_model_file(make_zip(members).value(), "m.npz");
    ASSERT_FALSE(read) << member;
    EXPECT_THAT(read.error().message, HasSubstr("do not match their SHA-256"));
  }
}

TEST(ModelFile, AnOnnxFileIsNamed) {
  const auto read = parse_model_file("\x08\x08onnx", "net.onnx");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kBadConfig);
  EXPECT_THAT(read.error().message, HasSubstr("net.onnx is an ONNX file"));
}

TEST(Model, AModelThatDoesNotFitItsSchemaIsRefused) {
  const auto refusal = [](auto change) {
    TrainedModel model = two_classes();
    change(model);
    const auto checked = check_model(model);
    EXPECT_FALSE(checked);
    return checked ? "" : checked.error().message;
  };
  EXPECT_THAT(refusal([](TrainedModel& m) { m.model = "oracle"; }), HasSubstr("no model 'oracle'"));
  EXPECT_THAT(refusal([](TrainedModel& m) { m.schema.columns = 3; }), HasSubstr("weights"));
  EXPECT_THAT(refusal([](TrainedModel& m) { m.schema.classes.clear(); }), HasSubstr("not complete"));
  EXPECT_THAT(refusal([](TrainedModel& m) { m.tensors[0].name = "bias"; }), HasSubstr("bias [2]"));
  EXPECT_THAT(refusal([](TrainedModel& m) { m.weights.pop_back(); }), HasSubstr("1 weights"));
  EXPECT_THAT(refusal([](TrainedModel& m) { m.weights[0] = 3; }), HasSubstr("digest"));
  EXPECT_THAT(refusal([](TrainedModel& m) { m.schema.preprocessing.standardise = Standardise::kFull; }),
              HasSubstr("not complete"));
}

class StoredModel : public ::testing::Test {
 protected:
  Config small() const {
    Config config;
    config.data.source = "synthetic:200x12";
    config.data.test = 50;
    config.run.steps = 12;
    config.run.name = "small";
    return config;
  }
  RunOutcome run(const Config& config) const { return run_experiment(config, {.store = store_}, {}).value(); }

  TempFolder folder_ = *TempFolder::make();
  std::filesystem::path store_ = folder_.path() / "runs.db";
};

TEST_F(StoredModel, IsFoundByRunAndByFile) {
  const RunOutcome outcome = run(small());
  const Store store = Store::open(store_, {.read_only = true}).value();
  const TrainedModel model = model_of_run(store, "latest").value();
  EXPECT_EQ(model.digest, outcome.digest);
  EXPECT_EQ(model.run, outcome.run_id);
  EXPECT_EQ(model.scale, 1.0 / 255);
  EXPECT_EQ(model.lambda, 0.3);
  EXPECT_EQ(find_model("small", store_).value(), model);
  EXPECT_EQ(find_model(outcome.run_id.substr(0, 5), store_).value(), model);
  const auto file = folder_.path() / "m.npz";
  ASSERT_TRUE(write_model_file(file, model));
  EXPECT_EQ(find_model(file.string(), store_).value(), model);
  EXPECT_EQ(find_model("nosuch", store_).error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(find_model("nosuch.npz", store_).error().code, ErrorCode::kBadData);
}

TEST_F(StoredModel, ARunWithoutOneSaysWhy) {
  Config diverging = small();
  diverging.model.name = "linear";
  diverging.algorithm.eta = 1e30;
  const RunOutcome diverged = run(diverging);
  ASSERT_EQ(diverged.status, "diverged");
  EXPECT_THAT(find_model(diverged.run_id, store_).error().message, HasSubstr("has no model: it is diverged"));
  RunSpec spec;
  {
    Store store = Store::open(store_).value();
    spec = store.get(diverged.run_id).value();
    const std::string old = store.create_run(spec).value();
    ASSERT_TRUE(store.finish(old, RunStatus::kDone, "", RunSummary{}, 1));
  }
  const auto old = find_model("latest", store_);
  EXPECT_EQ(old.error().code, ErrorCode::kBadConfig);
  EXPECT_THAT(old.error().message, HasSubstr("was made before models were kept"));
  EXPECT_EQ(old.error().hint, "run it again");
}

TEST(Onnx, ABuildWithoutItSaysSo) {
  const auto bytes = onnx_bytes(two_classes());
  EXPECT_EQ(bytes.has_value(), has_onnx());
  if (!bytes) {
    EXPECT_THAT(bytes.error().message, HasSubstr("no ONNX support"));
  }
}

}  // namespace
}  // namespace mfl::test
