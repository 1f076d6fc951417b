// Softmax regression.
#include "mfl/base/kernels/targets-inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mfl/base/kernels/softmax.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "mfl/base/kernels/class_products-inl.h"
#include "mfl/base/kernels/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {
namespace {

template <class T>
void put(Kernels<T>& kernels) {
  kernels.softmax_logits = softmax_logits<T>;
  kernels.softmax_losses = softmax_losses<T>;
  kernels.softmax_add_rows = softmax_add_rows<T>;
  kernels.softmax_gradient = softmax_gradient<T>;
}

}  // namespace

void put_softmax(KernelSet& set) {
  put(set.f32);
  put(set.f64);
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
