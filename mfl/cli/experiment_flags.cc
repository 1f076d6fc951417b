#include "mfl/cli/experiment_flags.h"

#include <fmt/core.h>

#include "mfl/config/entries.h"

namespace mfl::cli {

void ExperimentFlags::add(Command& command, bool (*wanted)(const Key&)) {
  command.add_option("FILE", file_,
                     "Experiment file (TOML); paths in it are relative to the working directory");
  flags_.add(command, wanted);
  flags_.add_set(command);
}

Result<Config> ExperimentFlags::assemble(const std::function<Result<void>(Config&)>& last) const {
  Config config;
  if (!file_.empty()) {
    MFL_TRY(config, read_config(file_));
  }
  MFL_CHECK(flags_.apply(config));
  if (last) MFL_CHECK(last(config));
  MFL_CHECK(validate(config));
  return config;
}

std::vector<std::string> ExperimentFlags::given() const {
  std::vector<std::string> names = flags_.given();
  if (!file_.empty()) names.insert(names.begin(), file_);
  return names;
}

std::string setting_text(const Config& config) {
  const AlgorithmConfig& algorithm = config.algorithm;
  const bool external = entry_of(config.model).external;
  const bool federated = !entry_of(algorithm).centralised;
  std::string out = fmt::format(
      "{}, {}, eta {}",
      external ? "model and data by the trainer" : config.model.name + " on " + config.data.source,
      brief_algorithm(algorithm), effective_eta(algorithm));
  if (uses_gamma(algorithm)) out += fmt::format(", gamma {}", algorithm.gamma);
  if (federated)
    out +=
        fmt::format(", {} {}, {} nodes ({})", counts_epochs(algorithm) ? "local_epochs" : "tau",
                    algorithm.adaptive_tau ? "adaptive" : std::to_string(round_length(algorithm)),
                    config.federation.nodes, external ? "split by the trainer" : config.federation.partition);
  if (config.federation.feature_skew != FederationConfig{}.feature_skew)
    out += fmt::format(", {}", config.federation.feature_skew);
  if (algorithm.batch_size != 0)
    out += fmt::format(", batches of {}", algorithm.batch_size);
  else if (external)
    out += ", batches by the trainer";
  if (federated && config.federation.aggregator != "mean")
    out += fmt::format(", {}", config.federation.aggregator);
  if (federated && !config.federation.codecs.empty()) out += fmt::format(", {}", config.federation.codecs);
  if (config.federation.fraction_train < 1)
    out += fmt::format(", {} of them per round", config.federation.fraction_train);
  return out;
}

}  // namespace mfl::cli
