#include "mfl/base/catalog.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <tuple>

namespace mfl {
namespace {

constexpr NumberRange kAny{[](double x) { return !std::isnan(x); }, "of any size"};
constexpr NumberRange kPositive{[](double x) { return x > 0; }, "> 0"};
constexpr NumberRange kShare{[](double x) { return x >= 0 && x < 0.5; }, "in [0, 0.5)"};

struct Shape : CatalogEntry {
  int corners = 0;
};

std::vector<Shape> built_in_shapes() {
  return {
      {{.name = "point", .description = "nothing"}, 0},
      {{.name = "square",
        .aliases = {"quad", "box"},
        .parameters = {{.name = "side", .help = "length", .range = kPositive}}},
       4},
      {{.name = "polygon",
        .parameters = {{.name = "corners", .help = "how many", .range = kPositive, .whole = true},
                       {.name = "size", .help = "radius", .range = kPositive, .default_value = 1e-5},
                       {.name = "tilt", .help = "angle", .range = kShare, .optional = true},
                       {.name = "reach",
                        .help = "limit",
                        .range = kPositive,
                        .default_value = 2,
                        .may_be_infinite = true}}},
       5},
      {{.name = "line", .parameters = {{.name = "offset", .help = "place", .range = kAny}}}, 2},
  };
}

class CatalogTest : public ::testing::Test {
 protected:
  std::string canonical(std::string_view text) const {
    const auto spec = parse_spec(text, shapes_);
    return spec ? spec->text : spec.error().text();
  }

  Catalog<Shape> shapes_{"shape", built_in_shapes()};
};

TEST_F(CatalogTest, FindsByNameAndAliasInTheOrderOfTheTable) {
  ASSERT_NE(shapes_.find("square"), nullptr);
  EXPECT_EQ(shapes_.find("square")->corners, 4);
  EXPECT_EQ(shapes_.find("quad"), shapes_.find("square"));
  EXPECT_EQ(shapes_.find("box"), shapes_.find("square"));
  EXPECT_EQ(shapes_.find("Square"), nullptr);
  EXPECT_EQ(shapes_.find(""), nullptr);
  std::vector<std::string> names;
  for (const Shape& shape : shapes_) names.push_back(shape.name);
  EXPECT_EQ(names, (std::vector<std::string>{"point", "square", "polygon", "line"}));
  EXPECT_EQ(shapes_.size(), 4U);
  EXPECT_EQ(shapes_.kind(), "shape");
}

TEST_F(CatalogTest, TakesFurtherEntriesAndKeepsPointers) {
  const Shape* square = shapes_.find("square");
  for (int i = 0; i < 100; ++i) shapes_.add({{.name = "extra" + std::to_string(i), .aliases = {}}, i});
  EXPECT_EQ(shapes_.find("square"), square);
  EXPECT_EQ(square->corners, 4);
  const auto spec = parse_spec("extra7()", shapes_);
  ASSERT_TRUE(spec) << spec.error().text();
  EXPECT_EQ(spec->entry->corners, 7);
  EXPECT_EQ(spec->text, "extra7");
}

TEST_F(CatalogTest, RefusesAmbiguousEntries) {
  const Parameter side{.name = "side", .help = "length", .range = kPositive};
  const std::vector<CatalogEntry> bad = {
      {.name = "square"},
      {.name = "quad"},
      {.name = "new", .aliases = {"point"}},
      {.name = "new", .aliases = {"box"}},
      {.name = "new", .aliases = {"new"}},
      {.name = "new", .aliases = {"other", "other"}},
      {.name = ""},
      {.name = "a b"},
      {.name = "a(b"},
      {.name = "new", .aliases = {"a,b"}},
      {.name = "new", .parameters = {side, side}},
      {.name = "new", .parameters = {{.name = "a=b", .help = "", .range = kPositive}}},
      {.name = "new", .parameters = {{.name = "", .help = "", .range = kPositive}}},
      {.name = "new", .parameters = {{.name = "a", .help = "", .range = {nullptr, "none"}}}},
      {.name = "new", .parameters = {{.name = "a", .help = "", .range = kPositive, .default_value = -1}}},
      {.name = "new",
       .parameters = {{.name = "a", .help = "", .range = kPositive, .default_value = 1.5, .whole = true}}},
      {.name = "new",
       .parameters = {{.name = "a",
                       .help = "",
                       .range = kPositive,
                       .default_value = std::numeric_limits<double>::infinity()}}},
  };
  for (const CatalogEntry& entry : bad) {
    EXPECT_THROW(shapes_.add({entry, 1}), std::invalid_argument) << entry.name;
    EXPECT_EQ(shapes_.size(), 4U);
    EXPECT_EQ(shapes_.find("new"), nullptr);
  }
}

TEST_F(CatalogTest, UnknownNamesComeWithTheNearestOne) {
  const auto near = shapes_.get("sqare");
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(near.error().text(), "unknown shape \"sqare\"; did you mean \"square\"?");
  EXPECT_EQ(near.error().hint, "known: point, square, polygon, line");
  EXPECT_EQ(shapes_.get("qud").error().text(), "unknown shape \"qud\"; did you mean \"quad\"?");
  EXPECT_EQ(shapes_.get("hyperboloid").error().text(), "unknown shape \"hyperboloid\"");
  EXPECT_EQ(*shapes_.get("box"), shapes_.find("square"));
}

TEST_F(CatalogTest, SpecsHaveOneCanonicalText) {
  EXPECT_EQ(canonical("point"), "point");
  EXPECT_EQ(canonical("  point\t( ) \n"), "point");
  EXPECT_EQ(canonical("square(2)"), "square(side=2)");
  EXPECT_EQ(canonical("box( side =2.50 )"), "square(side=2.5)");
  EXPECT_EQ(canonical("square(1e-3)"), "square(side=0.001)");
  EXPECT_EQ(canonical("square(0.1)"), "square(side=0.1)");
  EXPECT_EQ(canonical("polygon(5)"), "polygon(corners=5, size=1e-05, reach=2)");
  EXPECT_EQ(canonical("polygon(5,3)"), "polygon(corners=5, size=3, reach=2)");
  EXPECT_EQ(canonical("polygon(5, reach=inf, tilt=0.25)"),
            "polygon(corners=5, size=1e-05, tilt=0.25, reach=inf)");
  EXPECT_EQ(canonical("polygon(reach=7,corners=5.0,size=1)"), "polygon(corners=5, size=1, reach=7)");
  EXPECT_EQ(canonical("polygon(9007199254740992)"), "polygon(corners=9007199254740992, size=1e-05, reach=2)");
  EXPECT_EQ(canonical("line(-0)"), "line(offset=0)");
}

TEST_F(CatalogTest, ValuesComeFromTheTextAndTheDefaults) {
  const auto spec = parse_spec("polygon(5, reach=inf)", shapes_);
  ASSERT_TRUE(spec) << spec.error().text();
  EXPECT_EQ(spec->entry->corners, 5);
  EXPECT_EQ(spec->values.count("corners"), 5U);
  EXPECT_EQ(spec->values.number("size"), 1e-5);
  EXPECT_EQ(spec->values.number("reach"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(spec->values.find("tilt"), std::nullopt);
  EXPECT_EQ(spec->values.find("side"), std::nullopt);
  EXPECT_THROW(std::ignore = spec->values.number("tilt"), std::out_of_range);
}

TEST_F(CatalogTest, BadSpecsSayWhatIsWrongAndWhatToWrite) {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"", "missing shape"},
      {"(2)", "missing shape"},
      {"pint", "unknown shape \"pint\"; did you mean \"point\"?"},
      {"square", "square: missing parameter \"side\" (length)"},
      {"square()", "square: missing parameter \"side\" (length)"},
      {"box", "square: missing parameter \"side\" (length)"},
      {"polygon(size=2)", "polygon: missing parameter \"corners\" (how many)"},
      {"point(1)", "point: takes no parameters"},
      {"square(1, 2)", "square: takes at most 1 parameter"},
      {"polygon(1, 2, 0, 4, 5)", "polygon: takes at most 4 parameters"},
      {"square(sid=1)", "square: unknown parameter \"sid\"; did you mean \"side\"?"},
      {"square(=1)", "square: unknown parameter \"\""},
      {"square(side=1, side=2)", "square: duplicate parameter \"side\""},
      {"square(1, side=2)", "square: duplicate parameter \"side\""},
      {"polygon(corners=5, 2)", "polygon: \"2\" has no name and follows a named value"},
      {"square(0)", "square: \"side\" must be a number > 0, not \"0\""},
      {"square(-1)", "square: \"side\" must be a number > 0, not \"-1\""},
      {"square(inf)", "square: \"side\" must be a number > 0, not \"inf\""},
      {"square(nan)", "square: \"side\" must be a number > 0, not \"nan\""},
      {"square(1e999)", "square: \"side\" must be a number > 0, not \"1e999\""},
      {"square(1x)", "square: \"side\" must be a number > 0, not \"1x\""},
      {"square(1 2)", "square: \"side\" must be a number > 0, not \"1 2\""},
      {"square(side=)", "square: \"side\" must be a number > 0, not \"\""},
      {"square(,)", "square: \"side\" must be a number > 0, not \"\""},
      {"square(1,)", "square: missing value after the last comma"},
      {"square(1, )", "square: missing value after the last comma"},
      {"polygon(5, tilt=0.5)", "polygon: \"tilt\" must be a number in [0, 0.5), not \"0.5\""},
      {"polygon(2.5)", "polygon: \"corners\" must be a whole number > 0, not \"2.5\""},
      {"polygon(1e16)", "polygon: \"corners\" must be a whole number > 0, not \"1e16\""},
      {"polygon(5, reach=-inf)", "polygon: \"reach\" must be a number > 0, or inf, not \"-inf\""},
      {"square(1", "square: missing \")\""},
      {"square(1) 2", "square: unexpected \"2\" after \")\""},
      {"square(1))", "square: unexpected \")\" after \")\""},
      {"square 1", "unknown shape \"square 1\"; did you mean \"square\"?"},
      {"square(a\x01)", "square: \"side\" must be a number > 0, not \"a\\x01\""},
  };
  for (const auto& [text, message] : table) {
    const auto spec = parse_spec(text, shapes_);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code, ErrorCode::kBadConfig) << text;
    EXPECT_EQ(spec.error().text(), message) << text;
    EXPECT_FALSE(spec.error().hint.empty()) << text;
  }
  EXPECT_EQ(parse_spec("polygon", shapes_).error().hint,
            "write polygon(corners, size=1e-05, [tilt], reach=2)");
  EXPECT_EQ(parse_spec("point(1)", shapes_).error().hint, "write point");
  const auto lengthy = parse_spec(std::string(100000, 'x'), shapes_);
  ASSERT_FALSE(lengthy);
  EXPECT_LT(lengthy.error().text().size(), 200U);
}

TEST(CatalogText, AnEntryMayTakeATextThatIsKeptAsItIs) {
  Catalog<Shape> shapes(
      "shape", {{{.name = "point"}, 0}, {{.name = "outline", .aliases = {"svg"}, .text = "PATH"}, 9}});
  for (const char* text : {"a.svg", "a(b, c=d)", " a\t\n", ":", "x:y"}) {
    const auto spec = parse_spec(std::string(" svg :") + text, shapes);
    ASSERT_TRUE(spec) << spec.error().text();
    EXPECT_EQ(spec->entry->corners, 9);
    EXPECT_EQ(spec->values.text(), text);
    EXPECT_EQ(spec->text, std::string("outline:") + text);
    EXPECT_EQ(parse_spec(spec->text, shapes)->text, spec->text);
  }
  EXPECT_EQ(parse_spec("point", shapes)->values.text(), "");
  EXPECT_EQ(usage_text(*shapes.find("outline")), "outline:PATH");
  const std::pair<const char*, const char*> bad[] = {
      {"outline", "outline: missing PATH"},
      {"outline:", "outline: missing PATH"},
      {"outline()", "outline: missing PATH"},
      {"outline(a.svg)", "outline: missing PATH"},
      {"outlin:a.svg", "unknown shape \"outlin\"; did you mean \"outline\"?"},
      {"point:a.svg", "point: unexpected \":a.svg\""},
      {":a.svg", "missing shape"}};
  for (const auto& [text, message] : bad) {
    const auto spec = parse_spec(text, shapes);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().text(), message);
  }
  EXPECT_EQ(parse_spec("outline", shapes).error().hint, "write outline:PATH");
  shapes.add({{.name = "frame", .text = "PATH", .text_optional = true}, 4});
  EXPECT_EQ(usage_text(*shapes.find("frame")), "frame[:PATH]");
  EXPECT_EQ(choice_text(*shapes.find("frame")), "frame");
  EXPECT_EQ(choice_text(*shapes.find("outline")), "outline:");
  for (const char* text : {"frame", "frame:a.svg"}) EXPECT_EQ(parse_spec(text, shapes)->text, text);
  EXPECT_EQ(parse_spec("frame", shapes)->values.text(), "");
  EXPECT_EQ(parse_spec("frame:", shapes).error().text(), "frame: missing PATH");
  EXPECT_EQ(parse_spec("frame(2)", shapes).error().text(), "frame: missing PATH");
  EXPECT_THROW(shapes.add({{.name = "both",
                            .parameters = {{.name = "side", .help = "length", .range = kPositive}},
                            .text = "PATH"},
                           1}),
               std::invalid_argument);
}

TEST_F(CatalogTest, NumbersReadBackToTheSameBits) {
  EXPECT_TRUE(rc::check([this] {
    const double any = std::bit_cast<double>(*rc::gen::resize(
        rc::kNominalSize, rc::gen::inRange<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max())));
    RC_PRE(std::isfinite(any));
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "line(%.17g)", any);
    const auto first = parse_spec(text.data(), shapes_);
    RC_ASSERT(first.has_value());
    RC_ASSERT(std::bit_cast<std::uint64_t>(first->values.number("offset")) ==
              std::bit_cast<std::uint64_t>(any + 0.0));
    const auto second = parse_spec(first->text, shapes_);
    RC_ASSERT(second.has_value());
    RC_ASSERT(second->text == first->text);
    RC_ASSERT(second->values.number("offset") == first->values.number("offset"));
  }));
}

TEST_F(CatalogTest, AnyTextIsRefusedOrHasACanonicalForm) {
  EXPECT_TRUE(rc::check([this] {
    const auto arguments = *rc::gen::resize(
        3, rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
               "5", "0.2", " corners = 5", "size=3e-7 ", "tilt=.1", "reach=inf", "side=2", "offset=-1e300")));
    std::string text = *rc::gen::element<std::string>("polygon", "square", "box", "point", "line") + "(";
    for (const std::string& argument : arguments) text += (text.back() == '(' ? "" : ",") + argument;
    text += ")";
    if (*rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, 3)) == 0)
      text[*rc::gen::inRange<std::size_t>(0, text.size())] =
          *rc::gen::element('(', ')', '=', ',', ' ', '\xff');
    const auto spec = parse_spec(text, shapes_);
    RC_CLASSIFY(spec.has_value());
    if (!spec) return;
    const auto again = parse_spec(spec->text, shapes_);
    RC_ASSERT(again.has_value());
    RC_ASSERT(again->text == spec->text);
    RC_ASSERT(again->entry == spec->entry);
    for (const Parameter& parameter : spec->entry->parameters)
      RC_ASSERT(again->values.find(parameter.name) == spec->values.find(parameter.name));
  }));
}

}  // namespace
}  // namespace mfl
