#include "mfl/reproduce/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <system_error>

#include "mfl/config/sweep_grid.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 8> kPanels = {"4a", "4b", "4c", "4d", "5a", "5b", "5c", "6"};

bool wants(const PlanOptions& options, std::string_view prefix) {
  return std::ranges::any_of(options.figures,
                             [&](const std::string& figure) { return figure.starts_with(prefix); });
}

// Whether a setting of figure-4.toml is needed. Figure 5 shows FL beside MFL.
bool figure_4_needs(const PlanOptions& options, const Config& config) {
  const std::string& model = config.model.name;
  if (model == "linear") return wants(options, "4c");
  if (model == "logistic") return wants(options, "4d");
  return wants(options, "4a") || wants(options, "4b") ||
         (wants(options, "5") && config.algorithm.name == "fl");
}

Result<std::vector<Config>> paper_settings(const PlanOptions& options, const fs::path& file) {
  MFL_TRY(const Sweep sweep, read_sweep(file));
  MFL_TRY(std::vector<Config> settings, expand(sweep));
  for (Config& config : settings) {
    if (options.adjust) MFL_CHECK(options.adjust(config));
    MFL_CHECK(validate(config));
  }
  return settings;
}

// Settings by digest, so that what two figures share is run once.
class Gathering {
 public:
  explicit Gathering(std::uint64_t seeds) : seeds_(seeds) {}

  void add(Config config, bool rounds, bool accuracy) {
    for (std::uint64_t seed = 1; seed <= seeds_; ++seed) {
      config.run.seed = seed;
      const auto [place, added] = places_.try_emplace(config_digest(config), runs_.size());
      if (added) runs_.push_back({config, false, false});
      PlannedRun& run = runs_[place->second];
      run.rounds = run.rounds || rounds;
      run.accuracy = run.accuracy || accuracy;
    }
  }
  std::vector<PlannedRun> take() { return std::move(runs_); }

 private:
  std::uint64_t seeds_;
  std::map<std::string, std::size_t> places_;
  std::vector<PlannedRun> runs_;
};

std::vector<fs::path> long_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (const std::string name = entry->path().filename().string();
        name.starts_with("figure-6-long") && name.ends_with(".toml"))
      files.push_back(entry->path());
  std::ranges::sort(files);
  return files;
}

Result<void> plan_figure_6(const PlanOptions& options, FigurePlan& plan, Gathering& gathering) {
  MFL_TRY(const auto settings, paper_settings(options, options.experiments / "figure-6.toml"));
  for (const Config& config : settings) gathering.add(config, true, false);
  if (options.quick) return {};
  for (const fs::path& file : long_files(options.experiments)) {
    MFL_TRY(const auto long_settings, paper_settings(options, file));
    for (const Config& config : long_settings) {
      plan.long_steps = run_length(config);
      gathering.add(config, false, false);
    }
  }
  return {};
}

}  // namespace

Result<std::set<std::string>> parse_figures(std::string_view text) {
  std::set<std::string> figures;
  std::string_view rest = text;
  while (true) {
    const std::string_view word = rest.substr(0, rest.find(','));
    bool known = false;
    for (const std::string_view panel : kPanels)
      if (word == "all" || word == panel || (word.size() == 1 && panel.starts_with(word))) {
        figures.emplace(panel);
        known = true;
      }
    if (!known)
      return fail(ErrorCode::kBadConfig, fmt::format("--figure {}: there is no figure '{}'", text, word),
                  "use all, 4, 4a to 4d, 5, 5a to 5c or 6");
    if (word.size() == rest.size()) return figures;
    rest.remove_prefix(word.size() + 1);
  }
}

Result<FigurePlan> make_plan(const PlanOptions& options) {
  const fs::path first = options.experiments / "figure-4.toml";
  std::error_code ignored;
  if (!fs::exists(first, ignored))
    return fail(ErrorCode::kBadConfig, fmt::format("there is no {}", first.string()),
                "name the folder of the paper's experiments with --experiments");
  MFL_TRY(const auto figure_4, paper_settings(options, first));
  FigurePlan plan;
  plan.gamma = figure_4.front().algorithm.gamma;
  plan.tau = round_length(figure_4.front().algorithm);
  plan.steps = run_length(figure_4.front());
  Gathering gathering(options.seeds);
  for (const Config& config : figure_4)
    if (figure_4_needs(options, config)) gathering.add(config, true, true);
  if (wants(options, "5")) {
    MFL_TRY(const auto settings, paper_settings(options, options.experiments / "figure-5.toml"));
    for (const Config& config : settings) gathering.add(config, true, true);
  }
  if (wants(options, "6")) MFL_CHECK(plan_figure_6(options, plan, gathering));
  plan.runs = gathering.take();
  return plan;
}

}  // namespace mfl
