#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mfl/report/plot.h"

namespace mfl {
namespace {

// "⁻⁷" of -7.
std::string superscript(int number) {
  constexpr std::array<std::string_view, 10> kDigits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out;
  for (const char c : fmt::to_string(number))
    out += c == '-' ? std::string_view("⁻") : kDigits.at(static_cast<std::size_t>(c - '0'));
  return out;
}

// "10⁻⁷", "2.5×10⁷".
std::string power_text(double value) {
  const std::string text = fmt::format("{:.3g}", value);
  const std::size_t at = text.find('e');
  if (at == std::string::npos) return text;
  const std::string power = "10" + superscript(std::stoi(text.substr(at + 1)));
  const std::string mantissa = text.substr(0, at);
  return mantissa == "1" ? power : mantissa == "-1" ? "-" + power : mantissa + "×" + power;
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, bool log) {
  std::vector<double> ticks;
  if (log && high / low >= 10) {
    const int every = static_cast<int>(std::ceil(std::log10(high / low) / 7));
    const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
    for (int power = static_cast<int>(std::ceil(std::log10(low) - 1e-9)); power <= last; power += every)
      ticks.push_back(std::pow(10, power));
    return ticks;
  }
  const double rough = (high - low) / 5;
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  const double share = rough / decade;
  const double step = decade * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  if (!(step > 0) || !std::isfinite(step)) return {low};
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; (first + i) * step <= high + 1e-9 * step; ++i) ticks.push_back((first + i) * step);
  return ticks;
}

std::string tick_text(double value, double step) {
  const double size = std::abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-4 && step < 1e-6)) return power_text(value);
  const double finest = step > 0 ? step : size > 0 ? std::pow(10, std::floor(std::log10(size) + 1e-9)) : 1;
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(finest) - 1e-9)), 0, 12);
  std::string text = fmt::format("{:.{}f}", value == 0 ? 0.0 : value, digits);
  const std::size_t whole = std::min(text.find('.'), text.size());
  for (std::size_t at = whole; at > 3 && text[at - 4] != '-'; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace mfl
