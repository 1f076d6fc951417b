#include "mfl/cli/keep_memory.h"

#include <cstdlib>  // defines __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace mfl::cli {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kMostKept = 32 << 20;  // the largest threshold that glibc takes
  constexpr int kMostSpare = 1 << 30;
  ::mallopt(M_MMAP_THRESHOLD, kMostKept);
  ::mallopt(M_TRIM_THRESHOLD, kMostSpare);
#endif
}

}  // namespace mfl::cli
