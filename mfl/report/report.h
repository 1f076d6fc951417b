// Page, figures and data of a report as one value, and its way to disk.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/report/folder.h"
#include "mfl/report/page.h"

namespace mfl {

struct Report {
  Page page;
  std::vector<std::pair<std::string, std::string>> files;  // further ones: name in the folder, bytes
};

// figures/NAME.svg, .png and, where there is one, .pdf.
Result<void> write_drawing(ReportFolder& folder, const std::string& name, const Drawing& drawing);

// Writes report.html, figures/NAME.svg, .png and .pdf for every figure of the page, and the files. The folder
// appears whole or not at all (ReportFolder). Gives its path.
Result<std::filesystem::path> write_report(const Report& report, const std::filesystem::path& target);

}  // namespace mfl
