#include "mfl/network/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mfl/base/files.h"

namespace mfl {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Kind = AdmissionList::Kind;

class Lists : public ::testing::Test {
 protected:
  void allow(const std::string& text) { ASSERT_TRUE(write_file(allowed, text)); }
  void revoke(const std::string& text) { ASSERT_TRUE(write_file(revoked, text)); }
  // As if the pause had passed.
  std::uint64_t look(Admission& admission) { return admission.refresh(now += Admission::kPause); }
  std::string refusal(Admission& admission, const std::string& node, const std::string& serial) {
    look(admission);
    return admission.refusal(node, serial);
  }

  TempFolder folder = TempFolder::make().value();
  std::filesystem::path allowed = folder.path() / "allowed", revoked = folder.path() / "revoked";
  Admission::Clock::time_point now = Admission::Clock::now();
};

TEST_F(Lists, AreReadAgainWhenTheyChange) {
  allow("a # the first\n\nb\nc\n");
  revoke("");
  Admission admission({allowed, revoked});
  ASSERT_TRUE(admission.check());
  EXPECT_EQ(refusal(admission, "a", "01"), "");
  EXPECT_NE(refusal(admission, "d", "02"), "");
  revoke("b\nFF01\n");
  EXPECT_NE(refusal(admission, "b", "03"), "");
  EXPECT_NE(refusal(admission, "c", "ff01"), "");
  EXPECT_EQ(refusal(admission, "c", "04"), "");
  revoke("c\nFF01\n");
  EXPECT_NE(refusal(admission, "c", "04"), "") << "as long as before, in the same second";
  revoke("b\nFF01\n");
  allow("d\nb\n");
  EXPECT_EQ(refusal(admission, "d", "02"), "");
  EXPECT_NE(refusal(admission, "a", "01"), "");
  std::filesystem::remove(revoked);
  EXPECT_NE(refusal(admission, "b", "03"), "") << "a list that is gone keeps what it said";
  EXPECT_EQ(admission.warnings().size(), 1U);
  std::filesystem::remove(allowed);
  EXPECT_NE(refusal(admission, "d", "02"), "") << "without its list nobody is let in";
  EXPECT_EQ(admission.warnings().size(), 2U);
}

TEST_F(Lists, AreCheckedOnlyAtIntervals) {
  revoke("");
  Admission admission({{}, revoked});
  ASSERT_TRUE(admission.check());
  look(admission);
  const std::uint64_t version = admission.version();
  revoke("a\n");
  EXPECT_EQ(admission.refusal("a", ""), "") << "no file is read here";
  EXPECT_EQ(admission.refresh(now + Admission::kPause / 2), version);
  EXPECT_EQ(admission.refusal("a", ""), "");
  EXPECT_GT(admission.refresh(now + Admission::kPause), version);
  EXPECT_NE(admission.refusal("a", ""), "");
}

TEST_F(Lists, HaveAVersionThatGrowsWithEveryChange) {
  allow("a\n");
  Admission admission({allowed, {}});
  const std::uint64_t first = look(admission);
  EXPECT_EQ(look(admission), first);
  allow("a\nb\n");
  const std::uint64_t second = look(admission);
  EXPECT_GT(second, first);
  EXPECT_EQ(admission.refusal("b", "01"), "");
  std::filesystem::remove(allowed);
  EXPECT_GT(look(admission), second);
}

TEST_F(Lists, CompareNamesWithoutCase) {
  allow("Hospital-A\nhospital-b max_samples=5\n");
  revoke("HOSPITAL-B\n");
  Admission admission({allowed, revoked});
  EXPECT_EQ(refusal(admission, "Hospital-A", "01"), "");
  EXPECT_NE(refusal(admission, "Hospital-B", "02"), "") << "a foreign authority may write names in any case";
  EXPECT_EQ(admission.max_samples("HOSPITAL-b"), 5U);
  EXPECT_EQ(admission.admitted({{"Hospital-A", "01"}}), 1U);
  revoke("hospital-b\n1\n");
  look(admission);
  EXPECT_EQ(admission.admitted({{"Hospital-A", "01"}}), 0U);
}

TEST_F(Lists, CountTheNodesThatTheyAdmit) {
  allow("a\nb\nc\n");
  revoke("");
  Admission admission({allowed, revoked});
  const auto admitted = [&] {
    look(admission);
    return admission.admitted({{"a", "ff01"}});
  };
  EXPECT_EQ(admitted(), 3U);
  revoke("FF01 # a\n");
  EXPECT_EQ(admitted(), 2U);
  allow("a\nc\n");
  EXPECT_EQ(admitted(), 1U);
  allow("a\nc\nserial=ff01\nserial=ff02\n");
  EXPECT_EQ(admitted(), 2U) << "ff01 is revoked, ff02 is not";
  revoke("");
  EXPECT_EQ(admitted(), 3U) << "a and ff01 are one node";
  EXPECT_EQ(Admission({}).admitted({}), std::nullopt);
}

TEST_F(Lists, AreNotNeeded) {
  Admission admission({});
  EXPECT_TRUE(admission.check());
  EXPECT_EQ(admission.refusal("anybody", ""), "");
  EXPECT_THAT(admission.warnings(), IsEmpty());
  EXPECT_FALSE(Admission({"/nowhere/at/all", {}}).check());
}

TEST_F(Lists, WarnOfEveryLineThatIsNotUsed) {
  allow("a\nb 5000\nhospital c\nd max_samples=many\ne max_samples=0\n\xc3\xa4\nf max_samples=9 # ok\n");
  revoke("b\nserial=xyz\n\x1b[2J" + std::string(1000, '!') + "\n");
  Admission admission({allowed, revoked});
  ASSERT_TRUE(admission.check()) << "a warning, not an error";
  std::vector<std::pair<std::string, std::size_t>> places;
  for (const ListWarning& warning : admission.warnings()) {
    places.emplace_back(std::filesystem::path(warning.file).filename(), warning.line);
    EXPECT_LT(warning.text.size(), 250U);
    EXPECT_EQ(warning.text.find('\x1b'), std::string::npos);
  }
  using Place = std::pair<std::string, std::size_t>;
  EXPECT_THAT(places,
              ElementsAre(Place{"allowed", 2}, Place{"allowed", 3}, Place{"allowed", 4}, Place{"allowed", 5},
                          Place{"allowed", 6}, Place{"revoked", 2}, Place{"revoked", 3}));
  EXPECT_EQ(admission.refusal("a", "01"), "");
  EXPECT_NE(admission.refusal("d", "01"), "") << "its limit is not known";
  EXPECT_NE(admission.refusal("5000", "01"), "");
  EXPECT_EQ(admission.max_samples("f"), 9U);
  EXPECT_EQ(admission.max_samples("a"), std::nullopt);
}

TEST(AdmissionList, TakesSerialNumbersAsTheyArePasted) {
  for (const std::string text : {"40ab12",
                                 "40AB12",
                                 "0040ab12",
                                 "serial=40AB12",
                                 "SERIAL=0040AB12",
                                 "serial = 40AB12",
                                 "0x40ab12",
                                 "0X40AB12",
                                 "40:AB:12",
                                 "00:40:ab:12",
                                 "40 AB 12",
                                 "Serial Number: 40:ab:12",
                                 "        Serial Number: 0x40AB12",
                                 "serialNumber=40AB12",
                                 "\xef\xbb\xbfserial=40AB12\r",
                                 "\"40ab12\",",
                                 "hospital-b, 40ab12",
                                 "serial=40ab12 # of hospital-b",
                                 "\xc2\xa0"
                                 "40ab12",
                                 "serial=40AB12 serial=77",
                                 "serial=40AB12, hospital-b"}) {
    const AdmissionList list = parse_admission_list(text, Kind::kRevoked);
    EXPECT_TRUE(list.serials.contains("40ab12")) << text;
    EXPECT_TRUE(list.has("a", "0040AB12")) << text;
    EXPECT_FALSE(list.has("a", "40ab13")) << text;
    EXPECT_THAT(list.warnings, IsEmpty()) << text << list.warnings[0].text;
  }
  EXPECT_TRUE(parse_admission_list("serial=-40AB", Kind::kRevoked).has("a", "-40ab"));
  EXPECT_TRUE(parse_admission_list("0", Kind::kRevoked).has("a", "00"));
}

TEST(AdmissionList, TakesSerialNumbersInAnAllowListUnlessTheyAreNames) {
  for (const std::string text : {"serial=40AB12", "40:AB:12", "0x40ab12", "Serial Number: 40:ab:12"}) {
    const AdmissionList list = parse_admission_list(text, Kind::kAllowed);
    EXPECT_TRUE(list.has("a", "40ab12")) << text;
    EXPECT_THAT(list.names, IsEmpty()) << text;
    EXPECT_THAT(list.warnings, IsEmpty()) << text;
  }
  EXPECT_FALSE(parse_admission_list("40ab12", Kind::kAllowed).has("a", "40ab12")) << "that is a name";
  EXPECT_TRUE(parse_admission_list("40ab12", Kind::kAllowed).has("40AB12", ""));
}

TEST(AdmissionList, ReadsUtf16WithAMark) {
  const std::string text = "Hospital-B\r\nserial=40AB\r\n\r\n";
  std::string little = "\xff\xfe", big = "\xfe\xff";
  for (const char c : text) {
    little += {c, '\0'};
    big += {'\0', c};
  }
  for (const std::string& bytes : {little, big}) {
    const AdmissionList list = parse_admission_list(bytes, Kind::kRevoked);
    EXPECT_TRUE(list.has("hospital-b", ""));
    EXPECT_TRUE(list.has("a", "40ab"));
    EXPECT_THAT(list.warnings, IsEmpty());
  }
  EXPECT_THAT(parse_admission_list(little.substr(2), Kind::kRevoked).warnings, Not(IsEmpty()))
      << "without the mark";
}

TEST(AdmissionList, CountsLinesWhateverEndsThem) {
  const AdmissionList list = parse_admission_list("a\r\n?\nb\r!\r\n", Kind::kRevoked);
  ASSERT_EQ(list.warnings.size(), 2U);
  EXPECT_EQ(list.warnings[0].line, 2U);
  EXPECT_EQ(list.warnings[1].line, 4U);
  EXPECT_THAT(list.names, ElementsAre("a", "b"));
}

TEST(AdmissionList, KeepsTheLeastLimitAndFewWarnings) {
  EXPECT_EQ(parse_admission_list("a max_samples=9\nA max_samples=4\na\n", Kind::kAllowed).max_samples.at("a"),
            4U);
  std::string junk;
  for (int i = 0; i < 1000; ++i) junk += "!\n";
  const AdmissionList list = parse_admission_list(junk, Kind::kAllowed);
  ASSERT_EQ(list.warnings.size(), 21U);
  EXPECT_THAT(list.warnings.back().text, HasSubstr("980 more"));
}

}  // namespace
}  // namespace mfl
