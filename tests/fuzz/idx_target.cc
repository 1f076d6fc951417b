#include "tests/fuzz/datasets.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/idx_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mfl;
  const auto [images, labels] = fuzz::two_files(fuzz::view(data, size));
  const auto set = fuzz::parse_pair(images, labels);
  if (!set) {
    fuzz::require_error(set.error());
    return 0;
  }
  fuzz::require_whole(*set);
  fuzz::require_same(*set, fuzz::parse_pair(fuzz::written_images(*set), fuzz::written_labels(*set)));
  return 0;
}
