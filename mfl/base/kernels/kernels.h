// The inner loops of training, written once for every vector width.
//
// The shape of every sum is fixed, so each kernel set gives the same bits:
//   margin      z_r = scale * tree(acc),  acc[j mod L] = fma(x_rj, w_j, acc[j mod L]) for ascending j,
//               L = 16 virtual lanes for f32 and 8 for f64; tree adds the upper half of the lanes to the lower
//               half until one is left.
//   gradient    g_j = fma(c_r, x_rj, g_j) for ascending r inside a block of rows.
//   losses      summed in f64, eight rows at a time, for ascending r inside a block of rows.
// Softmax regression has one output per class, and every output is one chain, whatever the number of classes:
//   logit       z_rk = fma(scale, chain, b_k), or scale * chain without intercepts; chain = fma(x_rj, w_jk, chain) for
//               ascending j, starting from 0. Logits are numbers of type T.
//   loss        log1p(others) + (m - z_ry) in f64: m = max_k z_rk, e_k = exp(z_rk - m), others = (ties - 1) + tree(acc) with
//               ties = the number of k with z_rk = m, acc[k mod 8] += e_k for ascending k with z_rk < m.
//   coefficient c_rk = e_k / (1 + others) - [k = y_r] in f64, rounded to T.
//   gradient    g_jk = fma(c_rk, x_rj, g_jk) for ascending r; of an intercept, g_k = g_k + c_rk for ascending r.
// A zero feature or a zero coefficient adds exactly nothing, so it may be skipped: sparse and dense rows of the
// same numbers give the same bits. Blocks of kRowBlock rows are added in their order by the caller.
#pragma once

#include <algorithm>
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

// Columns are read in chunks: a chunk of a row that contains only zeros can be skipped.
inline constexpr std::size_t kChunk = 16;
// 64-bit words that hold one bit per whole chunk of a row; a remainder of fewer than kChunk columns has no bit.
constexpr std::size_t chunk_words(std::size_t columns) { return (columns / kChunk + 63) / 64; }

// The largest number of settings that share one pass over the rows.
inline constexpr std::size_t kMaxBatch = 32;
// Packed weights are stored in groups of settings that fit the first-level cache; the last group may be smaller. A group is
// chunk-major: kChunk numbers of each of its settings, then the next chunk; the last chunk is padded with zeros.
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
                // null if unknown. Not for kSparse
  const std::uint64_t* starts = nullptr;     // kSparse: rows + 1 positions
  const std::uint32_t* positions = nullptr;  // kSparse: the column of each entry, ascending in a row
  const float* lengths = nullptr;  // an upper bound of the Euclidean norm of each row; for HingeSums
};

// The incremental gradient of the hinge loss on bytes, for one row block and one setting. With targets of +1 and -1 every
// coefficient is 0, 1/2 or -1/2, so over at most kMostHingeRows rows every partial sum of the multiply-add chain, and of
// the blocks after it, is exact: a sum of integers has the same bits in any order and any grouping. A pass therefore only
// adds or subtracts the rows that changed sides since the last one. And a row cannot change sides before w has
// travelled as far as the row is from the hinge, so most rows need not even be read.
struct HingeSums {
  std::uint32_t* active;  // one bit per row: whether it counts; initially zero
  std::int32_t*
      twice_gradient;  // one number per column: the sum of -y_r * (stored row r) over the rows that count,
                       // of this block and others; initially zero
  float* reach;        // per row: it stays on its side until w has travelled this far; initially -1
  double travelled;    // an upper bound of the distance that w has travelled so far
};
inline constexpr std::size_t kActiveWords = kRowBlock / 32;
// Half the sum of this many bytes is exact in T, and the sum fits an int32_t.
template <class T>
inline constexpr std::size_t kMostHingeRows = sizeof(T) == sizeof(float) ? (1U << 24) / 255
                                                                         : (1U << 31) / 256;

// The number of parameters of softmax regression, and of its gradient: `classes` weights per column, column after column,
// followed by `classes` intercepts if it has them.
constexpr std::size_t softmax_size(std::size_t columns, std::size_t classes, bool intercept) {
  return (columns + (intercept ? 1 : 0)) * classes;
}

// What finish_gradient takes for a gradient of softmax regression. Intercepts have a lambda of 0.
template <class T>
struct SoftmaxFinish {
  const T* w;
  T factor, lambda;  // of the weights
  T intercept_factor;
};

// Planes of digits in base 2^32 that divide_digits takes at most.
inline constexpr std::size_t kMostPlanes = 64;

// The range of absolute values.
template <class T>
struct Extent {
  T least;  // of those that are not zero; infinity if all are
  T most;   // infinity or NaN if one of them is
};

template <class T>
struct Kernels {
  // Writes the margins of all rows.
  void (*margins)(const RowBlock<T>& block, const T* w, double* z);
  // Sum of the losses of n samples; coefficients[i] = d loss / d z unless null.
  double (*losses)(Loss loss, std::size_t n, const double* z, const T* y, T* coefficients);
  // Rearranges several weight vectors into the order in which a pass reads them: packed_size(columns, settings) numbers.
  void (*pack)(std::size_t columns, std::size_t settings, const T* const* w, T* packed);
  // One pass over the block for `settings` <= kMaxBatch weight vectors, packed, or the vector itself if there is only one:
  // writes the sum of the losses of each, and adds sum_r c_r * (stored row r) to its g. The caller applies the scale.
  // The results of a setting do not depend on the others.
  void (*loss_and_gradient)(const RowBlock<T>& block, Loss loss, const T* y, std::size_t settings, const T* w,
                            T* const* g, double* loss_sums);
  // The same for the hinge on at most kRowBlock rows of bytes with targets of +1 and -1; the gradient is in HingeSums.
  void (*loss_and_hinge_sums)(const RowBlock<T>& block, const T* y, std::size_t settings, const T* w,
                              const HingeSums* hinge, double* loss_sums);
  // The same for one setting and without the loss: reads only rows whose reach is at most the sum of `travelled` and
  // `allowance`. The allowance covers the rounding of margins, per unit of row length.
  void (*follow_hinge_sums)(const RowBlock<T>& block, const T* y, const T* w, const HingeSums& hinge,
                            double allowance);
  // g = half of the sum of `parts` consecutive vectors of n numbers
  void (*halve)(std::size_t n, std::size_t parts, const std::int32_t* sums, T* g);
  // g += sum_r c_r * (stored row r), rows ascending. The caller applies the scale.
  void (*add_rows)(const RowBlock<T>& block, const T* c, T* g);
  // Softmax regression, for 2 or more classes and any number of rows. Logits and coefficients are matrices with a row of
  // `classes` numbers per row of the block; softmax_size describes `w` and `g`. No scratch memory is needed, and nothing
  // outside the arrays is read or written. One step: logits into z, losses with coefficients == z, rows times z into g.
  // Writes the logits of all rows.
  void (*softmax_logits)(const RowBlock<T>& block, std::size_t classes, bool intercept, const T* w, T* z);
  // Sum of the losses of n samples, whose targets are class indices 0, 1, ..., each below `classes`. Writes the coefficients
  // unless null; they may replace the logits. The loss of finite logits is correct to a few ulp, or infinity where it exceeds
  // the range of f64; a NaN among the logits makes the loss and the coefficients of the row NaN.
  double (*softmax_losses)(std::size_t n, std::size_t classes, const T* z, const T* y, T* coefficients);
  // Adds sum_r c_rk * (stored x_rj) to the gradient of each weight and sum_r c_rk to that of each intercept, rows ascending.
  // The caller applies the scale, to the gradient of the weights only.
  void (*softmax_add_rows)(const RowBlock<T>& block, std::size_t classes, bool intercept, const T* c, T* g);
  // Writes the gradient of a block in one pass: the bits of zeros in g, softmax_add_rows and finish_gradient.
  void (*softmax_gradient)(const RowBlock<T>& block, std::size_t classes, bool intercept, const T* c,
                           const SoftmaxFinish<T>& finish, T* g);
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
  // The same for a - b.
  double (*squared_distance)(std::size_t n, const T* a, const T* b);
  Extent<T> (*extent)(std::size_t n, const T* x);
  // out_j = (sum_k digits[k][j] * units[k]) / weight, rounded once, to nearest even; +0 where all digits are 0. Planes are in
  // descending order of their units, powers of 2 from 2^-1074 to 2^942; digits are at most 2^51 in size, weights below 2^53.
  // The result is undecided where it is subnormal, or so close to the middle of two numbers that only long division can tell.
  // Writes the positions of those j, in ascending order, and returns how many they are; their out_j is arbitrary.
  std::size_t (*divide_digits)(std::size_t n, std::size_t planes, const std::int64_t* const* digits,
                               const double* units, double weight, T* out, std::uint32_t* undecided);
};

// Constants of synthetic pixels (blend_into_noise).
inline constexpr int kNoiseReach = 64;   // noise is in -64..63
inline constexpr int kSpeckleOdds = 12;  // of 256: share of background pixels that are lit
inline constexpr int kSpeckleStep = 21;

// Rows of bytes generated from a key, in integer arithmetic only.
struct ByteKernels {
  // n bytes of Philox4x32-10 with this key, from counter 0 on.
  void (*noise)(std::uint64_t key, std::size_t n, std::uint8_t* out);
  // Turns n bytes of noise into a row: where the blend (share * mine + (256 - share) * theirs) / 256 of two patterns,
  // share <= 256, is not zero, that blend and half the noise less kNoiseReach, kept within a byte; elsewhere a speckle
  // where the canvas is 255, nothing where it is 0.
  void (*blend_into_noise)(std::size_t n, const std::uint8_t* mine, const std::uint8_t* theirs,
                           unsigned share, const std::uint8_t* canvas, std::uint8_t* out);
};

// The most planes of digits that the numbers of one f32 vector can fill.
inline constexpr std::size_t kMostF32Planes = 12;

// Numbers to digits of base 2^32, exactly.
struct DigitKernels {
  // high_j + low_j = weight * x_j for weights up to 2^32 and zeros or sizes from 2^-900 to 2^900.
  void (*products)(std::size_t n, const double* x, double weight, double* high, double* low);
  // Subtracts the nearest multiples of `unit`, a power of 2, from the remainders and adds them to the digits, in units. Returns
  // false if nothing remains. Remainders are below 2^50 units.
  bool (*take_digits)(std::size_t n, double unit, double* rest, std::int64_t* digits);
  // Adds the digits of weight * x_j to all planes at a time: digits[k][j] counts units of `unit` * 2^(-32 k). Weights are whole
  // numbers below 2^29, products below 2^50 units, planes at most kMostF32Planes, and every x_j is a multiple of the unit of
  // the last plane.
  void (*add_products)(std::size_t n, const float* x, double weight, double unit, std::size_t planes,
                       std::int64_t* const* digits);
};

// A set of kernels for one instruction set: "avx512", "avx2", "neon" or "portable".
struct KernelSet {
  std::string_view name;
  Kernels<float> f32;
  Kernels<double> f64;
  ByteKernels bytes;
  DigitKernels digits;

  template <class T>
  const Kernels<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }
};

// The sets this machine supports, fastest first; "portable" is always the last. A build for sanitizers has one set.
std::span<const KernelSet> kernel_sets();

// The set of that name; null if this machine or build does not have it.
const KernelSet* find_kernel_set(std::string_view name);

// The one named by the environment variable MFL_KERNEL if this machine has it, else the fastest.
// Programs check the variable with find_kernel_set at start-up and refuse an unknown name.
const KernelSet& default_kernel_set();

}  // namespace mfl
