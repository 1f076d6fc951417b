#include "mfl/report/report.h"

#include <variant>

#include "mfl/report/folder.h"

namespace mfl {

Result<std::filesystem::path> write_report(const Report& report, const std::filesystem::path& target) {
  MFL_TRY(ReportFolder folder, ReportFolder::make(target));
  MFL_CHECK(folder.write("report.html", page_html(report.page)));
  for (const PageSection& section : report.page.sections)
    for (const PageBlock& block : section.blocks) {
      const auto* figures = std::get_if<PageFigures>(&block);
      if (figures == nullptr) continue;
      for (const PageFigure& figure : *figures) {
        MFL_CHECK(folder.write("figures/" + figure.name + ".svg", figure.drawing.svg));
        MFL_CHECK(folder.write("figures/" + figure.name + ".png", figure.drawing.png));
      }
    }
  for (const auto& [name, bytes] : report.files) MFL_CHECK(folder.write(name, bytes));
  MFL_CHECK(folder.publish());
  return folder.target();
}

}  // namespace mfl
