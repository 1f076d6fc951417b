#include "mfl/base/visible.h"

#include <gtest/gtest.h>

namespace mfl {
namespace {

using namespace std::string_literals;

TEST(Visible, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(visible("hospital-a: Universit\u00e4t \u2713 \U0001f3e5", 100),
            "hospital-a: Universit\u00e4t \u2713 \U0001f3e5");
  EXPECT_EQ(visible("a\x1b[2Jb\r\n\tc\0d\x7f"s, 100), "a\\x1b[2Jb\\x0d\\x0a\\x09c\\x00d\\x7f");
  EXPECT_EQ(visible("\u0085\u202e\u200b\ufeff", 100),
            "\\xc2\\x85\\xe2\\x80\\xae\\xe2\\x80\\x8b\\xef\\xbb\\xbf");
}

TEST(Visible, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(visible("\xff\xc0\x80\x80", 100), "\\xff\\xc0\\x80\\x80");
  EXPECT_EQ(visible("\xed\xa0\x80", 100), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(visible("\xf4\x90\x80\x80", 100), "\\xf4\\x90\\x80\\x80") << "beyond the last character";
  EXPECT_EQ(visible("\xe2\x82", 100), "\\xe2\\x82") << "cut off";
  EXPECT_EQ(visible("\xe2\x82z", 100), "\\xe2\\x82z");
}

TEST(Visible, CutsBetweenCharactersAndSaysHowLongItWas) {
  EXPECT_EQ(visible("abcdef", 6), "abcdef");
  EXPECT_EQ(visible("abcdef", 5), "abcde... (6 bytes)");
  EXPECT_EQ(visible("ab\u20ac", 4), "ab... (5 bytes)");
  EXPECT_EQ(visible("", 0), "");
  EXPECT_EQ(visible("a", 0), "... (1 bytes)");
  EXPECT_EQ(visible("a\x1b", 4), "a... (2 bytes)");
  EXPECT_LE(visible(std::string(1'000'000, '\x1b'), 512).size(), 512 + 40U);
}

}  // namespace
}  // namespace mfl
