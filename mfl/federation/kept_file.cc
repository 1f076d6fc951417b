#include "mfl/federation/kept_file.h"

#include <fmt/core.h>

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/record/checkpoint.h"

namespace mfl {
namespace {

// The file is a checkpoint (record/checkpoint.h). Its State has three empty vectors, whose names say the run, the node and the round before.
constexpr const char *kRun = "run", *kNode = "node", *kBefore = "before";
constexpr const char* kHint = "give the node the file that it had, or start the run again";

}  // namespace

template <class T>
Result<KeptFile<T>> KeptFile<T>::open(std::filesystem::path path, std::string run_id, std::string node) {
  KeptFile file;
  file.path_ = std::move(path);
  file.run_id_ = std::move(run_id);
  file.node_ = std::move(node);
  if (file.path_.empty() || !std::filesystem::exists(file.path_)) return file;
  MFL_TRY(const std::string bytes, read_file(file.path_));
  if (auto taken = file.read(bytes); !taken)
    return fail(ErrorCode::kBadData, fmt::format("{}: {}", file.path_.string(), taken.error().message),
                kHint);
  return file;
}

template <class T>
Result<std::vector<KeptVectors<T>>> KeptFile<T>::at(std::uint64_t counted_round) {
  if (counted_round == 0) counted_ = before_ = latest_ = {};  // the run has begun, or begun again
  if (latest_.round != 0 && latest_.round == counted_round) {
    before_ = std::exchange(counted_, std::exchange(latest_, {}));
  } else if (counted_.round != counted_round && before_.round == counted_round) {
    counted_ = std::exchange(before_, {});
    latest_ = {};
  }
  if (counted_.round == counted_round) return counted_.vectors;
  return fail(
      ErrorCode::kRunFailed,
      fmt::format("the server has counted this node in round {}, and what the node kept is of round {}",
                  counted_round, counted_.round),
      kHint);
}

template <class T>
Result<void> KeptFile<T>::propose(std::uint64_t round, std::vector<KeptVectors<T>> vectors) {
  latest_ = {round, std::move(vectors)};
  return path_.empty() ? Result<void>{} : write_file(path_, bytes());
}

template <class T>
std::string KeptFile<T>::bytes() const {
  // Three nodes of a checkpoint: 0 is the version that was counted, 1 the latest, 2 the one before. The step says whether there is a latest.
  State<T> state;
  state.round = counted_.round;
  state.step = latest_.round;
  state.vectors = {{fmt::format("{} {}", kRun, run_id_), {}},
                   {fmt::format("{} {}", kNode, node_), {}},
                   {fmt::format("{} {}", kBefore, before_.round), {}}};
  std::vector<KeptVectors<T>> kept;
  for (const Version* version : {&counted_, &latest_, &before_}) {
    KeptVectors<T>& to = kept.emplace_back();
    to.node = kept.size() - 1;
    if (!version->vectors.empty()) to.vectors = version->vectors.front().vectors;
  }
  return encode_state(state, kept);
}

template <class T>
Result<void> KeptFile<T>::read(const std::string& bytes) {
  MFL_TRY(Snapshot<T> snapshot, decode_snapshot<T>(bytes));
  const auto& names = snapshot.state.vectors;
  constexpr std::size_t kVersions = 3;
  if (names.size() != kVersions || snapshot.kept.size() != kVersions)
    return fail(ErrorCode::kBadData, "not what a node keeps");
  for (const auto& [found, expected] : {std::pair{names[0].name, fmt::format("{} {}", kRun, run_id_)},
                                        std::pair{names[1].name, fmt::format("{} {}", kNode, node_)}})
    if (found != expected)
      return fail(ErrorCode::kBadData, fmt::format("it is of {}, and this is {}", found, expected));
  const auto version = [&](std::uint64_t round, std::size_t i) {
    Version out{round, {}};
    if (round != 0) out.vectors = {{0, std::move(snapshot.kept[i].vectors)}};
    return out;
  };
  counted_ = version(snapshot.state.round, 0);
  latest_ = version(snapshot.state.step, 1);
  const std::string_view before = names[2].name;
  const std::size_t number = std::string_view(kBefore).size() + 1;
  std::uint64_t round = 0;
  if (before.size() <= number ||
      std::from_chars(before.data() + number, before.data() + before.size(), round).ec != std::errc{})
    return fail(ErrorCode::kBadData, "not what a node keeps");
  before_ = version(round, 2);
  return {};
}

template class KeptFile<float>;
template class KeptFile<double>;

}  // namespace mfl
