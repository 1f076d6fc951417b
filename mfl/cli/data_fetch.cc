#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "mfl/cli/commands.h"
#include "mfl/data/fetch.h"

namespace mfl::cli {
namespace {

struct FetchArguments {
  std::string name, from;
  bool quiet = false;
};

std::vector<std::string> set_names() {
  std::vector<std::string> names;
  for (const PublicSet& set : public_sets()) names.push_back(set.name);
  return names;
}

Result<Reply> fetch_command(const FetchArguments& args, bool json) {
  const PublicSet* const set = find_public_set(args.name);
  if (set == nullptr)
    return fail(ErrorCode::kBadConfig, fmt::format("cannot fetch \"{}\"", args.name),
                fmt::format("the sets are: {}", fmt::join(set_names(), ", ")));
  FetchOptions options;
  if (!args.from.empty()) options.from_folder = args.from;
  if (!args.quiet && !json)
    options.progress = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
  MFL_TRY(const std::filesystem::path folder, fetch(*set, options));
  Reply reply;
  reply.text = fmt::format("{} is in {}\n", args.name, folder.string());
  reply.data = {{"name", args.name}, {"folder", folder.string()}, {"files", Json::array()}};
  for (const FetchFile& file : set->files)
    reply.data["files"].push_back({{"name", file.name}, {"sha256", file.sha256}});
  return reply;
}

}  // namespace

void setup_data_fetch(Command& data, Commands& commands) {
  const auto args = std::make_shared<FetchArguments>();
  Command& command =
      commands.add(data, "fetch", "Download a public data set into the cache and check its digests",
                   "  mfl data fetch mnist\n"
                   "  mfl data fetch fashion-mnist\n"
                   "  mfl data fetch mnist --from ~/Downloads/mnist",
                   [args, &commands] { return fetch_command(*args, commands.json); });
  command.add_option("NAME", args->name, "mnist, fashion-mnist or cifar10")->required()->choices(set_names());
  command
      .add_option("--from", args->from, "Folder that holds the files, plain or .gz, instead of downloading")
      ->type_name("DIR");
  command.add_flag("--quiet", args->quiet, "No progress on stderr");
}

}  // namespace mfl::cli
