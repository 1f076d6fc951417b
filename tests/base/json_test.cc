#include "mfl/base/json.h"

#include <gtest/gtest.h>

#include <limits>

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

}  // namespace
}  // namespace mfl
