// The instruction sets that every family of kernels is compiled for. Included before Highway's headers.
#ifndef HWY_COMPILE_ONLY_STATIC     // sanitizer builds have one set
#define HWY_COMPILE_ALL_ATTAINABLE  // the portable set too
#endif
// Kept: AVX-512, AVX2, NEON and the portable emulation. The others lack a fused multiply-add or a fixed width.
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
