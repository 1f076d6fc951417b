#include <fmt/core.h>

#include <cstdio>
#include <memory>

#include "mfl/cli/commands.h"
#include "mfl/data/fetch.h"

namespace mfl::cli {
namespace {

struct Arguments {
  std::string name, from;
  bool quiet = false;
};

Result<Reply> fetch_command(const Arguments& args, bool json) {
  if (args.name != "mnist")
    return fail(ErrorCode::kBadConfig, fmt::format("cannot fetch \"{}\"", args.name),
                "mnist is the only known data set");
  FetchOptions options;
  if (!args.from.empty()) options.from_folder = args.from;
  if (!args.quiet && !json)
    options.progress = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
  MFL_TRY(const std::filesystem::path folder, fetch_mnist(options));
  Reply reply;
  reply.text = fmt::format("mnist is in {}\n", folder.string());
  reply.data = {{"name", args.name}, {"folder", folder.string()}, {"files", Json::array()}};
  for (const FetchFile& file : options.files)
    reply.data["files"].push_back({{"name", file.name}, {"sha256", file.sha256}});
  return reply;
}

}  // namespace

void setup_data_fetch(Command& data, Commands& commands) {
  const auto args = std::make_shared<Arguments>();
  Command& command =
      commands.add(data, "fetch", "Download a public data set into the cache and check its digests",
                   "  mfl data fetch mnist\n"
                   "  mfl data fetch mnist --from ~/Downloads/mnist",
                   [args, &commands] { return fetch_command(*args, commands.json); });
  command.add_option("NAME", args->name, "mnist")->required()->choices({"mnist"});
  command
      .add_option("--from", args->from,
                  "Folder that holds the four files, plain or .gz, instead of downloading")
      ->type_name("DIR");
  command.add_flag("--quiet", args->quiet, "No progress on stderr");
}

}  // namespace mfl::cli
