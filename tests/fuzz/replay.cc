// Feeds every file of the given folders to the target it is linked with: a corpus replayed without libFuzzer.
#include <sys/resource.h>

#include <cstdio>
#include <exception>
#include <filesystem>

#include "mfl/base/files.h"
#include "tests/fuzz/fuzz.h"

namespace {

// A size claimed by a header must not be allocated; the corpus itself needs a few MB.
void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit limit{std::size_t{1} << 30U, std::size_t{1} << 30U};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

int replay(const std::filesystem::path& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto bytes = mfl::read_file(entry.path());
    if (!bytes) return 0;
    // Printed before the call, so that a crash is about the last name.
    std::printf("%s\n", entry.path().filename().c_str());
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size());
    ++count;
  }
  return count;
}

}  // namespace

int main(int count, char** arguments) try {
  limit_memory();
  for (int i = 1; i < count; ++i) {
    if (replay(arguments[i]) > 0) continue;
    std::fprintf(stderr, "%s: nothing to replay, or it cannot be read\n", arguments[i]);
    return 1;
  }
  return count > 1 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "an exception left the target: %s\n", error.what());
  return 1;
}
