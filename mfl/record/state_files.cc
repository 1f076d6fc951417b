#include "mfl/record/state_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "mfl/base/files.h"

namespace mfl {

std::filesystem::path StateFiles::file(std::string_view run, std::uint64_t round) const {
  return folder_ / fmt::format("{}-{}", run, round);
}

Result<void> StateFiles::write(std::string_view run, std::uint64_t round, std::string_view bytes) const {
  std::error_code ignored;  // what is wrong with the folder shows when it is used
  if (!std::filesystem::exists(folder_, ignored)) {
    MFL_CHECK(make_folder(folder_));
    MFL_CHECK(sync_folder(std::filesystem::absolute(folder_, ignored).parent_path()));
  }
  MFL_CHECK(write_file(file(run, round), bytes));
  return sync_folder(folder_);
}

Result<std::string> StateFiles::read(std::string_view run, std::uint64_t round) const {
  return read_file(file(run, round));
}

void StateFiles::keep_only(std::string_view run, std::span<const std::uint64_t> rounds) const {
  std::vector<std::filesystem::path> kept, found;
  for (const std::uint64_t round : rounds) kept.push_back(file(run, round));
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder_, ignored), end; !ignored && entry != end;
       entry.increment(ignored))
    if (entry->path().filename().string().starts_with(fmt::format("{}-", run)))
      found.push_back(entry->path());
  for (const auto& path : found)
    if (std::ranges::find(kept, path) == kept.end()) std::filesystem::remove(path, ignored);
}

}  // namespace mfl
