// Who may take part, beyond having a certificate of the authority: lists that may change while the server runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "mfl/base/result.h"

namespace mfl {

struct AdmissionFiles {
  std::filesystem::path allowed;  // names of nodes; empty: every certificate of the authority
  std::filesystem::path revoked;  // names or serial numbers (hex) of certificates; empty: none
};

// One entry a line, '#' starts a comment. A file is read again when it has changed. An allow-list that cannot be read
// admits nobody; a revocation list that cannot be read keeps what it said. Not thread-safe.
class Admission {
 public:
  explicit Admission(AdmissionFiles files) : files_(std::move(files)) {}

  // Both files can be read: for the start of a server.
  Result<void> check();

  // Why this node may not take part; empty when it may.
  std::string refusal(const std::string& node, const std::string& serial);

  // Looks at the files. Grows whenever refusal() may answer otherwise than before.
  std::uint64_t version();

 private:
  struct List {
    std::set<std::string> entries;
    std::filesystem::file_time_type time;
    std::uintmax_t size = 0;
    bool known = false;     // entries, time and size are of a file that was read
    bool readable = false;  // when it was last looked at
  };
  // False when the file cannot be read.
  bool refresh(const std::filesystem::path& path, List& list);
  bool look(const std::filesystem::path& path, List& list);

  AdmissionFiles files_;
  std::uint64_t version_ = 0;
  List allowed_, revoked_;
};

}  // namespace mfl
