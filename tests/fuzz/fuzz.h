// Shared by the fuzz targets. A target is a function that takes any bytes, passes them to a decoder and checks the
// result; libFuzzer drives it (scripts/fuzz.sh), and replay.cc feeds it the corpus in the ordinary tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

// Takes any bytes. 0: the input may be kept in a corpus.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace mfl::fuzz {

inline std::string_view view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Aborts the process with a message if a promise is broken: a finding.
void require(bool holds, std::string_view promise);

// What the process has allocated and not freed, in bytes; 0 where no address sanitizer counts it.
std::size_t allocated_bytes();

// The first byte, which selects a way to decode, and the rest. 0 if the input is empty.
std::pair<unsigned, std::string_view> choice_and_rest(std::string_view input);

// Two files in one input: two bytes, little-endian, are the length of the first.
std::pair<std::string_view, std::string_view> two_files(std::string_view input);

}  // namespace mfl::fuzz
