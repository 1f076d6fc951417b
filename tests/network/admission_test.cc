#include "mfl/network/admission.h"

#include <gtest/gtest.h>

#include "mfl/base/files.h"

namespace mfl {
namespace {

TEST(Admission, ReadsItsListsAgainWhenTheyChange) {
  const auto folder = TempFolder::make().value();
  const auto allowed = folder.path() / "allowed", revoked = folder.path() / "revoked";
  ASSERT_TRUE(write_file(allowed, "a # the first\n\nb\nc\n"));
  ASSERT_TRUE(write_file(revoked, ""));
  Admission admission({allowed, revoked});
  ASSERT_TRUE(admission.check());
  EXPECT_EQ(admission.refusal("a", "01"), "");
  EXPECT_NE(admission.refusal("d", "02"), "");
  ASSERT_TRUE(write_file(revoked, "b\nFF01\n"));
  EXPECT_NE(admission.refusal("b", "03"), "");
  EXPECT_NE(admission.refusal("c", "ff01"), "");
  EXPECT_EQ(admission.refusal("c", "04"), "");
  ASSERT_TRUE(write_file(allowed, "d\nb\n"));
  EXPECT_EQ(admission.refusal("d", "02"), "");
  EXPECT_NE(admission.refusal("a", "01"), "");
  std::filesystem::remove(revoked);
  EXPECT_NE(admission.refusal("b", "03"), "") << "a list that is gone keeps what it said";
  std::filesystem::remove(allowed);
  EXPECT_NE(admission.refusal("d", "02"), "") << "without its list nobody is let in";
}

TEST(Admission, ItsVersionGrowsWhenItMayAnswerOtherwise) {
  const auto folder = TempFolder::make().value();
  const auto allowed = folder.path() / "allowed";
  ASSERT_TRUE(write_file(allowed, "a\n"));
  Admission admission({allowed, {}});
  const std::uint64_t first = admission.version();
  EXPECT_EQ(admission.version(), first);
  ASSERT_TRUE(write_file(allowed, "a\nb\n"));
  EXPECT_EQ(admission.refusal("b", "01"), "");  // which has read the list
  const std::uint64_t second = admission.version();
  EXPECT_GT(second, first);
  std::filesystem::remove(allowed);
  EXPECT_GT(admission.version(), second);
}

TEST(Admission, NamesAreComparedWithoutCase) {
  const auto folder = TempFolder::make().value();
  const auto allowed = folder.path() / "allowed", revoked = folder.path() / "revoked";
  ASSERT_TRUE(write_file(allowed, "Hospital-A\nhospital-b\n"));
  ASSERT_TRUE(write_file(revoked, "hospital-b\n"));
  Admission admission({allowed, revoked});
  EXPECT_EQ(admission.refusal("Hospital-A", "01"), "");
  EXPECT_NE(admission.refusal("Hospital-B", "02"), "") << "a foreign authority may write names in any case";
}

TEST(Admission, CountsTheNodesThatItAdmits) {
  const auto folder = TempFolder::make().value();
  const auto allowed = folder.path() / "allowed", revoked = folder.path() / "revoked";
  ASSERT_TRUE(write_file(allowed, "a\nb\nc\n"));
  ASSERT_TRUE(write_file(revoked, ""));
  Admission admission({allowed, revoked});
  const auto admitted = [&] {
    admission.version();
    return admission.admitted({{"a", "ff01"}});
  };
  EXPECT_EQ(admitted(), 3U);
  ASSERT_TRUE(write_file(revoked, "FF01 # a\n"));
  EXPECT_EQ(admitted(), 2U);
  ASSERT_TRUE(write_file(allowed, "a\nc\n"));
  EXPECT_EQ(admitted(), 1U);
  EXPECT_EQ(Admission({}).admitted({}), std::nullopt);
}

TEST(Admission, WithoutListsEveryCertificateWillDo) {
  Admission admission({});
  EXPECT_TRUE(admission.check());
  EXPECT_EQ(admission.refusal("anybody", ""), "");
  EXPECT_FALSE(Admission({"/nowhere/at/all", {}}).check());
}

}  // namespace
}  // namespace mfl
