// A folder of results that appears whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "mfl/base/files.h"
#include "mfl/base/result.h"

namespace mfl {

// Files are gathered in a hidden folder beside the target, which is renamed into place at the end. Without
// publish() nothing stays. Not thread-safe.
class ReportFolder {
 public:
  // Makes the target's parents. The target may be missing, an empty folder, or an earlier report, which
  // publish() replaces; anything else is refused (kBadConfig), so that no file of the user's is lost. An
  // unwritable place is kRunFailed.
  static Result<ReportFolder> make(const std::filesystem::path& target);

  // `name` is relative; its folders are made.
  Result<void> write(const std::filesystem::path& name, std::string_view bytes);

  // Puts the folder in its place, in one step where the file system can.
  Result<void> publish();

  const std::filesystem::path& target() const { return target_; }

 private:
  ReportFolder(std::filesystem::path target, TempFolder beside);
  std::filesystem::path target_;
  TempFolder beside_;
  std::filesystem::path gathered_;
};

}  // namespace mfl
