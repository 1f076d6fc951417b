#include "mfl/experiment/spread.h"

#include <fmt/core.h>

#include "mfl/base/math.h"
#include "mfl/experiment/config_values.h"

namespace mfl {
namespace {

constexpr std::string_view kUniform = "uniform", kLognormal = "lognormal";
constexpr NumberRange kSigma{[](double x) { return x >= 0 && x <= 10; }, "in [0, 10]"};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

tl::unexpected<Error> bad_spread(const NumberRange& range) {
  return fail(
      ErrorCode::kBadConfig,
      fmt::format("must be a number {}, uniform(LEAST, GREATEST) or lognormal(MEDIAN, SIGMA)", range.text));
}

}  // namespace

Result<Spread> parse_spread(std::string_view text, const NumberRange& range) {
  text = trimmed(text);
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) {
    const auto number = number_value(text, range);
    if (!number) return bad_spread(range);
    return Spread{Spread::Kind::kFixed, *number, 0};
  }
  const std::string_view name = trimmed(text.substr(0, open));
  const std::size_t comma = text.find(',');
  if ((name != kUniform && name != kLognormal) || !text.ends_with(')') || comma == std::string_view::npos)
    return bad_spread(range);
  const std::string_view second_text = trimmed(text.substr(comma + 1, text.size() - comma - 2));
  const auto first = number_value(trimmed(text.substr(open + 1, comma - open - 1)), range);
  const auto second = number_value(second_text, name == kUniform ? range : kSigma);
  if (!first) return bad_spread(range);
  if (!second)
    return fail(ErrorCode::kBadConfig, fmt::format("{}: {} {}", name, name == kUniform ? "GREATEST" : "SIGMA",
                                                   second.error().message));
  if (name == kLognormal) return Spread{Spread::Kind::kLognormal, *first, *second};
  if (*first > *second) return fail(ErrorCode::kBadConfig, "uniform: LEAST is above GREATEST");
  return Spread{Spread::Kind::kUniform, *first, *second};
}

std::string spread_text(const Spread& spread) {
  switch (spread.kind) {
    case Spread::Kind::kFixed: return toml_number(spread.first);
    case Spread::Kind::kUniform:
      return fmt::format("{}({}, {})", kUniform, toml_number(spread.first), toml_number(spread.second));
    case Spread::Kind::kLognormal:
      return fmt::format("{}({}, {})", kLognormal, toml_number(spread.first), toml_number(spread.second));
  }
  return {};
}

double draw(const Spread& spread, Stream stream) {
  switch (spread.kind) {
    case Spread::Kind::kFixed: return spread.first;
    case Spread::Kind::kUniform: return spread.first + (spread.second - spread.first) * stream.uniform();
    case Spread::Kind::kLognormal: return spread.first * portable_exp(spread.second * stream.normal());
  }
  return spread.first;
}

}  // namespace mfl
