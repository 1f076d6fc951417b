// Draws a permutation, writes and reads it back, and checks digests; then trains, reads the weights and predicts: mfl as a user's
// program sees it.
#include <cstdio>
#include <string>
#include <vector>

#include "mfl/base/digest.h"
#include "mfl/base/files.h"
#include "mfl/base/result.h"
#include "mfl/base/rng.h"
#include "mfl/data/source.h"
#include "mfl/run/runner.h"
#include "mfl/trained/model_file.h"
#include "mfl/trained/predictor.h"

namespace {

mfl::Result<std::string> digest_through_a_file() {
  MFL_TRY(const mfl::TempFolder folder, mfl::TempFolder::make());
  std::string text;
  for (const auto i : mfl::permutation(100, mfl::Stream(1, mfl::Purpose::kPartition)))
    text += std::to_string(i) + "\n";
  MFL_CHECK(mfl::write_file(folder.path() / "order", text));
  MFL_TRY(const std::string again, mfl::read_file(folder.path() / "order"));
  return again == text ? mfl::sha256_hex(again) : "the file differs from what was written";
}

// Whether a model that went through a file gives loss and accuracy of its run.
mfl::Result<bool> predicts_what_it_learnt() {
  MFL_TRY(const mfl::TempFolder folder, mfl::TempFolder::make());
  mfl::Config config;
  config.data.source = "synthetic:600x20";
  config.data.train = 400;
  config.data.test = 200;
  config.model.name = "logistic";
  config.run.steps = 100;
  const auto store = folder.path() / "runs.db", file = folder.path() / "model.npz";
  MFL_TRY(const mfl::RunOutcome run, mfl::run_experiment(config, {.store = store}, {}));
  MFL_TRY(const mfl::TrainedModel trained, mfl::find_model(run.run_id, store));
  MFL_CHECK(mfl::write_model_file(file, trained));
  MFL_TRY(const mfl::TrainedModel model, mfl::read_model_file(file));
  MFL_TRY(const mfl::Predictor predictor, mfl::Predictor::make(model));
  MFL_TRY(const mfl::TrainTest data, mfl::load(mfl::data_options(config)));
  MFL_TRY(const mfl::ScoredRows scored, predictor.score(*data.test));
  MFL_TRY(const mfl::Predictions said, predictor.predict(*data.test));
  return model.weights.size() == 20 && model.digest == run.digest && said.labels.size() == 200 &&
         scored.loss == run.final.test_loss &&
         static_cast<double>(scored.correct) / 200 == run.final.test_accuracy;
}

}  // namespace

int main() {
  if (mfl::sha256_hex("abc") != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") return 1;
  const auto digest = digest_through_a_file();
  if (!digest) {
    std::fprintf(stderr, "%s\n", digest.error().text().c_str());
    return static_cast<int>(digest.error().code);
  }
  std::printf("%s\n", digest->c_str());
  const auto learnt = predicts_what_it_learnt();
  if (!learnt) std::fprintf(stderr, "%s\n", learnt.error().text().c_str());
  return digest->size() == 64 && learnt && *learnt ? 0 : 1;
}
