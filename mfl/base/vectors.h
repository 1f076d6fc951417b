// Model vectors: contiguous, aligned for the widest SIMD loads.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace mfl {

inline constexpr std::size_t kVectorAlignment = 64;

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{kVectorAlignment}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{kVectorAlignment}); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

template <class T>
using Vector = std::vector<T, AlignedAllocator<T>>;

// The arithmetic of a run. f32 is the default for training; theory is always f64.
enum class Precision { kF32, kF64 };

}  // namespace mfl
