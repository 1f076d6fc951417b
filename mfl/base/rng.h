// Counter-based random numbers: they depend on (seed, purpose, round, node) and nothing else, so they are
// the same on any thread, rank or machine, and there is no generator state to save.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mfl {

// What a stream is for. Values are part of the numerics contract: never renumber.
enum class Purpose : std::uint64_t {
  kTakeTrain = 1,
  kTakeTest = 2,
  kPartition = 3,
  kSynthetic = 4,
  kFleet = 5,
  kFedprox = 6,
  kFeatureSkew = 9,
  kChooseNodes = 16,
  kDevice = 17,
  kDropout = 18,
  kInitialise = 19,
  kBatches = 20,
  kPowerIteration = 21,
  kTrainer = 22,
  kCodec = 23,
  kBootstrap = 32,
};

// A stream of Philox4x64-10 numbers. Not thread-safe; cheap to create wherever it is needed.
class Stream {
 public:
  Stream(std::uint64_t seed, Purpose purpose, std::uint64_t round = 0, std::uint64_t node = 0,
         std::uint64_t part = 0);

  std::uint64_t next();
  double uniform();                          // [0, 1), 53 random bits
  std::uint64_t below(std::uint64_t bound);  // [0, bound) without bias; bound > 0
  double normal();                           // mean 0, variance 1

 private:
  std::uint64_t seed_, purpose_, round_, node_, part_;
  std::uint64_t block_ = 0;
  std::uint64_t buffer_[4] = {};
  unsigned used_ = 4;
};

// A random permutation of 0..n-1 (Fisher-Yates).
std::vector<std::uint32_t> permutation(std::size_t n, Stream stream);

}  // namespace mfl
