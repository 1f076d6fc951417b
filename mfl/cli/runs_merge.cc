#include <fmt/core.h>
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "mfl/base/files.h"
#include "mfl/cli/commands.h"

namespace mfl::cli {
namespace {

struct MergeArguments {
  std::string into;
  std::vector<std::string> stores;
};

std::string report_text(const std::string& path, const MergeReport& report) {
  std::string text = fmt::format("{}: {} runs merged", path, report.merged.size());
  if (!report.present.empty()) text += fmt::format(", {} already there", report.present.size());
  if (!report.running.empty())
    text += fmt::format(", left out because they are running: {}", fmt::join(report.running, " "));
  if (!report.conflicting.empty())
    text += fmt::format(", left out because they differ: {}", fmt::join(report.conflicting, " "));
  return text + "\n";
}

Result<Reply> merge_command(const MergeArguments& args) {
  for (const std::string& path : args.stores) MFL_CHECK(open_store(path));
  MFL_TRY(Store store, Store::open(args.into));
  Reply reply;
  reply.data = {{"into", args.into}, {"stores", Json::array()}};
  std::size_t conflicts = 0;
  for (const std::string& path : args.stores) {
    MFL_TRY(const MergeReport report, store.merge(path));
    reply.text += report_text(path, report);
    reply.data["stores"].push_back({{"store", path},
                                    {"merged", report.merged},
                                    {"present", report.present},
                                    {"conflicting", report.conflicting},
                                    {"running", report.running}});
    conflicts += report.conflicting.size();
  }
  if (conflicts > 0)
    reply.failure = Error{
        ErrorCode::kRunFailed,
        fmt::format("{} runs have the id of a different run in {} and were left out", conflicts, args.into),
        "delete the runs that are not wanted with mfl runs delete, then merge again", nullptr};
  return reply;
}

}  // namespace

void setup_runs_merge(Command& runs, Commands& commands) {
  const auto args = std::make_shared<MergeArguments>();
  Command& command =
      commands.add(runs, "merge", "Copy the runs of other stores into one",
                   "  mfl runs merge job-1.db job-2.db --into all.db\n"
                   "copies runs with their rounds, records and checkpoints, each store wholly or not at all. "
                   "Runs that the target already has are skipped.",
                   [args] { return merge_command(*args); });
  command.add_option("STORE", args->stores, "Stores to copy from; they are not changed")->required();
  args->into = default_store_path().string();
  command.add_option("--into", args->into, "The store to copy into; created if it does not exist")
      ->type_name("PATH")
      ->capture_default_str();
}

}  // namespace mfl::cli
