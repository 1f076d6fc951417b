#include "mfl/report/typeset.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <utility>

#include "mfl/report/page.h"

namespace mfl {
namespace {

using Sign = std::pair<std::string_view, std::string_view>;

constexpr std::array<Sign, 12> kWords = {{{"alpha", "α"},
                                          {"beta", "β"},
                                          {"gamma", "γ"},
                                          {"delta", "δ"},
                                          {"eta", "η"},
                                          {"theta", "θ"},
                                          {"lambda", "λ"},
                                          {"mu", "μ"},
                                          {"rho", "ρ"},
                                          {"tau", "τ"},
                                          {"omega", "ω"},
                                          {"grad", "∇"}}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <class Is>
std::size_t run_length(std::string_view text, Is is) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is) - text.begin());
}

class Typesetter {
 public:
  explicit Typesetter(std::string_view text) : left_(text) {}

  std::string html() {
    while (!left_.empty()) {
      if (is_letter(left_.front()))
        word();
      else if (is_digit(left_.front()))
        number();
      else
        sign();
    }
    return std::move(out_);
  }

 private:
  std::string_view take(std::size_t count) {
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(taken.size());
    last_ = taken.empty() ? last_ : taken.back();
    return taken;
  }

  void word() {
    const std::string_view name = take(run_length(left_, is_letter));
    const auto* known = std::ranges::find(kWords, name, &Sign::first);
    const bool symbol = known != kWords.end() || name.size() == 1;
    out_ += known != kWords.end() ? known->second : name;
    if (name == "grad" && left_.starts_with(' ')) take(1);
    if (!symbol) return;
    if (left_.starts_with('*') && (left_.size() < 2 || !is_letter(left_[1]))) {
      take(1);
      out_ += "<sup>*</sup>";
    }
    script('_', "sub");
    script('^', "sup");
  }

  void number() {
    const auto in_number = [](char c) { return is_digit(c) || c == '.'; };
    std::size_t length = run_length(left_, in_number);
    if (length > 1 && left_[length - 1] == '.') --length;  // the full stop of the sentence
    const std::string_view digits = take(length);
    int power = 0;
    const bool scaled =
        left_.size() > 2 && left_[0] == 'e' && (left_[1] == '-' || left_[1] == '+') && is_digit(left_[2]);
    if (!scaled) {
      out_ += digits;
      return;
    }
    const bool negative = left_[1] == '-';
    take(2);
    const std::string_view exponent = take(run_length(left_, is_digit));
    std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
    out_ += fmt::format("{}10<sup>{}{}</sup>", digits == "1" ? "" : fmt::format("{} × ", digits),
                        negative ? "−" : "", power);
  }

  // What follows '_' or '^': a word, a number, or what is in brackets with them.
  void script(char mark, std::string_view element) {
    if (left_.size() < 2 || left_.front() != mark) return;
    const std::string_view rest = left_.substr(1);
    std::size_t length = run_length(rest, [](char c) { return is_letter(c) || is_digit(c); });
    if (rest.front() == '[' && rest.find(']') != std::string_view::npos) length = rest.find(']') + 1;
    if (length == 0) return;
    take(1);
    out_ += fmt::format("<{0}>{1}</{0}>", element, html_escaped(take(length)));
  }

  void sign() {
    constexpr std::array<Sign, 2> kPairs = {{{"<=", "≤"}, {">=", "≥"}}};
    for (const auto& [text, written] : kPairs)
      if (left_.starts_with(text)) {
        take(text.size());
        out_ += written;
        return;
      }
    const bool minus =
        left_.starts_with("- ") || (left_.size() > 1 && left_.front() == '-' && is_digit(left_[1]));
    if (minus && !is_letter(last_) && !is_digit(last_)) {
      take(1);
      out_ += "−";
      return;
    }
    // Whole characters: all up to the next that may mean something.
    const std::size_t length =
        1 + run_length(left_.substr(1), [](char c) {
          return !is_letter(c) && !is_digit(c) && c != '<' && c != '>' && c != '-' && c != '^';
        });
    const std::string_view taken = take(length);
    out_ += html_escaped(taken);
    if (taken.back() == '|') script('^', "sup");
  }

  std::string_view left_;
  std::string out_;
  char last_ = ' ';
};

}  // namespace

std::string typeset_html(std::string_view text) { return Typesetter(text).html(); }

}  // namespace mfl
