#include "mfl/record/state_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>
#include <vector>

#include "mfl/base/files.h"

namespace mfl {

std::filesystem::path StateFiles::file(std::string_view run, std::uint64_t round) const {
  return folder_ / fmt::format("{}-{}", run, round);
}

std::filesystem::path StateFiles::model_file(std::string_view run) const {
  return folder_ / fmt::format("{}-model", run);
}

Result<void> StateFiles::write(std::string_view run, std::uint64_t round, std::string_view bytes) const {
  return write_to(file(run, round), bytes);
}

Result<void> StateFiles::write_model(std::string_view run, std::string_view bytes) const {
  return write_to(model_file(run), bytes);
}

Result<void> StateFiles::write_to(const std::filesystem::path& path, std::string_view bytes) const {
  std::error_code ignored;  // a problem with the folder shows when it is used
  if (!std::filesystem::exists(folder_, ignored)) {
    MFL_CHECK(make_folder(folder_));
    MFL_CHECK(sync_folder(std::filesystem::absolute(folder_, ignored).parent_path()));
  }
  MFL_CHECK(write_file(path, bytes));
  return sync_folder(folder_);
}

Result<std::string> StateFiles::read(std::string_view run, std::uint64_t round) const {
  return read_file(file(run, round));
}

Result<std::string> StateFiles::read_model(std::string_view run) const { return read_file(model_file(run)); }

std::vector<StateFiles::Name> StateFiles::list() const {
  std::vector<Name> out;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder_, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    const std::size_t dash = name.find('-');
    if (dash == std::string::npos) continue;
    Name found{name.substr(0, dash), 0};
    const char* const last = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + dash + 1, last, found.round);
    if (error == std::errc() && stop == last) out.push_back(std::move(found));
  }
  return out;
}

void StateFiles::remove_if(const std::function<bool(std::string_view name)>& goes) const {
  std::vector<std::filesystem::path> found;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder_, ignored), end; !ignored && entry != end;
       entry.increment(ignored))
    if (goes(entry->path().filename().string())) found.push_back(entry->path());
  for (const auto& path : found) std::filesystem::remove(path, ignored);
}

void StateFiles::keep_only(std::string_view run, std::span<const std::uint64_t> rounds,
                           bool with_model) const {
  std::vector<std::string> kept;
  if (with_model) kept.push_back(model_file(run).filename().string());
  for (const std::uint64_t round : rounds) kept.push_back(file(run, round).filename().string());
  const std::string start = fmt::format("{}-", run);
  remove_if([&](std::string_view name) {
    return name.starts_with(start) && std::ranges::find(kept, name) == kept.end();
  });
}

void StateFiles::remove(std::span<const std::string> runs) const {
  const std::unordered_set<std::string_view> gone(runs.begin(), runs.end());
  remove_if([&](std::string_view name) { return gone.contains(name.substr(0, name.find('-'))); });
}

}  // namespace mfl
