// The arithmetic that training spends its time in, written once for every vector width.
//
// The shape of every sum is fixed, so each kernel set gives the same bits:
//   margin      z_r = scale * tree(acc),  acc[j mod L] = fma(x_rj, w_j, acc[j mod L]) for ascending j,
//               L = 16 virtual lanes for f32 and 8 for f64; tree adds the upper half of the lanes to the lower
//               half until one is left.
//   gradient    g_j = fma(c_r, x_rj, g_j) for ascending r inside a block of rows.
//   losses      summed in f64, eight rows at a time, for ascending r inside a block of rows.
// A zero feature or a zero coefficient adds exactly nothing, so it may be skipped: sparse and dense rows of the
// same numbers give the same bits. Blocks of kRowBlock rows are added in their order by the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mfl {

inline constexpr std::size_t kRowBlock = 256;

// The loss of a sample as a function of its margin z and target y.
enum class Loss {
  kHinge,         // max(0, 1 - y z) / 2
  kSquaredHinge,  // max(0, 1 - y z)^2 / 2
  kSquared,       // (y - z)^2 / 2
  kLogistic,      // softplus(z) - y z
};

enum class RowKind { kBytes, kDense, kSparse };

// Columns are looked at in chunks: a chunk of a row that is zero throughout can be passed over.
inline constexpr std::size_t kChunk = 16;
// Words of 64 chunks that cover the whole chunks of a row; a rest of fewer than kChunk columns has no bit.
constexpr std::size_t chunk_words(std::size_t columns) { return (columns / kChunk + 63) / 64; }

// Settings that one pass over the rows serves at most.
inline constexpr std::size_t kMaxBatch = 32;
// Packed weights stand in groups of settings that a first-level cache holds, the last group perhaps smaller. A group is
// chunk-major: kChunk numbers of each of its settings, then the next chunk, the last one filled with zeros.
template <class T>
inline constexpr std::size_t kPackedGroup = 32 / sizeof(T);
constexpr std::size_t padded_columns(std::size_t columns) { return (columns + kChunk - 1) / kChunk * kChunk; }
constexpr std::size_t packed_size(std::size_t columns, std::size_t settings) {
  return padded_columns(columns) * settings;
}

// Consecutive rows of a data set, in the form kernels read. A value is scale * stored number.
template <class T>
struct RowBlock {
  RowKind kind = RowKind::kDense;
  std::size_t rows = 0;
  std::size_t columns = 0;
  T scale = 1;
  const std::uint8_t* bytes = nullptr;  // kBytes: rows x columns
  const T* values = nullptr;            // kDense: rows x columns; kSparse: entries, indexed by starts
  const std::uint64_t* chunks =
      nullptr;  // rows x chunk_words(columns): a bit for each chunk that is not all zero;
                // null when not known. Not for kSparse
  const std::uint64_t* starts = nullptr;     // kSparse: rows + 1 positions
  const std::uint32_t* positions = nullptr;  // kSparse: the column of each entry, ascending in a row
  const float* lengths = nullptr;  // a Euclidean length for each row that is not below its own; for HingeSums
};

// What the gradient of the hinge on bytes is made of, for a row block and a setting. With targets of +1 and -1 every
// coefficient is 0, 1/2 or -1/2, so over kMostHingeRows rows or fewer every partial sum of the multiply-add chain, and of
// the blocks after it, is exact: a sum of integers, added up in any order and in any parts, has the same bits. A pass need
// only add or take away the rows that changed sides since the last one. And a row cannot have changed sides before w
// travelled as far as the row is from the hinge, so most rows need not even be looked at.
struct HingeSums {
  std::uint32_t* active;  // a bit for each row: whether it counts; zero at first
  std::int32_t*
      twice_gradient;  // a number for each column: the sum of -y_r * (stored row r) over the rows that count,
                       // of this block and others; zero at first
  float* reach;        // for each row: w that travelled less has it on the same side; -1 at first
  double travelled;    // the length of the way of w so far, or more
};
inline constexpr std::size_t kActiveWords = kRowBlock / 32;
// Half the sum of so many bytes is exact in T, and the sum an int32_t.
template <class T>
inline constexpr std::size_t kMostHingeRows = sizeof(T) == sizeof(float) ? (1U << 24) / 255
                                                                         : (1U << 31) / 256;

// Sizes of numbers, signs left out.
template <class T>
struct Extent {
  T least;  // that is not zero; infinity where all are
  T most;   // infinity or NaN where one of them is
};

template <class T>
struct Kernels {
  // Writes the margins of all rows.
  void (*margins)(const RowBlock<T>& block, const T* w, double* z);
  // Sum of the losses of n samples; coefficients[i] = d loss / d z unless null.
  double (*losses)(Loss loss, std::size_t n, const double* z, const T* y, T* coefficients);
  // Brings several weight vectors into the order in which a pass reads them: packed_size(columns, settings) numbers.
  void (*pack)(std::size_t columns, std::size_t settings, const T* const* w, T* packed);
  // One pass over the block for `settings` <= kMaxBatch weight vectors, packed, or the vector itself when it is one:
  // writes the sum of the losses of each, and adds sum_r c_r * (stored row r) to its g. The scale is left to the caller.
  // What a setting gets does not depend on the others.
  void (*loss_and_gradient)(const RowBlock<T>& block, Loss loss, const T* y, std::size_t settings, const T* w,
                            T* const* g, double* loss_sums);
  // The same for the hinge on at most kRowBlock rows of bytes with targets of +1 and -1; the gradient is in HingeSums.
  void (*loss_and_hinge_sums)(const RowBlock<T>& block, const T* y, std::size_t settings, const T* w,
                              const HingeSums* hinge, double* loss_sums);
  // The same for one setting and without the loss: looks only at rows whose reach is not greater than `travelled` and
  // `allowance` together. The allowance covers the rounding of margins, per length of a row.
  void (*follow_hinge_sums)(const RowBlock<T>& block, const T* y, const T* w, const HingeSums& hinge,
                            double allowance);
  // g = half of the sum of `parts` vectors of n numbers that stand one after the other
  void (*halve)(std::size_t n, std::size_t parts, const std::int32_t* sums, T* g);
  // g += sum_r c_r * (stored row r), rows ascending. The scale is left to the caller.
  void (*add_rows)(const RowBlock<T>& block, const T* c, T* g);
  // total += part
  void (*add)(std::size_t n, const T* part, T* total);
  // g = fma(lambda, w, factor * g)
  void (*finish_gradient)(std::size_t n, T factor, T lambda, const T* w, T* g);
  // w = fma(-eta, g, w)
  void (*descent_step)(std::size_t n, T eta, const T* g, T* w);
  // d = fma(gamma, d, g); w = fma(-eta, d, w)
  void (*momentum_step)(std::size_t n, T eta, T gamma, const T* g, T* d, T* w);
  // Sum of squares, in f64 with 8 virtual lanes.
  double (*squared_norm)(std::size_t n, const T* x);
  // That of a - b.
  double (*squared_distance)(std::size_t n, const T* a, const T* b);
  Extent<T> (*extent)(std::size_t n, const T* x);
  // high_j + low_j = weight * x_j, exactly: f32 with weights below 2^29, whose low is 0 and not written; f64 with weights up to
  // 2^32 and zeros or sizes from 2^-900 to 2^900.
  void (*products)(std::size_t n, const T* x, double weight, double* high, double* low);
};

// What synthetic pixels are made of (blend_into_noise).
inline constexpr int kNoiseReach = 64;   // noise goes from -64 to 63
inline constexpr int kSpeckleOdds = 12;  // of 256: pixels of an empty place that are lit
inline constexpr int kSpeckleStep = 21;

// Rows of bytes out of nothing but a key. Whole numbers only.
struct ByteKernels {
  // n bytes of Philox4x32-10 with this key, from counter 0 on.
  void (*noise)(std::uint64_t key, std::size_t n, std::uint8_t* out);
  // Turns n bytes of noise into a row: where the blend (share * mine + (256 - share) * theirs) / 256 of two patterns,
  // share <= 256, is not zero, that blend and half the noise less kNoiseReach, kept within a byte; elsewhere a speckle
  // where the canvas is 255, nothing where it is 0.
  void (*blend_into_noise)(std::size_t n, const std::uint8_t* mine, const std::uint8_t* theirs,
                           unsigned share, const std::uint8_t* canvas, std::uint8_t* out);
};

// Takes the nearest multiples of `unit`, a power of 2, out of the rests and adds them to the digits, in units. False if that
// leaves nothing. Rests are below 2^50 units.
using TakeDigits = bool (*)(std::size_t n, double unit, double* rest, std::int64_t* digits);

// A set of kernels for one instruction set: "avx512", "avx2", "neon" or "portable".
struct KernelSet {
  std::string_view name;
  Kernels<float> f32;
  Kernels<double> f64;
  ByteKernels bytes;
  TakeDigits take_digits;

  template <class T>
  const Kernels<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }
};

// The sets that this machine can run, fastest first; "portable" is always the last.
std::span<const KernelSet> kernel_sets();

// By name; null when this machine or build does not have it.
const KernelSet* find_kernel_set(std::string_view name);

// The one named by the environment variable MFL_KERNEL if this machine has it, else the fastest.
// Programs check the variable at their start with find_kernel_set to refuse a wrong name.
const KernelSet& default_kernel_set();

}  // namespace mfl
