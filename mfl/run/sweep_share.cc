#include "mfl/run/sweep_share.h"

#include <fmt/core.h>

#include <utility>

#include "mfl/base/files.h"
#include "mfl/base/message.h"
#include "mfl/base/version.h"
#include "mfl/engine/assign_nodes.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStoreName = "runs.db";
constexpr std::string_view kFolderMark = ".rank-";

std::string owner_name(const Owner& owner) {
  return fmt::format("{}-{}-{}", owner.host, owner.pid, owner.start);
}

// The files of a folder and those below it, as bytes for another process.
Result<std::string> pack(const fs::path& folder) {
  MessageWriter out;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_regular_file(error)) continue;
    MFL_TRY(const std::string bytes, read_file(at->path()));
    out.put_text(at->path().lexically_relative(folder).string());
    out.put_text(bytes);
  }
  if (error)
    return fail(ErrorCode::kRunFailed, fmt::format("cannot read {}: {}", folder.string(), error.message()));
  return out.bytes();
}

Result<void> unpack(std::string_view bytes, const fs::path& folder) {
  MessageReader in(bytes);
  while (!in.at_end()) {
    const fs::path path = folder / in.take_text();
    MFL_CHECK(make_folder(path.parent_path()));
    MFL_CHECK(write_file(path, in.take_text()));
  }
  return {};
}

// Those runs of the store, as a packed folder.
Result<std::string> pack_runs(const Store& store, const std::set<std::string>& config_digests) {
  MFL_TRY(const auto rows, store.list());
  std::vector<std::string> ids;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)
    if (row->mfl_version == version() && config_digests.contains(row->config_digest) &&
        (row->status == RunStatus::kDone || is_unfinished(*row)))
      ids.push_back(row->id);
  MFL_TRY(const TempFolder folder, TempFolder::make(store.path().parent_path()));
  {
    MFL_TRY(Store copy, Store::open(folder.path() / kStoreName));
    MFL_CHECK(copy.take_over(store.path(), ids));
  }
  return pack(folder.path());
}

bool owner_computes(const RunRow& run) { return run.status == RunStatus::kRunning && owner_alive(run); }

// The runs that a process computed in its folder, which also has copies of runs that others own. A run that somebody has ended since,
// or computes now, stays as it is.
Result<void> take_over(Store& store, const fs::path& folder, std::string_view owner) {
  const fs::path path = folder / kStoreName;
  MFL_TRY(const Store source, Store::open(path, {.read_only = true}));
  MFL_TRY(const auto rows, source.list());
  MFL_TRY(const auto present, store.list());
  std::set<std::string> settled;
  for (const RunRow& row : present)
    if (row.status == RunStatus::kDone || row.status == RunStatus::kDiverged || owner_computes(row))
      settled.insert(row.id);
  std::vector<std::string> ids;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)
    if (owner_name(row->owner) == owner && !settled.contains(row->id)) ids.push_back(row->id);
  MFL_CHECK(store.take_over(path, ids));
  for (const RunRow& row : rows)
    if (row.status == RunStatus::kRunning && owner_name(row.owner) == owner && !settled.contains(row.id))
      MFL_CHECK(store.set_status(row.id, RunStatus::kFailed, "the process that computed it was killed"));
  return {};
}

// The store first: what is left of a folder without it is never read again.
Result<void> remove_folder(const fs::path& folder) {
  std::error_code error;
  fs::remove(folder / kStoreName, error);
  if (!error) fs::remove_all(folder, error);
  if (!error) return {};
  return fail(ErrorCode::kRunFailed, fmt::format("cannot delete {}: {}", folder.string(), error.message()),
              "delete it: its runs are in the store");
}

// A folder whose process lives is locked; one without a store has nothing yet.
Result<void> take_over_abandoned(Store& store) {
  const std::string mark = store.path().filename().string() + std::string(kFolderMark);
  std::error_code error;
  for (fs::directory_iterator at(store.path().parent_path(), error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code unseen;
    if (!name.starts_with(mark) || !fs::exists(at->path() / kStoreName, unseen)) continue;
    const auto lock = FolderLock::acquire(at->path(), std::chrono::milliseconds(0));
    if (!lock) continue;
    if (const auto taken = take_over(store, at->path(), name.substr(mark.size())); !taken)
      return fail_because(taken.error(),
                          fmt::format("cannot take over the runs in {}, which a killed process "
                                      "left; repair or delete it",
                                      at->path().string()));
    MFL_CHECK(remove_folder(at->path()));
  }
  return {};
}

std::string report_bytes(std::span<const RecordedSetting> settings, std::string_view packed) {
  MessageWriter out;
  out.put_text(owner_name(this_process()));
  out.put_text(packed);
  for (const RecordedSetting& setting : settings) {
    out.put(setting.index);
    out.put_text(setting.id);
    out.put(setting.reused);
  }
  return out.bytes();
}

}  // namespace

Result<SweepShare> SweepShare::open(const fs::path& store, const std::set<std::string>& known, Ranks& where) {
  SweepShare share(fs::absolute(store), where);
  MFL_TRY(const std::string packed, where.from_first([&]() -> Result<std::string> {
    MFL_TRY(Store opened, Store::open(share.store_));
    MFL_CHECK(take_over_abandoned(opened));
    return known.empty() || where.size() == 1 ? std::string() : pack_runs(opened, known);
  }));
  MFL_CHECK(where.agree(share.open_own(packed)));
  return share;
}

Result<void> SweepShare::open_own(const std::string& known) {
  fs::path path = store_;
  if (!ranks_->first()) {
    folder_ = store_.string() + std::string(kFolderMark) + owner_name(this_process());
    MFL_CHECK(make_folder(folder_));
    MFL_TRY(FolderLock lock, FolderLock::acquire(folder_, std::chrono::milliseconds(0)));
    lock_.emplace(std::move(lock));
    MFL_CHECK(unpack(known, folder_));
    path = folder_ / kStoreName;
  }
  MFL_TRY(recorder_, store_recorder(path));
  return {};
}

std::pair<std::size_t, std::size_t> SweepShare::range(std::span<const std::size_t> steps) const {
  const std::vector<std::size_t> starts = assign_nodes(steps, ranks_->size());
  return {starts[ranks_->rank()], starts[ranks_->rank() + 1]};
}

Result<std::vector<RecordedSetting>> SweepShare::collect(std::vector<RecordedSetting> mine) {
  if (ranks_->size() == 1) return mine;
  if (ranks_->first()) {
    MFL_CHECK(take_reports(ranks_->gather_at_first({}), mine));
  } else {
    recorder_.reset();  // so that everything is in the files
    MFL_TRY(const std::string packed, pack(folder_));
    ranks_->gather_at_first(report_bytes(mine, packed));
  }
  std::string taken;
  ranks_->share(taken);  // before that the folders must stay
  if (ranks_->first()) return mine;
  MFL_CHECK(remove_folder(folder_));
  return std::vector<RecordedSetting>{};
}

Result<void> SweepShare::take_reports(std::span<const std::string> reports,
                                      std::vector<RecordedSetting>& settings) const {
  MFL_TRY(Store store, Store::open(store_));
  for (const std::string& report : reports.subspan(1)) {
    MessageReader in(report);
    const std::string owner = in.take_text(), packed = in.take_text();
    while (!in.at_end()) {
      const auto index = in.take<std::size_t>();
      std::string id = in.take_text();
      settings.push_back({.index = index, .id = std::move(id), .reused = in.take<bool>()});
    }
    MFL_TRY(const TempFolder folder, TempFolder::make(store_.parent_path()));
    MFL_CHECK(unpack(packed, folder.path()));
    MFL_CHECK(take_over(store, folder.path(), owner));
  }
  return {};
}

}  // namespace mfl
