// Which peers with a certificate of the authority may take part: lists that may change while the server runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "mfl/base/result.h"

namespace mfl {

struct AdmissionFiles {
  std::filesystem::path allowed;  // names of nodes; empty: every certificate of the authority
  std::filesystem::path revoked;  // names or serial numbers (hex) of certificates; empty: none
};

// The words of a list in lower case: one entry per line, '#' starts a comment.
std::set<std::string> list_entries(const std::string& text);
std::string lower_case(std::string text);

// A file is read again when it has changed. Names are compared without regard to case. An allow list that cannot be read
// admits nobody; a revocation list that cannot be read keeps its last contents. Not thread-safe.
class Admission {
 public:
  explicit Admission(AdmissionFiles files) : files_(std::move(files)) {}

  // kBadConfig when a file cannot be read: for the start of a server.
  Result<void> check();

  // Why this node may not take part; empty when it may.
  std::string refusal(const std::string& node, const std::string& serial);

  // How many names of the allow list are not revoked, by name or by the serial number that `serials` has for the name, as the
  // files were when they were last read; nothing without an allow list.
  std::optional<std::size_t> admitted(const std::map<std::string, std::string>& serials) const;

  // Looks at the files. Grows whenever refusal() may give another answer than before.
  std::uint64_t version();

 private:
  struct List {
    std::set<std::string> entries;
    std::filesystem::file_time_type time;
    std::uintmax_t size = 0;
    bool known = false;     // entries, time and size are of a file that was read
    bool readable = false;  // when it was last looked at
  };
  bool is_revoked(const std::string& node, const std::string& serial) const;
  // False when the file cannot be read.
  bool refresh(const std::filesystem::path& path, List& list);
  bool look(const std::filesystem::path& path, List& list);

  AdmissionFiles files_;
  std::uint64_t version_ = 0;
  List allowed_, revoked_;
};

}  // namespace mfl
