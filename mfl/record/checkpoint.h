// A State as bytes: the contents of a checkpoint.
//
// All numbers are little-endian. "MFLSTATE", u32 version, u32 bits of a number (32 or 64), u64 round, u64
// step, u32 count of vectors, for each: u32 length of the name, the name, u64 length, the numbers; then the
// best so far: u64 step, f64 training loss, u64 length, the numbers; last the SHA-256 of all bytes
// before it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mfl/algorithm/state.h"
#include "mfl/base/result.h"

namespace mfl {

inline constexpr std::uint32_t kCheckpointVersion = 1;

// T is float or double. Every bit of the state is kept, NaN payloads included.
template <class T>
std::string encode_state(const State<T>& state);
// Appends the same to `out`, which grows by encoded_size().
template <class T>
void append_state(std::string& out, const State<T>& state);
template <class T>
std::size_t encoded_size(const State<T>& state);

// Accepts any bytes. Errors are kRunFailed and say what is wrong; memory use is bounded by the size of the
// input.
template <class T>
Result<State<T>> decode_state(std::string_view bytes);

}  // namespace mfl
