// Handles: several at a time, stopping from another thread, sparse arrays, predictions in blocks.
#include "handles.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "mfl/base/files.h"

namespace mfl::test {
namespace {

constexpr std::size_t kSampleRows = 2000, kSampleColumns = 30;

struct Sample {
  std::vector<float> x;
  std::vector<std::int64_t> y;
};

Sample sample(unsigned seed, std::size_t rows = kSampleRows) {
  Sample out;
  for (std::size_t i = 0; i < rows; ++i) {
    out.y.push_back(static_cast<std::int64_t>(i % 2));
    for (std::size_t j = 0; j < kSampleColumns; ++j)
      out.x.push_back(static_cast<float>((i * 31 + j * 17 + seed) % 23) / 23 +
                      static_cast<float>(j == 4 && i % 2 == 1));
  }
  return out;
}

class Handles : public ::testing::Test {
 protected:
  std::string options(const std::string& name, const std::string& more = "") const {
    return fmt::format(R"({{"store": "{}", "copy_limit": 0{}}})", store(name), more);
  }
  std::string store(const std::string& name) const { return (folder() / (name + ".db")).string(); }
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  TempFolder folder_ = *TempFolder::make();
};

std::string digest(const Sample& data, const std::string& options) {
  Experiment experiment;
  experiment.data(MFL_TRAIN, matrix(data.x, data.y.size(), kSampleColumns), vector(data.y));
  experiment.set("run.steps", "60").set("model.name", "logistic").set("model.standardise", "full");
  return text_of(experiment.run(options), "digest");
}

TEST_F(Handles, TwoAtATimeRunAsTheyDoAlone) {
  const Sample first = sample(1), second = sample(2);
  const std::string expected_first = digest(first, options("alone")),
                    expected_second = digest(second, options("alone"));
  EXPECT_NE(expected_first, expected_second);
  std::string got_first, got_second;
  std::thread other([&] { got_first = digest(first, options("together")); });
  got_second = digest(second, options("together"));
  other.join();
  EXPECT_EQ(got_first, expected_first);
  EXPECT_EQ(got_second, expected_second);
}

TEST_F(Handles, StopFromAnotherThreadAndContinue) {
  const Sample data = sample(3);
  Experiment experiment;
  experiment.data(MFL_TRAIN, matrix(data.x, kSampleRows, kSampleColumns), vector(data.y));
  experiment.set("run.steps", "100000000").set("model.name", "logistic").set("algorithm.eta", "0.01");
  std::atomic<bool> started = false;
  char* error = nullptr;
  ASSERT_EQ(mfl_experiment_hooks(
                experiment.get(),
                [](const mfl_progress*, void* user) {
                  *static_cast<std::atomic<bool>*>(user) = true;
                  return 0;
                },
                nullptr, &started, &error),
            MFL_OK);
  std::thread stopper([&] {
    while (!started) std::this_thread::yield();
    mfl_experiment_stop(experiment.get());
  });
  const Json out = experiment.run(options("stopped"));
  stopper.join();
  EXPECT_EQ(text_of(out, "status"), "interrupted");
}

TEST_F(Handles, SparseArraysGiveTheBitsOfLibsvm) {
  const Sample data = sample(5, 400);
  std::vector<double> values;
  std::vector<std::int64_t> columns, starts = {0};
  std::ofstream file(folder() / "rows.svm");
  for (std::size_t i = 0; i < data.y.size(); ++i, file << '\n') {
    file << data.y[i];
    for (std::size_t j = 0; j < kSampleColumns; ++j) {
      const auto x = static_cast<double>(data.x[i * kSampleColumns + j]);
      if (j % 3 == i % 3 && j + 1 < kSampleColumns && x != 0) continue;
      values.push_back(x == 0 ? 0.5 : x);
      columns.push_back(static_cast<std::int64_t>(j));
      file << fmt::format(" {}:{}", j + 1, values.back());
    }
    starts.push_back(static_cast<std::int64_t>(values.size()));
  }
  file.close();
  const mfl_array x{.type = MFL_F64,
                    .index_type = MFL_I64,
                    .data = values.data(),
                    .rows = data.y.size(),
                    .columns = kSampleColumns,
                    .row_stride = 0,
                    .column_stride = 0,
                    .column_indices = columns.data(),
                    .row_starts = starts.data()};
  const auto run = [&](const char* standardise, bool memory) {
    Experiment experiment;
    if (memory)
      experiment.data(MFL_TRAIN, x, vector(data.y));
    else
      experiment.set("data.source", "libsvm:" + (folder() / "rows.svm").string());
    experiment.set("run.steps", "30").set("model.name", "logistic").set("model.standardise", standardise);
    return text_of(experiment.run(options("sparse")), "digest");
  };
  for (const char* standardise : {"none", "scale"})
    EXPECT_EQ(run(standardise, true), run(standardise, false));
}

// A CSV file of the same numbers, whose labels are texts.
TEST_F(Handles, NamesGiveTheBitsOfCsv) {
  const Sample data = sample(6, 300);
  std::ofstream file(folder() / "rows.csv");
  for (std::size_t j = 0; j < kSampleColumns; ++j) file << "f" << j << ',';
  file << "kind\n";
  std::vector<double> x;
  for (std::size_t i = 0; i < data.y.size(); ++i) {
    for (std::size_t j = 0; j < kSampleColumns; ++j) {
      x.push_back(static_cast<double>(data.x[i * kSampleColumns + j]));
      file << fmt::format("{},", x.back());
    }
    file << (data.y[i] == 0 ? "zebra" : "ant") << '\n';
  }
  file.close();
  std::string names = R"({"label": "kind", "classes": ["zebra", "ant"], "features": [)";
  for (std::size_t j = 0; j < kSampleColumns; ++j) names += fmt::format(R"({}"f{}")", j == 0 ? "" : ", ", j);
  names += "]}";
  const auto run = [&](bool memory) {
    Experiment experiment;
    if (memory)
      experiment.data(MFL_TRAIN, matrix(x, data.y.size(), kSampleColumns), vector(data.y));
    else
      experiment.set("data.source", "csv:" + (folder() / "rows.csv").string());
    EXPECT_EQ(mfl_experiment_names(experiment.get(), memory ? names.c_str() : "{}", nullptr), MFL_OK);
    experiment.set("run.steps", "30").set("model.name", "logistic");
    const Json out = experiment.run(options("named"));
    const Json* schema = out.find("schema");
    return text_of(out, "digest") + (schema == nullptr ? "" : schema->dump());
  };
  EXPECT_EQ(run(true), run(false));
}

TEST_F(Handles, OtherElementTypesGiveTheBitsOfF64) {
  const Sample data = sample(7, 300);
  std::vector<std::int16_t> whole;
  std::vector<double> same;
  for (const float x : data.x) {
    whole.push_back(static_cast<std::int16_t>(x * 23));
    same.push_back(whole.back());
  }
  const auto run = [&](const mfl_array& x) {
    Experiment experiment;
    experiment.data(MFL_TRAIN, x, vector(data.y)).set("run.steps", "30").set("model.name", "logistic");
    return text_of(experiment.run(options("types")), "digest");
  };
  EXPECT_EQ(run(matrix(whole, data.y.size(), kSampleColumns)),
            run(matrix(same, data.y.size(), kSampleColumns)));
}

TEST_F(Handles, PredictTheSameInAnyLayoutAndNumberOfRows) {
  constexpr std::size_t kMany = 20000;  // several blocks
  const Sample data = sample(8, kMany);
  Experiment experiment;
  experiment.data(MFL_TRAIN, matrix(data.x, kMany, kSampleColumns), vector(data.y));
  experiment.set("run.steps", "40").set("model.name", "logistic").set("model.standardise", "full");
  const std::string id = text_of(experiment.run(options("model")), "run_id");
  mfl_model* model = nullptr;
  ASSERT_EQ(mfl_model_open(id.c_str(), store("model").c_str(), &model, nullptr), MFL_OK);
  std::vector<float> turned(data.x.size());
  for (std::size_t i = 0; i < kMany; ++i)
    for (std::size_t j = 0; j < kSampleColumns; ++j) turned[j * kMany + i] = data.x[i * kSampleColumns + j];
  mfl_array fortran = matrix(turned, kMany, kSampleColumns);
  fortran.row_stride = sizeof(float);
  fortran.column_stride = kMany * sizeof(float);
  std::vector<double> all(kMany * 2), of_fortran(kMany * 2), one(2);
  const mfl_array x = matrix(data.x, kMany, kSampleColumns);
  ASSERT_EQ(mfl_model_predict(model, &x, nullptr, 0, all.data(), all.size(), nullptr), MFL_OK);
  ASSERT_EQ(mfl_model_predict(model, &fortran, nullptr, 0, of_fortran.data(), of_fortran.size(), nullptr),
            MFL_OK);
  EXPECT_EQ(all, of_fortran);
  mfl_array last = x;
  last.data = data.x.data() + (kMany - 1) * kSampleColumns;
  last.rows = 1;
  ASSERT_EQ(mfl_model_predict(model, &last, nullptr, 0, one.data(), one.size(), nullptr), MFL_OK);
  EXPECT_EQ(one[0], all[2 * (kMany - 1)]);
  mfl_model_free(model);
}

}  // namespace
}  // namespace mfl::test
