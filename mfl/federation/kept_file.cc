#include "mfl/federation/kept_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/record/checkpoint.h"

namespace mfl {
namespace {

// The file is a checkpoint (record/checkpoint.h) with a node for each version. Its State has empty vectors, whose names say the run, the node
// and the round of each version.
constexpr const char *kRun = "run", *kNode = "node", *kVersion = "round ";
constexpr const char* kHint =
    "give the node the file that it had then, or start the server with --from-round 0 to repeat the run";

}  // namespace

template <class T>
Result<KeptFile<T>> KeptFile<T>::open(std::filesystem::path path, std::string run_id, std::string node,
                                      std::size_t keep_states) {
  KeptFile file;
  file.path_ = std::move(path);
  file.run_id_ = std::move(run_id);
  file.node_ = std::move(node);
  file.most_ = keep_states + 2;  // a round that the server may lose, and the one in progress
  if (file.path_.empty() || !std::filesystem::exists(file.path_)) return file;
  MFL_TRY(const std::string bytes, read_file(file.path_));
  if (auto taken = file.read(bytes); !taken)
    return fail(ErrorCode::kBadData, fmt::format("{}: {}", file.path_.string(), taken.error().message),
                kHint);
  return file;
}

template <class T>
Result<std::vector<KeptVectors<T>>> KeptFile<T>::at(std::uint64_t counted_round) {
  const auto found = std::ranges::find(versions_, counted_round, &Version::round);
  if (found == versions_.end() && counted_round != 0)
    return fail(ErrorCode::kRunFailed,
                fmt::format("the server has counted this node in round {}, and what the node kept is of {}",
                            counted_round,
                            versions_.empty() ? "no round"
                                              : fmt::format("rounds {} to {}", versions_.front().round,
                                                            versions_.back().round)),
                kHint);
  std::erase_if(versions_, [&](const Version& version) { return version.round > counted_round; });
  return counted_round == 0 ? std::vector<KeptVectors<T>>{} : versions_.back().vectors;
}

template <class T>
Result<void> KeptFile<T>::propose(std::uint64_t round, std::vector<KeptVectors<T>> vectors) {
  std::erase_if(versions_, [&](const Version& version) { return version.round >= round; });
  versions_.push_back({round, std::move(vectors)});
  if (versions_.size() > most_)
    versions_.erase(versions_.begin(), versions_.end() - static_cast<std::ptrdiff_t>(most_));
  return path_.empty() ? Result<void>{} : write_file(path_, bytes(), Readers::kOwner);
}

template <class T>
std::string KeptFile<T>::bytes() const {
  State<T> state;
  state.vectors = {{fmt::format("{} {}", kRun, run_id_), {}}, {fmt::format("{} {}", kNode, node_), {}}};
  std::vector<KeptVectors<T>> kept;
  for (const Version& version : versions_) {
    state.vectors.push_back({fmt::format("{}{}", kVersion, version.round), {}});
    KeptVectors<T>& to = kept.emplace_back();
    to.node = kept.size() - 1;
    if (!version.vectors.empty()) to.vectors = version.vectors.front().vectors;
  }
  return encode_state(state, kept);
}

template <class T>
Result<void> KeptFile<T>::read(const std::string& bytes) {
  MFL_TRY(Snapshot<T> snapshot, decode_snapshot<T>(bytes));
  const auto& names = snapshot.state.vectors;
  constexpr std::size_t kOwners = 2;
  const auto foreign = [] { return fail(ErrorCode::kBadData, "not what a node keeps"); };
  if (names.size() != kOwners + snapshot.kept.size()) return foreign();
  for (const auto& [found, expected] : {std::pair{names[0].name, fmt::format("{} {}", kRun, run_id_)},
                                        std::pair{names[1].name, fmt::format("{} {}", kNode, node_)}})
    if (found != expected)
      return fail(ErrorCode::kBadData, fmt::format("the file belongs to {}, expected {}", found, expected));
  for (std::size_t i = 0; i < snapshot.kept.size(); ++i) {
    const std::string& name = names[kOwners + i].name;
    const char* const last = name.data() + name.size();
    std::uint64_t round = 0;
    if (!name.starts_with(kVersion) ||
        std::from_chars(last - (name.size() - std::string_view(kVersion).size()), last, round).ptr != last)
      return foreign();
    versions_.push_back({round, {{0, std::move(snapshot.kept[i].vectors)}}});
  }
  return {};
}

template class KeptFile<float>;
template class KeptFile<double>;

}  // namespace mfl
