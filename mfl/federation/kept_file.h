// What a node of a federation keeps across rounds, in a file, so that it survives a restart of the node.
//
// The server says with every task which round last counted an update of this node. A node that has trained does not know yet whether that
// update counts, so it has what it kept when it was last counted, and what it would keep if the round it has worked on counts. A server that
// dies may lose the last round that it has committed (write_behind.h), and one that is told to goes back to any round whose State it has, so
// the node has as many versions as the server has States. A node that no round has counted starts from zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mfl/algorithm/node_states.h"
#include "mfl/base/result.h"

namespace mfl {

template <class T>
class KeptFile {
 public:
  // An empty path keeps everything in memory. `keep_states` is the server's. kBadData for a file that is damaged, or of another run, node
  // or precision.
  static Result<KeptFile> open(std::filesystem::path path, std::string run_id, std::string node,
                               std::size_t keep_states = 1);

  // What the node starts its next round from, given the round that last counted it; 0: none has. kRunFailed where the node has
  // no such version: its file was lost, is an older copy, or the server went back further than keep_states.
  Result<std::vector<KeptVectors<T>>> at(std::uint64_t counted_round);

  // After at(): the work on this round would leave these. Durable when it returns; only this user may read the file.
  Result<void> propose(std::uint64_t round, std::vector<KeptVectors<T>> vectors);

 private:
  struct Version {
    std::uint64_t round = 0;
    std::vector<KeptVectors<T>> vectors;
  };

  Result<void> read(const std::string& bytes);
  std::string bytes() const;

  std::filesystem::path path_;
  std::string run_id_, node_;
  std::size_t most_ = 3;           // versions
  std::vector<Version> versions_;  // by round; the last one may not count yet
};

}  // namespace mfl
