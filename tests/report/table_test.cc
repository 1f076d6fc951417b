#include "mfl/report/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace mfl {
namespace {

TEST(Table, AlignsColumns) {
  Table table({{"name"}, {"steps", Align::kRight}, {"note"}});
  table.add({"fl", "1000", "ok"});
  table.add({"momentum", "7"});
  EXPECT_EQ(table.text(),
            "name      steps  note\n"
            "--------  -----  ----\n"
            "fl         1000  ok\n"
            "momentum      7\n");
}

TEST(Table, NoRowsGiveAHeader) { EXPECT_EQ(Table({{"a"}, {"bc"}}).text(), "a  bc\n-  --\n"); }

TEST(Table, DropsCellsBeyondTheLastColumn) {
  Table table({{"a"}});
  table.add({"1", "2"});
  EXPECT_EQ(table.text(), "a\n-\n1\n");
}

TEST(Table, CountsCodePointsAndReplacesControlCharacters) {
  Table table({{"name"}, {"x"}});
  table.add({"\xc3\xa9t\xc3\xa9", "1"});
  table.add({"a\n\x1b[31m", "2"});
  EXPECT_EQ(table.text(),
            "name     x\n"
            "-------  -\n"
            "\xc3\xa9t\xc3\xa9      1\n"
            "a??[31m  2\n");
}

TEST(Table, Numbers) {
  EXPECT_EQ(number_text(0.123456789), "0.123457");
  EXPECT_EQ(number_text(std::nan("")), "nan");
  EXPECT_EQ(number_text(std::optional<double>()), "-");
  EXPECT_EQ(count_text(12), "12");
  EXPECT_EQ(count_text(std::nullopt), "-");
  EXPECT_EQ(digest_text(""), "-");
  EXPECT_EQ(digest_text("0123456789abcdef"), "0123456789ab");
}

TEST(Table, Bytes) {
  EXPECT_EQ(bytes_text(std::nullopt), "-");
  EXPECT_EQ(bytes_text(0), "0");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1000), "1.0 kB");
  EXPECT_EQ(bytes_text(3136000), "3.1 MB");
  EXPECT_EQ(bytes_text(999949), "999.9 kB");
  EXPECT_EQ(bytes_text(999999), "1.0 MB");
  EXPECT_EQ(bytes_text(UINT64_MAX), "18.4 EB");
}

}  // namespace
}  // namespace mfl
