// Trains with a model, algorithms, a partition, an aggregator and a codec that mfl does not have, on every engine of this process: the
// digests must be equal.
#include <mfl/run/runner.h>

#include <cstdio>
#include <string>

#include "extensions.h"

namespace {

std::string digest_with(const std::string& algorithm, const std::string& engine, std::uint64_t threads,
                        bool batches) {
  mfl::Config config;
  config.data.source = "synthetic:600x40";
  config.data.test = 0;
  config.data.task = mfl::Task::kEvenOdd;
  config.federation.nodes = 6;
  config.federation.partition = "home-class(share=0.7)";
  config.federation.aggregator = "first-half";
  config.federation.codecs = "threshold(0.01), bf16";
  config.model.name = "huber";
  config.algorithm = {.name = algorithm, .eta = 0.05, .gamma = 0.5, .tau = 4};
  if (batches) config.algorithm.batch_size = 16;
  config.run.steps = 80;
  config.run.engine = engine;
  config.run.threads = threads;
  const auto outcome = mfl::run_experiment(config, {.store = "extensions.db"}, {});
  if (!outcome) {
    std::fprintf(stderr, "%s\n", outcome.error().text().c_str());
    return {};
  }
  std::printf("%s, %s, %llu threads, %s: loss %.9f, digest %.16s\n", algorithm.c_str(), engine.c_str(),
              static_cast<unsigned long long>(threads), batches ? "batches of 16" : "all samples",
              outcome->final.train_loss, outcome->digest.c_str());
  return outcome->digest;
}

}  // namespace

int main() {
  add_huber();
  add_scaffold();
  add_home_class();
  add_first_half();
  add_threshold();
  for (const char* algorithm : {"mfl", "my-scaffold"})
    for (const bool batches : {false, true}) {
      const std::string expected = digest_with(algorithm, "serial", 1, batches);
      if (expected.empty()) return 1;
      for (const std::uint64_t threads : {1, 2, 3, 8})
        if (digest_with(algorithm, "threads", threads, batches) != expected) return 1;
    }
}
