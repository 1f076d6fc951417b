#include "mfl/report/gnuplot.h"

#include <fmt/core.h>

#include "mfl/base/files.h"
#include "mfl/base/program.h"

namespace mfl {
namespace {

constexpr const char* kSaid = "gnuplot.said";

std::string last_line(std::string text) {
  const std::size_t end = text.find_last_not_of(" \t\n");
  if (end == std::string::npos) return "it said nothing";
  text.resize(end + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

}  // namespace

Result<void> run_gnuplot(const std::filesystem::path& folder, const std::string& script) {
  auto ended = run_program({"gnuplot", "--default-settings", script}, {folder, kSaid});
  if (!ended) {
    ended.error().hint =
        "install it (Debian: apt-get install gnuplot-nox) and see that it is on PATH and can be run";
    return tl::unexpected<Error>(std::move(ended).error());
  }
  if (*ended == 0) return {};
  return fail(ErrorCode::kRunFailed, fmt::format("gnuplot ended with exit code {}: {}", *ended,
                                                 last_line(read_file(folder / kSaid).value_or(""))));
}

Result<void> check_gnuplot() {
  MFL_TRY(const TempFolder folder, TempFolder::make());
  MFL_CHECK(write_file(folder.path() / "nothing.gp", ""));
  return run_gnuplot(folder.path(), "nothing.gp");
}

}  // namespace mfl
