// Rows of a test as the kernels read them.
#pragma once

#include "mfl/base/kernels/kernels.h"

namespace mfl::testing {

// `rows` has the same rows as bytes, as values, and as entries with positions and starts.
template <class T, class Rows>
RowBlock<T> row_block(const Rows& rows, RowKind kind, bool with_chunks) {
  return {kind,
          rows.rows,
          rows.columns,
          static_cast<T>(1.0 / 255),
          rows.bytes.data(),
          kind == RowKind::kSparse ? rows.entries.data() : rows.values.data(),
          with_chunks ? rows.chunks.data() : nullptr,
          rows.starts.data(),
          rows.positions.data(),
          nullptr};
}

}  // namespace mfl::testing
