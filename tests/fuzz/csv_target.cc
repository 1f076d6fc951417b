#include <fmt/format.h>

#include <array>

#include "mfl/data/csv.h"
#include "tests/fuzz/datasets.h"
#include "tests/fuzz/fuzz.h"

namespace mfl {
namespace {

const std::filesystem::path kName = "input.csv";

CsvOptions options(unsigned choice) {
  constexpr std::array kHeaders = {CsvHeader::kAuto, CsvHeader::kYes, CsvHeader::kNo};
  constexpr std::array kLabels = {"last", "0", "1", "b"};
  CsvOptions out = {kLabels[choice / kHeaders.size() % kLabels.size()], kHeaders[choice % kHeaders.size()]};
  switch (choice / (kHeaders.size() * kLabels.size()) % 5) {
    case 1: out.drop = {"0", "a"}; break;
    case 2: out.features = {"2", "0"}; break;
    case 3: out.separator = ';'; break;
    case 4: out.separator = '\t'; break;
    default: break;
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

std::string written(const Dataset& data) {
  const auto& values = std::get<DenseRows<double>>(data.features).values;
  std::string text;
  for (std::size_t row = 0; row < data.rows; ++row) {
    for (std::size_t column = 0; column < data.columns; ++column)
      text += fmt::format("{},", values[row * data.columns + column]);
    text += in_quotes(label_text(data, data.labels[row])) + '\n';
  }
  return text;
}

}  // namespace
}  // namespace mfl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mfl;
  const auto [choice, text] = fuzz::choice_and_rest(fuzz::view(data, size));
  const auto set = parse_csv({text, kName}, options(choice));
  if (!set) {
    fuzz::require_error(set.error());
    return 0;
  }
  fuzz::require_whole(*set);
  fuzz::require_same(*set, parse_csv({written(*set), kName}, {"last", CsvHeader::kNo}));
  return 0;
}
