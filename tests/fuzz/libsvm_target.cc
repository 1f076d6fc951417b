#include <fmt/format.h>

#include "mfl/data/libsvm.h"
#include "tests/fuzz/datasets.h"
#include "tests/fuzz/fuzz.h"

namespace mfl {
namespace {

const std::filesystem::path kName = "input.libsvm";

std::string written(const Dataset& data) {
  const auto& rows = std::get<SparseRows<double>>(data.features);
  std::string text;
  for (std::size_t row = 0; row < data.rows; ++row) {
    text += fmt::format("{}", data.labels[row]);
    for (std::uint64_t i = rows.starts[row]; i < rows.starts[row + 1]; ++i)
      text += fmt::format(" {}:{}", std::uint64_t{rows.columns[i]} + 1, rows.values[i]);
    text += '\n';
  }
  return text;
}

}  // namespace
}  // namespace mfl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mfl;
  const auto [choice, text] = fuzz::choice_and_rest(fuzz::view(data, size));
  const auto set =
      parse_libsvm({text, kName}, choice % 2 == 0 ? std::nullopt : std::optional<std::size_t>(4));
  if (!set) {
    fuzz::require_error(set.error());
    return 0;
  }
  fuzz::require_whole(*set);
  fuzz::require_same(*set, parse_libsvm({written(*set), kName}, set->columns));
  return 0;
}
