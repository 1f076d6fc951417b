#include <fmt/core.h>

#include <cmath>
#include <memory>

#include "mfl/advise/advise.h"
#include "mfl/cli/commands.h"
#include "mfl/cli/experiment_flags.h"
#include "mfl/cli/interrupt.h"
#include "mfl/cli/shell_command.h"
#include "mfl/cli/text.h"
#include "mfl/report/table.h"
#include "mfl/run/outcome_json.h"

namespace mfl::cli {
namespace {

struct AdviseArguments {
  AdviseOptions options;
  ExperimentFlags experiment;
};

std::string setting_words(const PilotSetting& setting) {
  return setting.gamma == 0
             ? fmt::format("fl, eta {}, tau {}", setting.eta, setting.tau)
             : fmt::format("mfl, eta {}, gamma {}, tau {}", setting.eta, setting.gamma, setting.tau);
}

Facts theory_facts(const Advice& advice) {
  if (!advice.theory) return {{"by theory", "not applicable: " + advice.without_theory}};
  const TheoryAdvice& theory = *advice.theory;
  return {
      {"by theory", fmt::format("beta {:.6g}, mu {:.6g}, least possible loss {:.8g}", theory.beta, theory.mu,
                                theory.least_loss)},
      {"", fmt::format("stable for eta below 2 (1 + gamma) / beta = {:.4g} at the gamma advised; bounds hold "
                       "below 1 / beta = {:.4g}",
                       advice.pilot.stable_eta, theory.bounded_eta)},
      {"", std::isfinite(theory.bound)
               ? fmt::format("lowest bound: {}: F(w^f) - F* at most {:.4g} after {} rounds",
                             setting_words(theory.setting), theory.bound, theory.rounds)
               : "no setting looked at has a bound"}};
}

std::string run_line(const Advice& advice) {
  return shell_command("run", advice.config, [](const Key&) { return true; });
}

std::string advice_text(const Advice& advice) {
  const PilotAdvice& pilot = advice.pilot;
  Facts facts = {
      {"advice", setting_words(pilot.setting)},
      {"budget", fmt::format("{} rounds, {} local steps", pilot.rounds, run_length(advice.config))},
      {"expected loss",
       fmt::format("{:.8g}{}", pilot.expected_loss,
                   pilot.extrapolated
                       ? fmt::format(", extrapolated from a trial of {} rounds", pilot.trial_rounds)
                   : pilot.trial_rounds < pilot.rounds
                       ? fmt::format(" or less, measured after {} of the rounds", pilot.trial_rounds)
                       : ", measured in a trial run")}};
  for (const auto& fact : theory_facts(advice)) facts.push_back(fact);
  facts.emplace_back("by trial", fmt::format("{} settings, the longest over {} rounds, in {:.1f} s",
                                             pilot.settings, pilot.trial_rounds, advice.wall_seconds));
  facts.emplace_back("run it", run_line(advice));
  return facts_text(facts);
}

Json setting_json(const PilotSetting& setting, std::uint64_t rounds) {
  return {{"algorithm", setting.gamma == 0 ? "fl" : "mfl"},
          {"eta", setting.eta},
          {"gamma", setting.gamma},
          {"tau", setting.tau},
          {"rounds", rounds}};
}

Json advice_json(const Advice& advice) {
  const PilotAdvice& pilot = advice.pilot;
  Json out = {{"config", config_json(advice.config)}, {"command", run_line(advice)}, {"theory", nullptr}};
  if (advice.theory) {
    const TheoryAdvice& theory = *advice.theory;
    out["theory"] = {{"beta", theory.beta},
                     {"mu", theory.mu},
                     {"least_loss", theory.least_loss},
                     {"delta", theory.delta},
                     {"bounded_eta", theory.bounded_eta},
                     {"setting", setting_json(theory.setting, theory.rounds)},
                     {"bound", theory.bound}};
  }
  out["pilot"] = {{"setting", setting_json(pilot.setting, pilot.rounds)},
                  {"stable_eta", pilot.stable_eta},
                  {"expected_loss", pilot.expected_loss},
                  {"extrapolated", pilot.extrapolated},
                  {"trial_rounds", pilot.trial_rounds},
                  {"settings", pilot.settings},
                  {"losses", pilot.losses}};
  out["load_seconds"] = advice.load_seconds;
  out["wall_seconds"] = advice.wall_seconds;
  return out;
}

Result<Reply> advise_command(const AdviseArguments& args) {
  MFL_TRY(const Config config, args.experiment.assemble());
  const std::atomic<bool>& stop = watch_interrupts();
  MFL_TRY(const Advice advice, advise_experiment(config, args.options, {{}, &stop}));
  return Reply{advice_json(advice), advice_text(advice), {}};
}

}  // namespace

void setup_theory_advise(Command& theory, Commands& commands) {
  const auto args = std::make_shared<AdviseArguments>();
  Command& command =
      commands.add(theory, "advise", "Recommend eta, gamma and tau for a budget of rounds or bytes",
                   "  mfl theory advise --data mnist --train 5000 --test 0 --model squared-svm --nodes 4 "
                   "--budget-rounds 50\n"
                   "Separates what follows from the theory from what trial runs on this machine show. "
                   "Records nothing.",
                   [args] { return advise_command(*args); });
  commands.processes.refuse(command);
  args->experiment.add(command, is_advise_key);
  command.add_option("--budget-rounds", args->options.rounds, "Aggregations that may be made")
      ->type_name("N");
  command
      .add_option("--budget-bytes", args->options.bytes, "Bytes that may travel, both directions together")
      ->type_name("N");
  command.add_option("--max-tau", args->options.most_tau, "Local steps that a node may take in a round")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--pilot-rounds", args->options.pilot_rounds,
                  "Length of the longest trial run; the rest is extrapolated")
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace mfl::cli
