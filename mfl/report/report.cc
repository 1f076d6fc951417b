#include "mfl/report/report.h"

#include <variant>

namespace mfl {

Result<void> write_drawing(ReportFolder& folder, const std::string& name, const Drawing& drawing) {
  const std::string file = "figures/" + name;
  MFL_CHECK(folder.write(file + ".svg", drawing.svg));
  MFL_CHECK(folder.write(file + ".png", drawing.png));
  if (drawing.pdf.empty()) return {};
  return folder.write(file + ".pdf", drawing.pdf);
}

Result<std::filesystem::path> write_report(const Report& report, const std::filesystem::path& target) {
  MFL_TRY(ReportFolder folder, ReportFolder::make(target));
  MFL_CHECK(folder.write("report.html", page_html(report.page)));
  for (const PageSection& section : report.page.sections)
    for (const PageBlock& block : section.blocks) {
      const auto* figures = std::get_if<PageFigures>(&block);
      if (figures == nullptr) continue;
      for (const PageFigure& figure : *figures) MFL_CHECK(write_drawing(folder, figure.name, figure.drawing));
    }
  for (const auto& [name, bytes] : report.files) MFL_CHECK(folder.write(name, bytes));
  MFL_CHECK(folder.publish());
  return folder.target();
}

}  // namespace mfl
