// The first byte says which of the two files are taken as they are; the others are compressed first, so that mutated content
// passes gzip's checksum.
#include "tests/fuzz/datasets.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/gzip.h"
#include "tests/fuzz/idx_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mfl;
  const auto [choice, rest] = fuzz::choice_and_rest(fuzz::view(data, size));
  const auto [images, labels] = fuzz::two_files(rest);
  const auto set = fuzz::parse_pair((choice & 1U) != 0 ? std::string(images) : fuzz::gzip(images),
                                    (choice & 2U) != 0 ? std::string(labels) : fuzz::gzip(labels));
  if (!set) {
    fuzz::require_error(set.error());
    return 0;
  }
  fuzz::require_whole(*set);
  fuzz::require_same(
      *set, fuzz::parse_pair(fuzz::gzip(fuzz::written_images(*set)), fuzz::gzip(fuzz::written_labels(*set))));
  return 0;
}
