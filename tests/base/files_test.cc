#include "mfl/base/files.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "mfl/base/digest.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

TEST(Files, WriteThenReadGivesTheSameBytes) {
  const auto folder = TempFolder::make();
  const fs::path file = folder->path() / "a";
  const std::string bytes("zero\0byte\n", 10);
  ASSERT_TRUE(write_file(file, bytes));
  EXPECT_EQ(*read_file(file), bytes);
  ASSERT_TRUE(write_file(file, "shorter"));
  EXPECT_EQ(*read_file(file), "shorter");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder->path()), {}), 1);  // no temporary file is left
}

TEST(Files, ErrorsNameThePathAndTheReason) {
  const auto folder = TempFolder::make();
  const fs::path nowhere = folder->path() / "no" / "file";
  EXPECT_EQ(read_file(nowhere).error().code, ErrorCode::kBadData);
  EXPECT_NE(read_file(nowhere).error().message.find(nowhere.string() + ": No such file"), std::string::npos);
  EXPECT_EQ(write_file(nowhere, "x").error().code, ErrorCode::kRunFailed);
  EXPECT_FALSE(fs::exists(nowhere.parent_path()));
}

TEST(Files, TempFolderGoesWithItsContents) {
  fs::path path;
  {
    auto folder = TempFolder::make();
    path = folder->path();
    ASSERT_TRUE(make_folder(path / "a" / "b"));
    ASSERT_TRUE(write_file(path / "a" / "b" / "c", "x"));
    const TempFolder moved = *std::move(folder);
    EXPECT_TRUE(fs::exists(moved.path()));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(Digest, IsSha256) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256{}.update("a").update("bc").finish_hex(), sha256_hex("abc"));
  EXPECT_EQ(Sha256{}.update(std::uint64_t{0x0706050403020100}).finish_hex(),
            sha256_hex(std::string("\0\1\2\3\4\5\6\7", 8)));
}

}  // namespace
}  // namespace mfl
