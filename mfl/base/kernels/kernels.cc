// The sets of kernels of this machine. The families are sources of their own, each compiled for every target.
#include "mfl/base/kernels/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "mfl/base/kernels/targets-inl.h"
// After the choice of targets.
#include "hwy/targets.h"

#define MFL_TARGET(target)                             \
  namespace target {                                   \
  void put_digits(KernelSet& set);                     \
  void put_hinge(KernelSet& set);                      \
  void put_linear(KernelSet& set);                     \
  void put_noise(KernelSet& set);                      \
  void put_softmax(KernelSet& set);                    \
  void put_vectors(KernelSet& set);                    \
  static KernelSet kernel_set(std::string_view name) { \
    KernelSet set{};                                   \
    set.name = name;                                   \
    put_digits(set);                                   \
    put_hinge(set);                                    \
    put_linear(set);                                   \
    put_noise(set);                                    \
    put_softmax(set);                                  \
    put_vectors(set);                                  \
    return set;                                        \
  }                                                    \
  }

namespace mfl {

#if HWY_TARGETS & HWY_AVX3
MFL_TARGET(N_AVX3)
#endif
#if HWY_TARGETS & HWY_AVX2
MFL_TARGET(N_AVX2)
#endif
#if HWY_TARGETS & HWY_NEON
MFL_TARGET(N_NEON)
#endif
#if HWY_TARGETS & HWY_EMU128
MFL_TARGET(N_EMU128)
#endif
#if HWY_TARGETS & HWY_SCALAR
MFL_TARGET(N_SCALAR)
#endif
std::span<const KernelSet> kernel_sets() {
  static const std::vector<KernelSet> sets = [] {
    std::vector<KernelSet> out;
    [[maybe_unused]] const auto supported = hwy::SupportedTargets();
#if HWY_TARGETS & HWY_AVX3
    if (supported & HWY_AVX3) out.push_back(N_AVX3::kernel_set("avx512"));
#endif
#if HWY_TARGETS & HWY_AVX2
    if (supported & HWY_AVX2) out.push_back(N_AVX2::kernel_set("avx2"));
#endif
#if HWY_TARGETS & HWY_NEON
    if (supported & HWY_NEON) out.push_back(N_NEON::kernel_set("neon"));
#endif
#if HWY_TARGETS & HWY_EMU128
    out.push_back(N_EMU128::kernel_set("portable"));
#elif HWY_TARGETS & HWY_SCALAR
    out.push_back(N_SCALAR::kernel_set("portable"));
#endif
    return out;
  }();
  return sets;
}

const KernelSet* find_kernel_set(std::string_view name) {
  const auto sets = kernel_sets();
  const auto found =
      std::find_if(sets.begin(), sets.end(), [&](const KernelSet& s) { return s.name == name; });
  return found == sets.end() ? nullptr : &*found;
}

const KernelSet& default_kernel_set() {
  static const KernelSet* chosen = [] {
    const char* name = std::getenv("MFL_KERNEL");
    const KernelSet* named = name != nullptr ? find_kernel_set(name) : nullptr;
    return named != nullptr ? named : &kernel_sets().front();
  }();
  return *chosen;
}

}  // namespace mfl
