#include <span>

#include "mfl/data/npy.h"
#include "mfl/data/npy_header.h"
#include "tests/fuzz/datasets.h"
#include "tests/fuzz/fuzz.h"

namespace mfl {
namespace {

const std::filesystem::path kX = "x.npy";
const std::filesystem::path kY = "y.npy";

template <class T>
std::string array(std::string_view type, const std::vector<std::size_t>& shape,
                  const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return make_npy_header(type, shape).append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string written_features(const Dataset& data) {
  const std::vector<std::size_t> shape = {data.rows, data.columns};
  if (const auto* bytes = std::get_if<DenseRows<std::uint8_t>>(&data.features))
    return array("|u1", shape, bytes->values);
  if (const auto* floats = std::get_if<DenseRows<float>>(&data.features))
    return array("<f4", shape, floats->values);
  return array("<f8", shape, std::get<DenseRows<double>>(data.features).values);
}

}  // namespace
}  // namespace mfl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mfl;
  const auto [x, y] = fuzz::two_files(fuzz::view(data, size));
  const auto set = parse_npy({x, kX}, {y, kY});
  if (!set) {
    fuzz::require_error(set.error());
    return 0;
  }
  fuzz::require_whole(*set);
  fuzz::require_same(*set,
                     parse_npy({written_features(*set), kX}, {array("<f8", {set->rows}, set->labels), kY}));
  return 0;
}
