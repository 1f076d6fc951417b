// A State as bytes: the contents of a checkpoint.
//
// All numbers are little-endian. "MFLSTATE", u32 version, u32 bits of a number (32 or 64), u64 round, u64
// step, u32 count of vectors, for each: u32 length of the name, the name, u64 length, the numbers; then the
// best so far: u64 step, f64 training loss, u64 length, the numbers; in version 2 the vectors that nodes keep: u64 count of nodes,
// for each: u64 number, u32 count of vectors, for each: u64 length, the numbers; last the SHA-256 of all bytes before it.
// Version 1 is written where nodes keep nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/algorithm/node_states.h"
#include "mfl/algorithm/state.h"
#include "mfl/base/result.h"

namespace mfl {

inline constexpr std::uint32_t kCheckpointVersion = 2;

// T is float or double. Every bit of the state is kept, NaN payloads included.
template <class T>
std::string encode_state(const State<T>& state, const std::vector<KeptVectors<T>>& kept = {});
// Appends the same to `out`, which grows by encoded_size().
template <class T>
void append_state(std::string& out, const State<T>& state);
template <class T>
std::size_t encoded_size(const State<T>& state);

// Accepts any bytes. Errors are kRunFailed and say what is wrong; memory use is bounded by the size of the
// input.
template <class T>
struct Snapshot {
  State<T> state;
  std::vector<KeptVectors<T>> kept;
};
template <class T>
Result<Snapshot<T>> decode_snapshot(std::string_view bytes);
// The same of one in which nodes keep nothing.
template <class T>
Result<State<T>> decode_state(std::string_view bytes);

}  // namespace mfl
