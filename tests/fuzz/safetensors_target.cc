#include <string>

#include "mfl/data/safetensors.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mfl;
  const std::string_view bytes = fuzz::view(data, size);
  const auto read = parse_safetensors(bytes);
  if (!read) {
    fuzz::require(!read.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  std::size_t numbers = 0;
  for (const StoredTensor& tensor : *read) {
    numbers += tensor.bytes.size();
    fuzz::require(tensor.bytes.empty() || (tensor.bytes.data() >= bytes.data() &&
                                           tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + size),
                  "tensors are within the file");
  }
  fuzz::require(numbers < size, "tensors do not overlap");
  return 0;
}
