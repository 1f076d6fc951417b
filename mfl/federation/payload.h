// The vectors of a State as one string of little-endian numbers, as they are sent.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/algorithm/state.h"

namespace mfl {

template <class T>
std::string to_payload(const std::vector<NamedVector<T>>& vectors);
template <class T>
std::string to_payload(const std::vector<Vector<T>>& vectors);

// `count` vectors of `columns` numbers. payload.size() == count * columns * sizeof(T).
template <class T>
std::vector<Vector<T>> from_payload(std::string_view payload, std::size_t count, std::size_t columns);

}  // namespace mfl
