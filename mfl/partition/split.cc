#include "mfl/partition/split.h"

#include <fmt/core.h>

#include "mfl/base/files.h"
#include "mfl/data/npy.h"

namespace mfl {
namespace fs = std::filesystem;

Result<void> split_to_folders(const Dataset& data, const Partition& partition, const fs::path& out,
                              bool own_data) {
  std::error_code error;
  fs::path target = fs::absolute(out, error).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // a trailing slash
  if (fs::exists(target, error) && !(fs::is_directory(target, error) && fs::is_empty(target, error)))
    return fail(ErrorCode::kBadConfig, fmt::format("{} exists and is not an empty folder", target.string()),
                "name a new folder, or remove it first");
  MFL_CHECK(make_folder(target.parent_path()));
  MFL_TRY(const TempFolder beside, TempFolder::make(target.parent_path()));
  for (std::size_t i = 0; i < partition.nodes(); ++i)
    MFL_CHECK(write_npy_folder(beside.path() / fmt::format("node-{:04}", i),
                               take_rows(data, partition.node(i)), own_data));
  error.clear();
  fs::permissions(beside.path(), fs::perms(0755), error);
  if (!error) fs::rename(beside.path(), target, error);
  if (error)
    return fail(ErrorCode::kRunFailed,
                fmt::format("cannot put {} in place: {}", target.string(), error.message()),
                "check that its parent is writable and has space");
  return {};
}

}  // namespace mfl
