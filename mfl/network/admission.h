// Which peers with a certificate of the authority may take part: lists that may change while the server runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/network/admission_list.h"

namespace mfl {

struct AdmissionFiles {
  std::filesystem::path allowed;  // nodes; empty: every certificate of the authority
  std::filesystem::path revoked;  // names or serial numbers of certificates; empty: none
};

// The lists as they were when refresh() last read them. An allow list that cannot be read admits nobody; a revocation list that
// cannot be read keeps its last contents. Before the first refresh() or check() an allow list admits nobody, and nobody is revoked.
// Only check() and refresh() touch the file system. Not thread-safe.
class Admission {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPause{200};

  explicit Admission(AdmissionFiles files);

  // Reads the files. kBadConfig when one cannot be read: for the start of a server.
  Result<void> check();

  // Reads the files that have changed, at most once in kPause; calls in between cost nothing. Gives version().
  std::uint64_t refresh(Clock::time_point now = Clock::now());

  // Grows whenever refusal(), admitted(), max_samples() or warnings() may give another answer than before.
  std::uint64_t version() const { return version_; }

  // Why this node may not take part; empty when it may.
  std::string refusal(const std::string& node, const std::string& serial) const;

  // The same in a word: "revoked", "not listed" or, when it may, nothing.
  std::string standing(const std::string& node, const std::string& serial) const;

  // The most samples that the node may claim; nothing without a limit in the allow list.
  std::optional<std::uint64_t> max_samples(const std::string& node) const;

  // How many entries of the allow list are not revoked, by name or by the serial number that `serials` has for the name; nothing
  // without an allow list.
  std::optional<std::size_t> admitted(const std::map<std::string, std::string>& serials) const;

  // The lines that are not used, and the files that cannot be read.
  std::vector<ListWarning> warnings() const;

 private:
  struct File {
    std::filesystem::path path;
    AdmissionList::Kind kind;
    AdmissionList list = {};
    std::string text = {};                         // of which the list was made
    std::filesystem::file_time_type time = {};     // of the file
    std::filesystem::file_time_type read_at = {};  // when it was read, by the same clock
    bool known = false;                            // the file was read before
    bool readable = false;                         // when it was last looked at
  };
  void look(File& file);
  static bool is_readable(File& file, bool& changed);

  File allowed_, revoked_;
  std::uint64_t version_ = 0;
  std::optional<Clock::time_point> looked_;
};

}  // namespace mfl
