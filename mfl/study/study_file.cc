// From a file to a StudyPlan.
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "mfl/algorithm/algorithms.h"
#include "mfl/base/nearest.h"
#include "mfl/config/entries.h"
#include "mfl/config/file_value.h"
#include "mfl/partition/partitions.h"
#include "mfl/study/plan.h"
#include "mfl/study/value_reader.h"

namespace mfl {
namespace {

using Kind = FileValue::Kind;

constexpr std::size_t kMostRuns = 100'000;

constexpr std::string_view kStudyKeys[] = {"title",     "algorithms", "problems",     "splits",
                                           "eta",       "seeds",      "tuning_seeds", "metric",
                                           "reference", "focus",      "quick"};
constexpr std::string_view kAlgorithmKeys[] = {"name", "label", "tune", "set"};
constexpr std::string_view kProblemKeys[] = {"data", "model", "label", "eta", "target", "set"};
constexpr std::string_view kQuickKeys[] = {"algorithms", "problems",     "splits",
                                           "seeds",      "tuning_seeds", "set"};

// Keys of [algorithm] that no single algorithm may set, because its runs would not be comparable.
constexpr std::string_view kSharedKeys[] = {"algorithm.name",       "algorithm.eta",
                                            "algorithm.tau",        "algorithm.local_epochs",
                                            "algorithm.batch_size", "algorithm.drop_last"};

class StudyReader : private ValueReader {
 public:
  StudyReader(std::string_view file, FileWithTable read, const StudyOptions& options)
      : ValueReader(file), table_(std::move(read.table)), options_(options) {
    plan_.base = std::move(read.base);
    plan_.quick = options.quick;
  }

  Result<StudyPlan> read() {
    if (table_.line == 0)
      return fail(ErrorCode::kBadConfig, fmt::format("{}: there is no table [study]", file()),
                  "a study file has one, with its algorithms, splits, problems and seeds (docs/study.md)");
    MFL_CHECK(check_keys(table_, "[study]", kStudyKeys));
    MFL_CHECK(read_title());
    MFL_CHECK(read_metric());
    MFL_CHECK(read_algorithms());
    MFL_CHECK(read_problems());
    MFL_CHECK(read_splits(table_));
    MFL_CHECK(read_seeds(table_));
    if (options_.quick) MFL_CHECK(read_quick());
    MFL_CHECK(read_names());
    if (options_.adjust) MFL_CHECK(options_.adjust(plan_.base));
    MFL_CHECK(check_comparable());
    MFL_CHECK(check_settings());
    return std::move(plan_);
  }

 private:
  Result<void> read_title() {
    plan_.title = "A study of federated algorithms";
    if (const FileValue* title = table_.find("title")) {
      MFL_TRY(plan_.title, text_of(*title, "title in [study]"));
    }
    return {};
  }

  Result<void> read_metric() {
    const FileValue* metric = table_.find("metric");
    if (metric == nullptr) return {};
    MFL_TRY(const std::string text, text_of(*metric, "metric in [study]"));
    if (text != "train-loss" && text != "test-accuracy")
      return wrong(metric->line,
                   fmt::format("metric = {}: must be train-loss or test-accuracy", quoted_text(text)));
    plan_.metric = text == "train-loss" ? StudyMetric::kTrainLoss : StudyMetric::kTestAccuracy;
    return {};
  }

  Result<StudyAlgorithm> algorithm_of(const FileValue& item) const {
    if (item.kind == Kind::kText) {
      MFL_TRY(const std::string spec, text_of(item, "algorithms in [study]"));
      return StudyAlgorithm{.label = spec, .spec = spec};
    }
    if (item.kind != Kind::kTable)
      return wrong(item.line, fmt::format("algorithms in [study]: must be strings or tables, not {}",
                                          kind_name(item.kind)));
    MFL_CHECK(check_keys(item, "an algorithm", kAlgorithmKeys));
    MFL_TRY(const FileValue* name, need(item, "name", "an algorithm of [study]"));
    StudyAlgorithm algorithm;
    MFL_TRY(algorithm.spec, text_of(*name, "name of an algorithm"));
    algorithm.label = algorithm.spec;
    if (const FileValue* label = item.find("label")) {
      MFL_TRY(algorithm.label, text_of(*label, "label of an algorithm"));
    }
    if (const FileValue* set = item.find("set")) {
      MFL_TRY(algorithm.set, overrides_of(*set, fmt::format("set of {}", algorithm.label), "algorithm"));
      for (const auto& [key, text] : algorithm.set)
        if (!key.starts_with("algorithm.") || std::ranges::find(kSharedKeys, key) != std::end(kSharedKeys))
          return wrong(set->line,
                       fmt::format("set of {}: {} is the same for all algorithms", algorithm.label, key),
                       "an algorithm sets keys of [algorithm] that are its own");
    }
    if (const FileValue* tune = item.find("tune")) MFL_CHECK(read_tune(algorithm, *tune));
    return algorithm;
  }

  Result<void> read_tune(StudyAlgorithm& algorithm, const FileValue& tune) const {
    if (tune.kind != Kind::kTable || tune.members.size() != 1)
      return wrong(
          tune.line,
          fmt::format("tune of {}: must be a table with one parameter, such as {{ gamma = [0.5, 0.9] }}",
                      algorithm.label),
          "step sizes are in eta, the same for all algorithms");
    const auto& [name, values] = tune.members.front();
    if (name == "eta")
      return wrong(tune.line, fmt::format("tune of {}: step sizes are in eta, the same for all algorithms",
                                          algorithm.label));
    algorithm.tuned = name;
    if (const auto spec = parse_spec(algorithm.spec, algorithms()); spec && spec->values.find(name)) {
      const bool named = algorithm.label != algorithm.spec;
      algorithm.spec = brief_text(*spec->entry, spec->values, name);  // the values of tune count
      if (!named) algorithm.label = algorithm.spec;
    }
    MFL_TRY(algorithm.values, numbers_of(values, fmt::format("tune of {}: {}", algorithm.label, name)));
    return check_tuned(algorithm, tune.line);
  }

  // False for an algorithm that cannot be made without its tuned parameter, which is right unless it has
  // both.
  static bool has_gamma(const StudyAlgorithm& algorithm) {
    Config config;
    if (!set_key(config, "algorithm.name", algorithm.spec)) return false;
    for (const auto& [key, text] : algorithm.set)
      if (!set_key(config, key, text)) return false;
    return validate(config) && uses_gamma(config.algorithm);
  }

  Result<void> check_tuned(const StudyAlgorithm& algorithm, std::uint32_t line) const {
    const std::string name = algorithm.spec.substr(0, algorithm.spec.find_first_of("( "));
    const AlgorithmEntry* entry = algorithms().find(name);
    if (entry == nullptr) return {};  // refused with its name later
    std::vector<std::string_view> known;
    for (const Parameter& parameter : entry->parameters) known.push_back(parameter.name);
    if (has_gamma(algorithm)) known.push_back("gamma");
    if (std::ranges::find(known, algorithm.tuned) != known.end()) return {};
    return wrong(
        line,
        fmt::format("tune of {}: {} has no parameter {}{}", algorithm.label, entry->name,
                    quoted_text(algorithm.tuned), did_you_mean(algorithm.tuned, known)),
        known.empty() ? std::string("leave tune out") : fmt::format("it has {}", fmt::join(known, ", ")));
  }

  Result<void> read_algorithms() {
    MFL_TRY(const FileValue* value, need(table_, "algorithms", "[study]"));
    MFL_TRY(const auto* items, list_of(*value, "algorithms in [study]"));
    for (const FileValue& item : *items) {
      MFL_TRY(StudyAlgorithm algorithm, algorithm_of(item));
      if (auto spec = parse_spec_of(algorithm); !spec)
        return wrong(item.line, spec.error().text(), spec.error().hint);
      if (find_algorithm(algorithm.label))
        return wrong(item.line, fmt::format("algorithms: {} is there twice", quoted_text(algorithm.label)),
                     "give one of them another label");
      if (!algorithm.tuned.empty() && !grid_size_) grid_size_ = algorithm.values.size();
      if (!algorithm.tuned.empty() && algorithm.values.size() != *grid_size_)
        return wrong(
            item.line,
            fmt::format("tune of {}: {} values of {}, while another algorithm has {}", algorithm.label,
                        algorithm.values.size(), algorithm.tuned, *grid_size_),
            "give every algorithm that tunes a parameter equally many values, so that none is tuned harder");
      plan_.algorithms.push_back(std::move(algorithm));
    }
    if (plan_.algorithms.size() < 2) return wrong(value->line, "algorithms: a study compares at least two");
    return {};
  }

  static Result<void> parse_spec_of(const StudyAlgorithm& algorithm) {
    const bool written = !algorithm.tuned.empty() && algorithm.tuned != "gamma";
    const std::string name = algorithm.spec.substr(0, algorithm.spec.find_first_of("( "));
    MFL_TRY(const AlgorithmEntry* entry, algorithms().get(name));
    if (entry->centralised)
      return fail(ErrorCode::kBadConfig, fmt::format("algorithms: {} is not federated", entry->name),
                  "a study compares algorithms of a federation; mfl sweep runs any");
    if (!written) MFL_CHECK(parse_spec(algorithm.spec, algorithms()));
    return {};
  }

  Result<StudyProblem> problem_of(const FileValue& item, const std::vector<double>& eta) const {
    if (item.kind != Kind::kTable)
      return wrong(item.line, fmt::format("problems in [study]: must be tables, such as {{ data = \"mnist\", "
                                          "model = \"softmax\" }}, not {}",
                                          kind_name(item.kind)));
    MFL_CHECK(check_keys(item, "a problem", kProblemKeys));
    MFL_TRY(const FileValue* data, need(item, "data", "a problem of [study]"));
    MFL_TRY(const FileValue* model, need(item, "model", "a problem of [study]"));
    StudyProblem problem;
    MFL_TRY(problem.data, text_of(*data, "data of a problem"));
    MFL_TRY(problem.model, text_of(*model, "model of a problem"));
    problem.label = fmt::format("{}, {}", problem.data, problem.model);
    if (const FileValue* label = item.find("label")) {
      MFL_TRY(problem.label, text_of(*label, "label of a problem"));
    }
    problem.eta = eta;
    if (const FileValue* own = item.find("eta")) {
      MFL_TRY(problem.eta, steps_of(*own, fmt::format("eta of {}", problem.label)));
    }
    if (problem.eta.empty())
      return wrong(item.line, fmt::format("there are no step sizes for {}", problem.label),
                   "give [study] or the problem an array eta");
    if (const FileValue* target = item.find("target")) {
      MFL_TRY(problem.target, number_of(*target, fmt::format("target of {}", problem.label)));
      if (plan_.metric == StudyMetric::kTestAccuracy && (*problem.target <= 0 || *problem.target > 1))
        return wrong(target->line, fmt::format("target of {}: a test accuracy is in (0, 1]", problem.label));
    }
    if (const FileValue* set = item.find("set")) {
      MFL_TRY(problem.set, overrides_of(*set, fmt::format("set of {}", problem.label)));
      for (const auto& [key, text] : problem.set)
        if (!key.starts_with("data.") && !key.starts_with("model."))
          return wrong(set->line,
                       fmt::format("set of {}: {} is the same for all problems", problem.label, key),
                       "a problem sets keys of [data] and [model]");
    }
    return problem;
  }

  Result<void> read_problems() {
    std::vector<double> eta;
    if (const FileValue* value = table_.find("eta")) {
      MFL_TRY(eta, steps_of(*value, "eta in [study]"));
    }
    MFL_TRY(const FileValue* value, need(table_, "problems", "[study]"));
    MFL_TRY(const auto* items, list_of(*value, "problems in [study]"));
    for (const FileValue& item : *items) {
      MFL_TRY(StudyProblem problem, problem_of(item, eta));
      if (std::ranges::find(plan_.problems, problem.label, &StudyProblem::label) != plan_.problems.end())
        return wrong(item.line, fmt::format("problems: {} is there twice", quoted_text(problem.label)),
                     "give one of them a label");
      plan_.problems.push_back(std::move(problem));
    }
    return {};
  }

  Result<void> read_splits(const FileValue& table) {
    MFL_TRY(const FileValue* value, need(table, "splits", "[study]"));
    MFL_TRY(const auto texts, texts_of(*value, "splits in [study]"));
    std::set<std::string> known;
    for (const std::string& text : texts) {
      const auto spec = parse_spec(text, partitions());
      if (!spec) return wrong(value->line, fmt::format("splits: {}", spec.error().text()), spec.error().hint);
      if (!known.insert(spec->text).second)
        return wrong(value->line, fmt::format("splits: {} is there twice", quoted_text(text)));
    }
    plan_.splits = texts;
    return {};
  }

  Result<void> read_seeds(const FileValue& table) {
    MFL_TRY(const FileValue* seeds, need(table, "seeds", "[study]"));
    MFL_TRY(plan_.seeds, seeds_of(*seeds, "seeds in [study]"));
    MFL_TRY(const FileValue* tuning, need(table, "tuning_seeds", "[study]"));
    MFL_TRY(plan_.tuning_seeds, seeds_of(*tuning, "tuning_seeds in [study]"));
    return check_disjoint(tuning->line);
  }

  Result<void> check_disjoint(std::uint32_t line) const {
    for (const std::uint64_t seed : plan_.tuning_seeds)
      if (std::ranges::find(plan_.seeds, seed) != plan_.seeds.end())
        return wrong(line, fmt::format("seed {} is in seeds and in tuning_seeds", seed),
                     "settings are tuned on seeds other than those reported; use different ones");
    return {};
  }

  // Keeps those of `all` that the quick form names, in their own order.
  template <class Item>
  Result<void> keep(std::vector<Item>& all, const FileValue& value, std::string_view what) const {
    MFL_TRY(const auto names, texts_of(value, fmt::format("{} in [study.quick]", what)));
    std::vector<std::string_view> known;
    for (const Item& item : all) known.push_back(item.label);
    for (const std::string& name : names)
      if (std::ranges::find(known, name) == known.end())
        return wrong(value.line,
                     fmt::format("{} in [study.quick]: the study has no {}{}", what, quoted_text(name),
                                 did_you_mean(name, known)),
                     fmt::format("it has {}", fmt::join(known, "; ")));
    std::erase_if(all, [&](const Item& item) { return std::ranges::find(names, item.label) == names.end(); });
    return {};
  }

  Result<void> read_quick() {
    const FileValue* quick = table_.find("quick");
    if (quick == nullptr || quick->kind != Kind::kTable)
      return fail(ErrorCode::kBadConfig, fmt::format("{}: there is no table [study.quick]", file()),
                  "run the study without --quick, or add what its quick form leaves out");
    MFL_CHECK(check_keys(*quick, "[study.quick]", kQuickKeys));
    if (const FileValue* value = quick->find("algorithms"))
      MFL_CHECK(keep(plan_.algorithms, *value, "algorithms"));
    if (plan_.algorithms.size() < 2)
      return wrong(quick->line, "[study.quick] algorithms: a study compares at least two");
    if (const FileValue* value = quick->find("problems")) MFL_CHECK(keep(plan_.problems, *value, "problems"));
    if (quick->find("splits") != nullptr) MFL_CHECK(read_splits(*quick));
    if (const FileValue* value = quick->find("seeds")) {
      MFL_TRY(plan_.seeds, seeds_of(*value, "seeds in [study.quick]"));
    }
    if (const FileValue* value = quick->find("tuning_seeds")) {
      MFL_TRY(plan_.tuning_seeds, seeds_of(*value, "tuning_seeds in [study.quick]"));
    }
    MFL_CHECK(check_disjoint(quick->line));
    if (const FileValue* value = quick->find("set")) {
      MFL_TRY(const auto set, overrides_of(*value, "set in [study.quick]"));
      make_room(plan_.base, set);
      for (const auto& [key, text] : set) MFL_CHECK(set_key(plan_.base, key, text));
    }
    return {};
  }

  std::optional<std::size_t> find_algorithm(std::string_view label) const {
    const auto found = std::ranges::find(plan_.algorithms, label, &StudyAlgorithm::label);
    if (found == plan_.algorithms.end()) return std::nullopt;
    return static_cast<std::size_t>(found - plan_.algorithms.begin());
  }

  Result<std::size_t> named_algorithm(const FileValue& value, std::string_view key) const {
    MFL_TRY(const std::string label, text_of(value, fmt::format("{} in [study]", key)));
    if (const auto index = find_algorithm(label)) return *index;
    std::vector<std::string_view> known;
    for (const StudyAlgorithm& algorithm : plan_.algorithms) known.push_back(algorithm.label);
    return wrong(
        value.line,
        fmt::format("{} = {}: not one of the algorithms{}", key, quoted_text(label),
                    did_you_mean(label, known)),
        fmt::format("they are {}{}", fmt::join(known, ", "), options_.quick ? ", in the quick form" : ""));
  }

  Result<void> read_names() {
    MFL_TRY(const FileValue* reference, need(table_, "reference", "[study]"));
    MFL_TRY(plan_.reference, named_algorithm(*reference, "reference"));
    if (const FileValue* focus = table_.find("focus")) {
      MFL_TRY(plan_.focus, named_algorithm(*focus, "focus"));
      if (plan_.focus == plan_.reference)
        return wrong(focus->line, "focus and reference are the same algorithm");
    }
    return {};
  }

  tl::unexpected<Error> not_comparable(std::string_view what, std::string hint) const {
    return fail(ErrorCode::kBadConfig, fmt::format("{}: {}", file(), what), std::move(hint));
  }

  Result<void> check_comparable() const {
    const Config& base = plan_.base;
    if (base.run.target_loss || base.run.target_accuracy || base.run.patience != 0)
      return not_comparable("target_loss, target_accuracy or patience in [run] end runs early",
                            "leave them out: a study compares runs of the same length");
    if (has_budget(base.run) || base.algorithm.adaptive_tau)
      return not_comparable("a budget in [run] or an adaptive tau gives every run rounds of its own",
                            "set tau and rounds: a study compares runs of the same length");
    if (base.data.folds != 0)
      return not_comparable("folds in [data]: a study has no cross-validation", "leave folds out");
    if (plan_.metric == StudyMetric::kTestAccuracy)
      return base.data.test == std::uint64_t{0}
                 ? Result<void>(not_comparable("metric = \"test-accuracy\" with test = 0 in [data]",
                                               "keep test samples"))
                 : Result<void>();
    const bool batches = base.algorithm.batch_size != 0;
    if (base.federation.fraction_train < 1 || base.federation.quorum != 0)
      return not_comparable(
          "metric = \"train-loss\" where not all nodes take part: a round's loss is that of the nodes it "
          "counts",
          "set metric = \"test-accuracy\", or let all nodes take part");
    if (batches && base.run.evaluate_every == 0)
      return not_comparable(
          "metric = \"train-loss\" with batch_size and evaluate_every = 0: no loss is over all samples",
          "leave evaluate_every out of [run], or set metric = \"test-accuracy\"");
    return {};
  }

  // Every combination that can be chosen, so that nothing is refused after an hour of training.
  Result<void> check_settings() const {
    std::size_t settings = 0;
    for (const StudyCell& cell : cells_of(plan_))
      for (std::size_t algorithm = 0; algorithm < plan_.algorithms.size(); ++algorithm) {
        const std::size_t grid = candidates(plan_, cell.problem, algorithm).size();
        settings += grid * plan_.tuning_seeds.size() + plan_.seeds.size();
        if (settings > kMostRuns)
          return not_comparable(fmt::format("the study has more than {} runs", kMostRuns),
                                "use fewer seeds, splits or step sizes");
        for (std::size_t i = 0; i < grid; ++i)
          if (auto config = study_config(plan_, {cell, algorithm, i, plan_.seeds.front()}); !config) {
            Error error = std::move(config).error();
            error.message = fmt::format("{}: {}", file(), error.message);
            return tl::unexpected<Error>(std::move(error));
          }
      }
    return {};
  }

  FileValue table_;
  const StudyOptions& options_;
  StudyPlan plan_;
  std::optional<std::size_t> grid_size_;
};

}  // namespace

Result<StudyPlan> parse_study(std::string_view text, std::string_view file, const StudyOptions& options) {
  MFL_TRY(FileWithTable read, parse_with_table(text, file, "study"));
  return StudyReader(file, std::move(read), options).read();
}

Result<StudyPlan> read_study(const std::filesystem::path& path, const StudyOptions& options) {
  MFL_TRY(FileWithTable read, read_with_table(path, "study"));
  const std::string file = path.string();
  return StudyReader(file, std::move(read), options).read();
}

}  // namespace mfl
