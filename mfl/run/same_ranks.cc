#include "mfl/run/same_ranks.h"

#include <fmt/format.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "mfl/base/version.h"
#include "mfl/config/factory.h"
#include "mfl/data/fleet.h"
#include "mfl/data/source.h"

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

// Equal for configurations that read the same files in the same way.
std::string source_text(const Config& config) {
  Config source;
  source.data = config.data;
  return to_toml(source);
}

Result<Facts> source_facts(std::span<const Config> configs) {
  Facts facts;
  std::set<std::string> seen;
  for (const Config& config : configs) {
    if (is_fleet(config.data.source) || !seen.insert(source_text(config)).second) continue;
    MFL_TRY(const TrainTestRows rows, open_rows(data_options(config)));
    const std::string name = fmt::format("the digest of {}", config.data.source);
    MFL_TRY(std::string train, rows.train.digest());
    facts.push_back({name, std::move(train)});
    if (!rows.test) continue;
    MFL_TRY(std::string test, rows.test->digest());
    facts.push_back({name + " (test)", std::move(test)});
  }
  return facts;
}

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
  return ranks.require_same(facts, ErrorCode::kBadConfig,
                            "start every rank with the same program, command and configuration");
}

Result<void> require_same_sources(std::span<const Config> configs, Ranks& ranks) {
  if (ranks.size() == 1) return {};
  const Result<Facts> facts = source_facts(configs);
  MFL_CHECK(ranks.agree(facts ? Result<void>{} : tl::unexpected<Error>(facts.error())));
  return ranks.require_same(*facts, ErrorCode::kBadData, "give every rank the same data");
}

}  // namespace mfl
