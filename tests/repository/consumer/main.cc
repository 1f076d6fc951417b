// Draws a permutation, writes and reads it back, and checks digests: base as a user's program sees it.
#include <cstdio>
#include <string>

#include "mfl/base/digest.h"
#include "mfl/base/files.h"
#include "mfl/base/result.h"
#include "mfl/base/rng.h"

namespace {

mfl::Result<std::string> digest_through_a_file() {
  MFL_TRY(const mfl::TempFolder folder, mfl::TempFolder::make());
  std::string text;
  for (const auto i : mfl::permutation(100, mfl::Stream(1, mfl::Purpose::kPartition)))
    text += std::to_string(i) + "\n";
  MFL_CHECK(mfl::write_file(folder.path() / "order", text));
  MFL_TRY(const std::string again, mfl::read_file(folder.path() / "order"));
  return again == text ? mfl::sha256_hex(again) : "the file differs from what was written";
}

}  // namespace

int main() {
  if (mfl::sha256_hex("abc") != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") return 1;
  const auto digest = digest_through_a_file();
  if (!digest) {
    std::fprintf(stderr, "%s\n", digest.error().text().c_str());
    return static_cast<int>(digest.error().code);
  }
  std::printf("%s\n", digest->c_str());
  return digest->size() == 64 ? 0 : 1;
}
