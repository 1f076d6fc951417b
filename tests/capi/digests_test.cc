// Data in memory gives the bits of the same data in files, whatever its type, layout, model, algorithm and preprocessing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "handles.h"
#include "mfl/algorithm/algorithms.h"
#include "mfl/base/digest.h"
#include "mfl/base/files.h"
#include "mfl/data/npy.h"
#include "mfl/model/models.h"
#include "tests/base/sample_spec.h"

namespace mfl::test {
namespace {

constexpr std::size_t kRows = 700, kTest = 100, kColumns = 37;  // more than two row blocks

using Adjust = std::function<void(Experiment&)>;

// Numbers with zeros among them, so that chunks are skipped.
template <class X>
std::vector<X> numbers(std::size_t rows, unsigned seed) {
  std::vector<X> out;
  for (std::size_t i = 0; i < rows * kColumns; ++i) {
    const std::size_t mixed = (i * 2654435761U + seed * 97U) % 1009;
    const bool zero = (i / 16) % 3 == 1 || mixed % 4 == 0;
    out.push_back(zero ? X{0} : static_cast<X>(static_cast<double>(mixed % 251) / (sizeof(X) == 1 ? 1 : 32)));
  }
  return out;
}

std::vector<std::int32_t> labels(std::size_t rows, unsigned classes) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < rows; ++i) out.push_back(static_cast<std::int32_t>(i * i * 7 % 11 % classes));
  return out;
}

template <class X>
std::vector<X> transposed(const std::vector<X>& values, std::size_t rows) {
  std::vector<X> out(values.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < kColumns; ++c) out[c * rows + r] = values[r * kColumns + c];
  return out;
}

class Digests : public ::testing::Test {
 protected:
  std::string store() const { return (folder_.path() / "runs.db").string(); }

  // The digests of weights, data and problem.
  std::string digests(Experiment& experiment, std::size_t copy_limit) const {
    const Json out =
        experiment.run(fmt::format(R"({{"store": "{}", "copy_limit": {}}})", store(), copy_limit));
    const Json shown =
        query(store(), fmt::format(R"({{"what": "run", "run": "{}"}})", text_of(out, "run_id")));
    const Json* run = shown.find("run");
    if (run == nullptr) return "no run";
    EXPECT_EQ(text_of(*run, "digest"), text_of(out, "digest"));
    return fmt::format("{} {} {}", text_of(out, "digest"), text_of(*run, "data_digest"),
                       text_of(*run, "problem"));
  }

  static void small(Experiment& experiment, const Adjust& adjust) {
    experiment.set("run.steps", "12").set("federation.nodes", "3");
    experiment.set("federation.partition", "iid").set("run.threads", "2").set("algorithm.eta", "0.01");
    adjust(experiment);
  }

  template <class X>
  std::string in_files(unsigned classes, const Adjust& adjust) const {
    const auto folder = folder_.path() / fmt::format("{}-{}", kType<X>, classes);
    const auto write = [&](const std::string& name, std::size_t rows, unsigned seed) {
      const auto y = labels(rows, classes);
      const Dataset data{.rows = rows,
                         .columns = kColumns,
                         .scale = 1,
                         .features = DenseRows<X>{numbers<X>(rows, seed)},
                         .labels = {y.begin(), y.end()}};
      EXPECT_TRUE(write_npy_folder(folder / name, data));
    };
    write("", kRows, 1);
    write("test", kTest, 2);
    std::filesystem::copy_file(folder / "test" / "x.npy", folder / "x_test.npy",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::copy_file(folder / "test" / "y.npy", folder / "y_test.npy",
                               std::filesystem::copy_options::overwrite_existing);
    Experiment experiment;
    experiment.set("data.source", "npy:" + folder.string());
    small(experiment, adjust);
    return digests(experiment, 0);
  }

  template <class X>
  std::string in_memory(unsigned classes, const Adjust& adjust, bool fortran = false,
                        std::size_t copy_limit = 0) const {
    auto x = numbers<X>(kRows, 1), x_test = numbers<X>(kTest, 2);
    const auto y = labels(kRows, classes), y_test = labels(kTest, classes);
    if (fortran) {
      x = transposed(x, kRows);
      x_test = transposed(x_test, kTest);
    }
    const auto array = [&](const std::vector<X>& values, std::size_t rows) {
      mfl_array out = matrix(values, rows, kColumns);
      if (!fortran) return out;
      out.row_stride = sizeof(X);
      out.column_stride = static_cast<std::int64_t>(rows * sizeof(X));
      return out;
    };
    const std::string before =
        sha256_hex(std::string(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(X)));
    Experiment experiment;
    experiment.data(MFL_TRAIN, array(x, kRows), vector(y))
        .data(MFL_TEST, array(x_test, kTest), vector(y_test));
    small(experiment, adjust);
    const std::string out = digests(experiment, copy_limit);
    EXPECT_EQ(before, sha256_hex(std::string(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(X))));
    return out;
  }

  template <class X>
  void expect_same(unsigned classes, const Adjust& adjust) const {
    const std::string expected = in_files<X>(classes, adjust);
    EXPECT_EQ(in_memory<X>(classes, adjust), expected);
  }

 private:
  TempFolder folder_ = *TempFolder::make();
};

unsigned classes_of(const ModelEntry& model) { return model.targets == TargetKind::kIndex ? 4 : 2; }

TEST_F(Digests, MatchThoseOfFilesForEveryModelAndPreprocessing) {
  for (const CatalogEntry* entry : models().index().entries())
    for (const char* standardise : {"none", "scale", "full"})
      for (const char* precision : {"f32", "f64"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", entry->name, standardise, precision));
        const ModelEntry& model = *models().find(entry->name);
        if (model.external) continue;
        const Adjust adjust = [&](Experiment& experiment) {
          experiment.set("model.name", sample_spec(*entry)).set("model.standardise", standardise);
          experiment.set("run.precision", precision);
        };
        expect_same<float>(classes_of(model), adjust);
        if (std::string(standardise) != "scale") expect_same<std::uint8_t>(classes_of(model), adjust);
        if (std::string(standardise) == "full") expect_same<double>(classes_of(model), adjust);
      }
}

TEST_F(Digests, MatchThoseOfFilesForEveryAlgorithm) {
  for (const CatalogEntry* entry : algorithms().index().entries()) {
    SCOPED_TRACE(entry->name);
    expect_same<float>(2, [&](Experiment& experiment) {
      experiment.set("algorithm.name", sample_spec(*entry))
          .set("model.name", "logistic")
          .set("model.standardise", "full");
    });
  }
}

TEST_F(Digests, MatchThoseOfFilesWithoutAnInterceptInEveryLayout) {
  for (const char* model : {"svm", "logistic", "softmax"})
    for (const char* standardise : {"none", "full"}) {
      SCOPED_TRACE(fmt::format("{} {}", model, standardise));
      const Adjust adjust = [&](Experiment& experiment) {
        experiment.set("model.name", model)
            .set("model.standardise", standardise)
            .set("model.intercept", "false");
      };
      constexpr std::size_t kAlways = 1U << 30U;
      const auto expect_all = [&]<class X>(X) {
        const std::string expected = in_files<X>(2, adjust);
        EXPECT_EQ(in_memory<X>(2, adjust), expected);
        EXPECT_EQ(in_memory<X>(2, adjust, true), expected);
        EXPECT_EQ(in_memory<X>(2, adjust, false, kAlways), expected);
      };
      expect_all(float{});
      expect_all(double{});
      expect_all(std::uint8_t{});
    }
}

TEST_F(Digests, MatchThoseOfFilesForBatchesWeightsAndMeasuredSteps) {
  const std::vector<std::vector<std::pair<std::string, std::string>>> settings = {
      {{"algorithm.batch_size", "64"}, {"model.standardise", "full"}},
      {{"algorithm.batch_size", "300"}},
      {{"algorithm.local_epochs", "1"},
       {"algorithm.batch_size", "50"},
       {"run.steps", "auto"},
       {"run.rounds", "3"}},
      {{"model.class_weight", "balanced"}, {"model.standardise", "scale"}},
      {{"algorithm.eta", "auto"}, {"model.standardise", "full"}},
      {{"algorithm.eta", "auto"}},
      {{"algorithm.eta", "auto"}, {"algorithm.name", "gd"}, {"model.intercept", "false"}},
      {{"algorithm.name", "gd"}, {"model.intercept", "false"}},
      {{"run.engine", "serial"}},
      {{"run.threads", "5"}, {"federation.nodes", "1"}},
      {{"data.train", "500"}, {"data.take", "random"}},
      {{"data.scale", "0.125"}, {"model.standardise", "none"}},
      {{"federation.feature_skew", "noise(0.5)"}},
      {{"federation.partition", "contiguous"}},
      {{"federation.fraction_train", "0.5"}}};
  for (const auto& setting : settings) {
    std::string name;
    for (const auto& [key, text] : setting) name += key + "=" + text + " ";
    SCOPED_TRACE(name);
    const Adjust adjust = [&](Experiment& experiment) {
      experiment.set("model.name", "logistic");
      for (const auto& [key, text] : setting) experiment.set(key, text);
    };
    expect_same<float>(2, adjust);
    expect_same<double>(2, adjust);
    expect_same<std::uint8_t>(2, adjust);
  }
}

}  // namespace
}  // namespace mfl::test
