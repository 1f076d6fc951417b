#include "mfl/run/shared_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "mfl/base/message.h"
#include "mfl/base/version.h"

namespace mfl {
namespace {

using Facts = std::vector<RankFact>;

// Keys as a user writes them: algorithm.gamma.
void add_config(Facts& facts, Config config, const std::string& prefix) {
  const RunConfig defaults;
  config.run.engine = defaults.engine;
  config.run.threads = defaults.threads;
  std::istringstream lines(to_toml(config));
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find(" = ");
    if (line.starts_with('['))
      section = line.substr(1, line.find(']') - 1) + '.';
    else if (equals != std::string::npos)
      facts.push_back({prefix + section + line.substr(0, equals), line.substr(equals + 3)});
  }
}

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

std::string bytes_of(const std::optional<RecordedRun>& found) {
  if (!found) return {};
  MessageWriter out;
  const Unfinished& run = found->run;
  out.put(found->finished);
  out.put_text(run.id);
  out.put(run.checkpoint.has_value());
  if (run.checkpoint) {
    out.put(run.checkpoint->round);
    out.put_text(run.checkpoint->blob);
  }
  out.put(run.wall_seconds);
  out.put(run.virtual_seconds);
  out.put(run.bytes_up);
  out.put(run.bytes_down);
  out.put_all(std::span<const RoundLoss>(run.losses));
  return out.bytes();
}

std::optional<RecordedRun> read_found(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  MessageReader in(bytes);
  RecordedRun found;
  Unfinished& run = found.run;
  found.finished = in.take<bool>();
  run.id = in.take_text();
  if (in.take<bool>()) {
    const auto round = in.take<std::uint64_t>();
    run.checkpoint = Checkpoint{.round = round, .blob = in.take_text()};
  }
  run.wall_seconds = in.take<double>();
  run.virtual_seconds = in.take<std::optional<double>>();
  run.bytes_up = in.take<std::uint64_t>();
  run.bytes_down = in.take<std::uint64_t>();
  run.losses = in.take_all<RoundLoss>();
  return found;
}

// A recorder that finds what that of the first process finds.
class SharedRecorder final : public Recorder {
 public:
  SharedRecorder(std::unique_ptr<Recorder> own, Ranks& ranks) : own_(std::move(own)), ranks_(ranks) {}

  bool keeps() const override { return own_->keeps(); }
  Result<std::optional<RecordedRun>> find(const RunSpec& spec, const Reuse& reuse) override {
    MFL_TRY(const std::string bytes, ranks_.from_first([&]() -> Result<std::string> {
      MFL_TRY(const auto found, own_->find(spec, reuse));
      return bytes_of(found);
    }));
    return read_found(bytes);
  }
  Result<void> continue_run(const Unfinished& run) override { return own_->continue_run(run); }
  Result<std::string> create_run(const RunSpec& spec) override { return own_->create_run(spec); }
  Result<void> append(std::string_view id, std::span<const RoundRow> rounds,
                      std::span<const RecordRow> records, const std::optional<Checkpoint>& checkpoint,
                      std::span<const NodeRow> nodes) override {
    return own_->append(id, rounds, records, checkpoint, nodes);
  }
  Result<void> finish(std::string_view id, RunStatus status, std::string_view message,
                      const RunSummary& summary, double wall_seconds, const std::vector<RunWarning>& further,
                      const std::optional<FinalModel>& model) override {
    return own_->finish(id, status, message, summary, wall_seconds, further, model);
  }
  void give_up(std::string_view id, std::string_view message) override { own_->give_up(id, message); }
  Result<RunRow> get(std::string_view id) const override { return own_->get(id); }

 private:
  std::unique_ptr<Recorder> own_;
  Ranks& ranks_;
};

}  // namespace

Result<void> require_same_command(std::string_view command, std::span<const Config> configs,
                                  const RunOptions& options, Ranks& ranks) {
  if (ranks.size() == 1) return {};
  Facts facts = {{"the version of mfl", std::string(version())},
                 {"the build of mfl", build_id()},
                 {"the command", std::string(command)},
                 {"--resume", options.resume_id},
                 {"--reuse", yes_or_no(options.reuse)},
                 {"--monitor", yes_or_no(options.monitor)},
                 {"the number of settings", fmt::to_string(configs.size())}};
  for (std::size_t i = 0; i < configs.size(); ++i)
    add_config(facts, configs[i], configs.size() == 1 ? "" : fmt::format("setting {}: ", i + 1));
  // The name of a sweep follows from its settings, so another setting is the better answer.
  std::ranges::stable_partition(facts, [](const RankFact& fact) { return !fact.name.ends_with("run.name"); });
  return ranks.require_same(facts, ErrorCode::kBadConfig,
                            "start every rank with the same program, command and configuration");
}

RunHooks own_hooks(const RunHooks& hooks, const Ranks& ranks) {
  return ranks.first() ? hooks : RunHooks{.progress = {}, .stop = hooks.stop};
}

Result<StoppedRun> read_stopped(const std::filesystem::path& store, std::string_view run, Ranks& ranks) {
  MFL_TRY(const std::string bytes, ranks.from_first([&]() -> Result<std::string> {
    MFL_TRY(const RunRow found, find_stopped(store, run));
    MessageWriter out;
    out.put_text(found.id);
    out.put_text(found.config);
    return out.bytes();
  }));
  MessageReader in(bytes);
  StoppedRun stopped{.id = in.take_text(), .config = {}};
  MFL_TRY(stopped.config, parse_config(in.take_text(), "run " + stopped.id));
  return stopped;
}

Result<std::unique_ptr<Recorder>> open_recorder(const std::filesystem::path& store, Ranks& ranks) {
  if (ranks.size() == 1) return store_recorder(store);
  std::unique_ptr<Recorder> own = no_recorder();
  MFL_CHECK(ranks.on_first([&]() -> Result<void> {
    MFL_TRY(own, store_recorder(store));
    return {};
  }));
  return std::make_unique<SharedRecorder>(std::move(own), ranks);
}

}  // namespace mfl
