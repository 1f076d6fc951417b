#include "mfl/federation/state_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/record/state_files.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRestore = "restore the state folder from a backup";

Result<void> make_private_folder(const fs::path& folder) {
  constexpr mode_t kOwner = 0700;
  if (folder.has_parent_path()) MFL_CHECK(make_folder(folder.parent_path()));
  if (::mkdir(folder.c_str(), kOwner) == 0 || errno == EEXIST) {
    struct stat info = {};
    if (::stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
    errno = ENOTDIR;
  }
  return fail(ErrorCode::kRunFailed,
              fmt::format("cannot create the state folder {}: {}", folder.string(),
                          std::strerror(errno)),  // NOLINT(concurrency-mt-unsafe)
              "choose another folder with --state");
}

// Before SQLite sees the file: it would make a new store of an empty one.
Result<void> check_store_exists(const fs::path& store, const ProgressFile& progress) {
  std::error_code error;
  const auto size = fs::file_size(store, error);
  if (!error && size > 0) return {};
  const auto states = StateFiles(store).list();
  if (!progress.exists() && states.empty()) return {};
  const std::string what =
      progress.last()     ? fmt::format("round {} of run {} was committed ({})", progress.last()->round,
                                        progress.last()->run, progress.path().string())
      : progress.exists() ? fmt::format("{} says that a run was created", progress.path().string())
                          : fmt::format("States of run {} are in {}", states.front().run,
                                        StateFiles(store).folder().string());
  return fail(ErrorCode::kRunFailed,
              fmt::format("{} is {}, but {}", store.string(), error ? "missing" : "empty", what),
              fmt::format("{}; to start a new run, choose another folder with --state", kRestore));
}

void make_private_file(const fs::path& path) {
  constexpr mode_t kOwner = 0600;
  const int made = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwner);
  if (made >= 0) ::close(made);  // a failure shows when the store is opened
}

constexpr std::chrono::seconds kSilence{2};

std::function<bool(std::chrono::milliseconds)> store_waits(const StateFolderOptions& options) {
  const auto told = std::make_shared<bool>(false);
  return [told, waiting = options.waiting, stopped = options.stopped,
          folder = options.folder](std::chrono::milliseconds waited) {
    if (waited < kSilence) *told = false;
    if (waited >= kSilence && !std::exchange(*told, true) && waiting)
      waiting(fmt::format("another process has locked {}", (folder / "runs.db").string()));
    return !stopped || !stopped();
  };
}

}  // namespace

Result<StateFolder> StateFolder::open(StateFolderOptions options) {
  const fs::path path = options.folder / "runs.db";
  MFL_CHECK(make_private_folder(options.folder));
  MFL_TRY(FolderLock lock,
          FolderLock::acquire(options.folder, options.owner_patience, [&](const std::string& owner) {
            if (options.waiting)
              options.waiting(fmt::format("{} still serves {}", owner, options.folder.string()));
          }));
  MFL_TRY(ProgressFile progress, ProgressFile::open(options.folder / "progress"));
  MFL_CHECK(check_store_exists(path, progress));
  make_private_file(path);
  StoreOptions store_options;
  store_options.full_sync = true;
  store_options.busy_timeout = options.busy_timeout;
  store_options.waiting = store_waits(options);
  store_options.keep_checkpoints = options.keep_states;
  store_options.keep_log = true;
  MFL_TRY(Store store, Store::open(path, store_options));
  StateFolder folder(std::move(options), std::move(lock), std::move(progress), std::move(store));
  MFL_CHECK(folder.check());
  return folder;
}

Result<void> StateFolder::check() {
  MFL_CHECK(store_.check_structure());
  const bool accepts = options_.from_round.has_value();
  if (progress_.damaged() == 2 && !accepts)
    return fail(ErrorCode::kRunFailed,
                fmt::format("{} is damaged: whether {} has all rounds is unknown", progress_.path().string(),
                            store_.path().string()),
                "look at the run with mfl runs show, and pass --from-round R to continue from its round R");
  if (progress_.damaged() == 1)
    warnings_.push_back(fmt::format("{} was damaged and is written again", progress_.path().string()));
  MFL_TRY(const auto runs, store_.list());
  const auto find = [&](const std::string& id) { return std::ranges::find(runs, id, &RunRow::id); };
  if (const auto& last = progress_.last(); last && find(last->run) == runs.end())
    return fail(ErrorCode::kRunFailed,
                fmt::format("{} does not know run {}, whose round {} was committed ({}): it or its -wal file "
                            "is damaged or was replaced",
                            store_.path().string(), last->run, last->round, progress_.path().string()),
                fmt::format("{}; to start a new run, choose another folder with --state", kRestore));
  MFL_CHECK(check_states(runs));
  if (runs.empty() && accepts)
    return fail(
        ErrorCode::kBadConfig,
        fmt::format("--from-round {}: {} has no run yet", *options_.from_round, store_.path().string()),
        "leave it out to start a new run");
  if (runs.empty() || accepts) return {};
  if (const auto& last = progress_.last()) MFL_CHECK(check_run(*find(last->run)));
  return check_run(runs.front());
}

// That every State in the folder is of a run and a round that the store knows.
Result<void> StateFolder::check_states(const std::vector<RunRow>& runs) const {
  const StateFiles files(store_.path());
  std::map<std::string, std::uint64_t> newest;
  for (const auto& [run, round] : files.list()) newest[run] = std::max(newest[run], round);
  for (const auto& [id, round] : newest) {
    if (std::ranges::find(runs, id, &RunRow::id) == runs.end())
      return fail(
          ErrorCode::kRunFailed,
          fmt::format("{} has States of run {}, which {} does not know: the store is damaged or was replaced",
                      files.folder().string(), id, store_.path().string()),
          fmt::format("{}, or move those States away if the run was deleted", kRestore));
    MFL_TRY(const auto kept, store_.kept_rounds(id));
    const std::uint64_t known = kept.empty() ? 0 : kept.front();
    // A process that was killed may have written the State of one more round than it committed.
    if (round > known + 1 && !options_.from_round)
      return fail(ErrorCode::kRunFailed,
                  fmt::format("{} knows rounds of run {} up to {}, but the State of round {} is in {}: it or "
                              "its -wal file is damaged or was replaced",
                              store_.path().string(), id, known, round, files.folder().string()),
                  fmt::format("{}, or pass --from-round {}{} to continue from there", kRestore, known,
                              known == 0 ? " --drop-all-rounds" : ""));
  }
  return {};
}

// That the store has the State of the last round that is known from elsewhere.
Result<void> StateFolder::check_run(const RunRow& run) {
  MFL_TRY(const auto kept, store_.kept_rounds(run.id));
  const std::uint64_t known = kept.empty() ? 0 : kept.front();
  const std::string hint =
      kept.empty() ? fmt::format("{}, or choose another folder with --state", kRestore)
                   : fmt::format("{}, or pass --from-round {} to continue from there", kRestore, known);
  const auto& last = progress_.last();
  if (last && last->run == run.id && last->round > known)
    return fail(
        ErrorCode::kRunFailed,
        fmt::format("{} knows rounds up to {}, but round {} of run {} was committed ({}): it or its -wal "
                    "file is damaged or was replaced",
                    store_.path().string(), known, last->round, run.id, progress_.path().string()),
        hint);
  MFL_TRY(const auto rows, store_.rounds(run.id));
  if (!rows.empty() && rows.back().round > known)
    return fail(ErrorCode::kRunFailed,
                fmt::format("{} has round {} of run {}, but States only up to round {}: it is damaged or was "
                            "changed",
                            store_.path().string(), rows.back().round, run.id, known),
                hint);
  if (!last || last->run != run.id || last->digest.empty()) return {};
  MFL_TRY(const auto checkpoint, store_.checkpoint(run.id, last->round));
  if (!checkpoint || checkpoint->blob.ends_with(last->digest)) return {};
  return fail(
      ErrorCode::kRunFailed,
      fmt::format("{} has another State of round {} of run {} than was committed ({}): it was replaced",
                  store_.path().string(), last->round, run.id, progress_.path().string()),
      hint);
}

template <class T>
Result<std::optional<Resumption<T>>> StateFolder::resume(const std::string& run_id) {
  const auto& last = progress_.last();
  ResumeOptions options{options_.from_round, last && last->run == run_id ? last->round : 0, true,
                        options_.drop_all_rounds};
  MFL_TRY(Resumed<T> resumed, resume_rounds<T>(store_, run_id, options));
  if (!resumed.warning.empty()) warnings_.push_back(resumed.warning);
  return std::move(resumed.from);
}

Result<void> StateFolder::settle(const std::string& run_id) {
  constexpr std::size_t kDigest = 32;
  MFL_TRY(const auto kept, store_.kept_rounds(run_id));
  CommittedMark progress{run_id, kept.empty() ? 0 : kept.front(), ""};
  if (!kept.empty()) {
    MFL_TRY(const auto newest, store_.checkpoint(run_id, kept.front()));
    if (newest && newest->blob.size() >= kDigest)
      progress.digest = newest->blob.substr(newest->blob.size() - kDigest);
  }
  MFL_CHECK(progress_.reset(progress));
  run_id_ = run_id;
  store_.keep_log(false);
  return store_.fold_log();
}

Result<void> StateFolder::note(std::uint64_t round, std::string_view digest) {
  MFL_CHECK(store_.check_in_place());
  MFL_CHECK(lock_.check());
  return progress_.note({run_id_, round, std::string(digest)});
}

template Result<std::optional<Resumption<float>>> StateFolder::resume(const std::string&);
template Result<std::optional<Resumption<double>>> StateFolder::resume(const std::string&);

}  // namespace mfl
