#include "mfl/config/distribution.h"

#include <fmt/core.h>

#include "mfl/base/math.h"
#include "mfl/config/config_values.h"

namespace mfl {
namespace {

constexpr std::string_view kUniform = "uniform", kLognormal = "lognormal";
constexpr NumberRange kSigma{[](double x) { return x >= 0 && x <= 10; }, "in [0, 10]"};

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

tl::unexpected<Error> bad_distribution(const NumberRange& range) {
  return fail(
      ErrorCode::kBadConfig,
      fmt::format("must be a number {}, uniform(LEAST, GREATEST) or lognormal(MEDIAN, SIGMA)", range.text));
}

}  // namespace

Result<Distribution> parse_distribution(std::string_view text, const NumberRange& range) {
  text = without_blanks(text);
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) {
    const auto number = number_value(text, range);
    if (!number) return bad_distribution(range);
    return Distribution{Distribution::Kind::kFixed, *number, 0};
  }
  const std::string_view name = without_blanks(text.substr(0, open));
  const std::size_t comma = text.find(',');
  if ((name != kUniform && name != kLognormal) || !text.ends_with(')') || comma == std::string_view::npos)
    return bad_distribution(range);
  const std::string_view second_text = without_blanks(text.substr(comma + 1, text.size() - comma - 2));
  const auto first = number_value(without_blanks(text.substr(open + 1, comma - open - 1)), range);
  const auto second = number_value(second_text, name == kUniform ? range : kSigma);
  if (!first) return bad_distribution(range);
  if (!second)
    return fail(ErrorCode::kBadConfig, fmt::format("{}: {} {}", name, name == kUniform ? "GREATEST" : "SIGMA",
                                                   second.error().message));
  if (name == kLognormal) return Distribution{Distribution::Kind::kLognormal, *first, *second};
  if (*first > *second) return fail(ErrorCode::kBadConfig, "uniform: LEAST is above GREATEST");
  return Distribution{Distribution::Kind::kUniform, *first, *second};
}

std::string distribution_text(const Distribution& distribution) {
  switch (distribution.kind) {
    case Distribution::Kind::kFixed: return toml_number(distribution.first);
    case Distribution::Kind::kUniform:
      return fmt::format("{}({}, {})", kUniform, toml_number(distribution.first),
                         toml_number(distribution.second));
    case Distribution::Kind::kLognormal:
      return fmt::format("{}({}, {})", kLognormal, toml_number(distribution.first),
                         toml_number(distribution.second));
  }
  return {};
}

double draw(const Distribution& distribution, Stream stream) {
  switch (distribution.kind) {
    case Distribution::Kind::kFixed: return distribution.first;
    case Distribution::Kind::kUniform:
      return distribution.first + (distribution.second - distribution.first) * stream.uniform();
    case Distribution::Kind::kLognormal:
      return distribution.first * portable_exp(distribution.second * stream.normal());
  }
  return distribution.first;
}

}  // namespace mfl
