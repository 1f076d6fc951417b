#include "mfl/base/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace mfl {
namespace {

TEST(Json, BracedListsAreObjectsOfPairsAndArraysOtherwise) {
  const Json object = {{"b", 1}, {"a", {{"x", nullptr}, {"y", true}}}, {"list", {1, 2.5, "three"}}};
  EXPECT_EQ(object.dump(), R"({"b":1,"a":{"x":null,"y":true},"list":[1,2.5,"three"]})");
  EXPECT_EQ(object.sorted().dump(), R"({"a":{"x":null,"y":true},"b":1,"list":[1,2.5,"three"]})");
  EXPECT_EQ(Json::array().dump(), "[]");
  EXPECT_EQ(Json::object().dump(), "{}");
  EXPECT_EQ(Json().dump(), "null");
}

TEST(Json, NumbersKeepTheirKindAndBits) {
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()).dump(), "18446744073709551615");
  EXPECT_EQ(Json(std::numeric_limits<std::int64_t>::min()).dump(), "-9223372036854775808");
  EXPECT_EQ(Json(1.0).dump(), "1.0");
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
  EXPECT_EQ(Json(std::optional<double>{}).dump(), "null");
  EXPECT_EQ(Json(std::optional<std::uint64_t>{3}).dump(), "3");
}

TEST(Json, TextIsEscapedAndRepaired) {
  EXPECT_EQ(Json("a\"\\\n\x01").dump(), R"("a\"\\\n\u0001")");
  EXPECT_EQ(Json("bad \xff").dump(), "\"bad \xef\xbf\xbd\"");
}

TEST(Json, MembersAreAddedFoundReplacedAndErased) {
  Json json;
  json["one"] = 1;
  json["two"].push_back("x");
  json.update({{"one", "new"}, {"three", 3}});
  EXPECT_EQ(json.dump(), R"({"one":"new","two":["x"],"three":3})");
  json.erase("two");
  json.erase("never there");
  EXPECT_EQ(json.find("two"), nullptr);
  ASSERT_NE(json.find("one"), nullptr);
  EXPECT_EQ(json.find("one")->text(), "new");
}

TEST(Json, ReadsBackWhatItWrites) {
  const std::string text = R"({"b":[1,-2,0.5,null,true,"ü"],"a":{}})";
  const auto parsed = Json::parse(text);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->dump(), text);
  EXPECT_EQ(parsed->dump(1),
            "{\n \"b\": [\n  1,\n  -2,\n  0.5,\n  null,\n  true,\n  \"ü\"\n ],\n \"a\": {}\n}");
  EXPECT_FALSE(Json::parse("{"));
}

std::string nested(std::size_t levels, const std::string& open, const std::string& close) {
  std::string out;
  for (std::size_t i = 0; i < levels; ++i) out += open;
  out += "0";
  for (std::size_t i = 0; i < levels; ++i) out += close;
  return out;
}

TEST(Json, IsNestedOnlySoDeep) {
  for (const auto& [open, close] : {std::pair{"[", "]"}, {R"({"a":)", "}"}, {R"([{"a":)", "}]"}}) {
    const std::size_t each = std::string_view(close).size();
    const std::string deepest = nested(Json::kMostLevels / each, open, close);
    const auto parsed = Json::parse(deepest);
    ASSERT_TRUE(parsed) << open;
    EXPECT_EQ(parsed->dump(), deepest);
    EXPECT_EQ(parsed->sorted().dump(), deepest);
    for (const std::size_t levels :
         {Json::kMostLevels / each + 1, std::size_t{20'000}, std::size_t{5'000'000}}) {
      const auto refused = Json::parse(nested(levels, open, close));
      ASSERT_FALSE(refused) << open;
      EXPECT_EQ(refused.error().message, "is nested deeper than 64 levels");
    }
    EXPECT_FALSE(Json::parse(nested(5'000'000, open, "")));
  }
}

// A search for each name so far would take hours for this many.
TEST(Json, TakesWideObjectsAndNoNameTwice) {
  constexpr int kNames = 1'000'000;
  std::string text = "{";
  for (int i = 0; i < kNames; ++i) text += "\"n" + std::to_string(i) + "\":0,";
  const auto wide = Json::parse(text + "\"last\":1}");
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->members().size(), kNames + 1U);
  const auto twice = Json::parse(text + "\"n7\":1}");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message, "names a member twice");
  EXPECT_FALSE(Json::parse(R"([{"a":{"b":1,"b":1}}])"));
  EXPECT_TRUE(Json::parse(R"([{"a":1},{"a":1,"b":{"a":1}}])"));
}

}  // namespace
}  // namespace mfl
