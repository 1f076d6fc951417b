#include "mfl/report/compare_settings.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mfl/report/brief_names.h"
#include "mfl/report/runs.h"
#include "mfl/report/table.h"

namespace mfl {
namespace {

template <class Get>
std::optional<Spread> spread_over(const Comparison& comparison, const RunSetting& setting, Get get) {
  std::vector<double> values;
  for (const std::size_t i : setting.runs)
    if (const auto value = get(comparison.rows[i])) values.push_back(static_cast<double>(*value));
  return values.size() == setting.runs.size() ? spread_of(values) : std::nullopt;
}

bool same_ground(const RunRow& a, const RunRow& b) {
  return a.model == b.model && a.problem == b.problem && layout_of(a) == layout_of(b) &&
         config_number(a, "seed") == config_number(b, "seed");
}

// A run and the baseline's with the same seed.
struct Pair {
  const CompareRow* run = nullptr;
  const CompareRow* baseline = nullptr;
  bool diverged() const { return run->run.status == RunStatus::kDiverged; }
  bool reached() const { return !diverged() && run->steps_to_target; }
};

struct Pairs {
  std::vector<Pair> pairs;
  std::size_t alone = 0;  // runs for which the baseline has no partner
};

Pairs pairs_of(const Comparison& comparison, const RunSetting& setting, const RunSetting& baseline,
               bool given) {
  std::vector<std::size_t> candidates = setting.runs;
  for (const RunSetting::LeftOut& one : setting.left_out)
    if (comparison.rows[one.run].run.status == RunStatus::kDiverged) candidates.push_back(one.run);
  Pairs out;
  for (const std::size_t i : candidates) {
    const CompareRow& row = comparison.rows[i];
    if (row.losses.end_only()) continue;
    const auto partner = std::ranges::find_if(baseline.runs, [&](std::size_t j) {
      const CompareRow& other = comparison.rows[j];
      return same_ground(row.run, other.run) && row.target && !other.losses.end_only() &&
             (given || (row.target_run == other.run.id && other.steps_to_target.value_or(0) > 0));
    });
    if (partner == baseline.runs.end())
      ++out.alone;
    else
      out.pairs.push_back({&row, &comparison.rows[*partner]});
  }
  return out;
}

bool counts_rounds(const Pair& pair) { return exchanges(pair.run->run) && exchanges(pair.baseline->run); }

std::optional<double> share_of_baseline(const Pair& pair) {
  const bool rounds = counts_rounds(pair);
  const auto& way = rounds ? pair.run->rounds_to_target : pair.run->steps_to_target;
  const auto& whole = rounds ? pair.baseline->rounds_to_target : pair.baseline->steps_to_target;
  if (!pair.reached() || !way || !whole || *whole == 0) return std::nullopt;
  return static_cast<double>(*way) / static_cast<double>(*whole);
}

std::optional<double> bytes_share_of(const Pair& pair) {
  const auto& way = pair.run->bytes_to_target;
  const auto& whole = pair.baseline->bytes_to_target;
  if (!counts_rounds(pair) || !pair.reached() || !way || !whole || *whole == 0) return std::nullopt;
  return static_cast<double>(*way) / static_cast<double>(*whole);
}

std::string share_text(const Spread& spread) {
  return spread.deviation ? fmt::format("{:.2f} ± {:.2f}", spread.mean, *spread.deviation)
                          : fmt::format("{:.2f}", spread.mean);
}

// "0.50 ± 0.03 of the rounds and 1.00 ± 0.06 of the bytes": fewer rounds may well be more bytes.
std::string shares_text(const Headline& headline, bool rounds) {
  constexpr double kSame = 0.005;
  std::string out =
      fmt::format("{} of the {}", share_text(*headline.share), rounds ? "rounds" : "local steps");
  const auto& bytes = headline.bytes_share;
  if (!rounds || !bytes || bytes->count != headline.share->count ||
      std::abs(bytes->mean - headline.share->mean) < kSame)
    return out;
  return out + fmt::format(" and {} of the bytes", share_text(*bytes));
}

std::string seeds_text(std::size_t count) { return fmt::format("{} seed{}", count, count == 1 ? "" : "s"); }

std::string possessive(const std::string& title) {
  return title.find(' ') == std::string::npos ? fmt::format("{}'s final loss", title)
                                              : fmt::format("the final loss of {}", title);
}

// What the reader must know about the seeds, in brackets.
std::string remarks(const Headline& headline, const Pairs& pairs, bool with_count) {
  std::vector<std::string> parts;
  if (with_count) parts.push_back(seeds_text(headline.seeds));
  if (headline.diverged > 0) parts.push_back(fmt::format("{} diverged", headline.diverged));
  if (pairs.alone > 0)
    parts.push_back(
        fmt::format("{} without a run of {} left out", seeds_text(pairs.alone), headline.baseline));
  const bool sampled = std::ranges::any_of(
      pairs.pairs, [](const Pair& pair) { return pair.run->run.sampled || pair.baseline->run.sampled; });
  if (sampled) parts.emplace_back("losses are estimates");
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, "; "));
}

// " within its 120 steps" where it ended before the baseline did.
std::string length_text(const Pairs& pairs) {
  const auto steps = [](const CompareRow* row) { return row->last ? row->last->step : 0; };
  const auto ended = std::ranges::find_if(pairs.pairs, [](const Pair& pair) { return !pair.diverged(); });
  if (ended == pairs.pairs.end() || steps(ended->run) >= steps(ended->baseline)) return {};
  return fmt::format(" within its {} steps", steps(ended->run));
}

std::string against_baseline(const Headline& headline, const Pairs& pairs) {
  const std::string what = possessive(headline.baseline);
  const bool rounds = counts_rounds(pairs.pairs.front());
  if (headline.reached == 0)
    return fmt::format("{} did not reach {}{}{}{}.", headline.setting, what,
                       headline.seeds > 1 ? fmt::format(" in any of {}", seeds_text(headline.seeds)) : "",
                       length_text(pairs), remarks(headline, pairs, headline.seeds == 1));
  if (headline.reached == headline.seeds)
    return fmt::format("{} reached {} in {}{}.", headline.setting, what, shares_text(headline, rounds),
                       remarks(headline, pairs, true));
  return fmt::format("{} reached {} in {} of {}, and there in {}{}.", headline.setting, what,
                     headline.reached, seeds_text(headline.seeds), shares_text(headline, rounds),
                     remarks(headline, pairs, false));
}

std::string to_given_target(const Headline& headline, const Pairs& pairs) {
  const std::string what =
      fmt::format("a training loss of {}", number_text(*pairs.pairs.front().run->target));
  const auto both = static_cast<std::size_t>(std::ranges::count_if(
      pairs.pairs, [](const Pair& pair) { return pair.baseline->steps_to_target.has_value(); }));
  if (headline.reached == headline.seeds && both == headline.seeds && headline.share)
    return fmt::format("{} reached {} in {} of {}{}.", headline.setting, what,
                       shares_text(headline, counts_rounds(pairs.pairs.front())), headline.baseline,
                       remarks(headline, pairs, true));
  return fmt::format("{} reached {} in {} of {}, {} in {}{}.", headline.setting, what, headline.reached,
                     seeds_text(headline.seeds), headline.baseline, both, remarks(headline, pairs, false));
}

// An algorithm's own momentum is part of it and does not count.
std::size_t different_keys(const RunSetting& a, const RunSetting& b) {
  std::size_t count = 0;
  const auto missing_in = [](const RunSetting& other, const ConfigValue& value, bool any_value) {
    return std::ranges::none_of(other.differences, [&](const ConfigValue& one) {
      return one.table == value.table && one.key == value.key && (any_value || one.value == value.value);
    });
  };
  for (const ConfigValue& value : a.differences)
    if (missing_in(b, value, false) && !(value.key == "gamma" && missing_in(b, value, true))) ++count;
  for (const ConfigValue& value : b.differences)
    if (missing_in(a, value, true) && value.key != "gamma") ++count;
  return count;
}

std::optional<Headline> headline_of(const Comparison& comparison, const RunSetting& setting,
                                    const RunSetting& baseline, bool given) {
  const Pairs pairs = pairs_of(comparison, setting, baseline, given);
  if (pairs.pairs.empty()) return std::nullopt;
  const bool mixed = std::ranges::any_of(pairs.pairs, [&](const Pair& pair) {
    return counts_rounds(pair) != counts_rounds(pairs.pairs.front());
  });
  if (mixed) return std::nullopt;
  Headline headline{setting.title, baseline.title, pairs.pairs.size(), 0, 0, {}, {}, {}};
  std::vector<double> shares, bytes;
  for (const Pair& pair : pairs.pairs) {
    headline.reached += pair.reached() ? 1 : 0;
    headline.diverged += pair.diverged() ? 1 : 0;
    if (const auto share = share_of_baseline(pair)) shares.push_back(*share);
    if (const auto share = bytes_share_of(pair)) bytes.push_back(*share);
  }
  headline.share = spread_of(shares);
  headline.bytes_share = spread_of(bytes);
  headline.text = given ? to_given_target(headline, pairs) : against_baseline(headline, pairs);
  return headline;
}

}  // namespace

bool exchanges(const RunRow& run) {
  return run.summary && run.summary->bytes_up + run.summary->bytes_down > 0;
}

std::vector<SettingRow> setting_rows(const Comparison& comparison) {
  std::vector<SettingRow> out;
  for (std::size_t s = 0; s < comparison.settings.all.size(); ++s) {
    const RunSetting& setting = comparison.settings.all[s];
    const auto over = [&](auto get) { return spread_over(comparison, setting, get); };
    SettingRow row;
    row.setting = s;
    row.loss = over([](const CompareRow& one) { return one.last->train_loss; });
    row.test_loss = over([](const CompareRow& one) { return one.last->test_loss; });
    row.accuracy = over([](const CompareRow& one) { return one.last->test_accuracy; });
    for (const std::size_t i : setting.runs) {
      const CompareRow& one = comparison.rows[i];
      if (!one.target || one.losses.end_only()) continue;
      ++row.with_target;
      row.reached += one.steps_to_target ? 1 : 0;
    }
    row.steps_to_target = over([](const CompareRow& one) { return one.steps_to_target; });
    row.rounds_to_target = over([](const CompareRow& one) { return one.rounds_to_target; });
    row.bytes_to_target = over([](const CompareRow& one) { return one.bytes_to_target; });
    row.seconds_to_target = over([](const CompareRow& one) { return one.seconds_to_target; });
    out.push_back(row);
  }
  return out;
}

std::vector<Headline> headlines_of(const Comparison& comparison, const CompareOptions& options) {
  std::vector<Headline> out;
  const auto is_baseline = [&](const RunSetting& setting) {
    return !setting.runs.empty() &&
           is_algorithm(comparison.rows[setting.first()].run.algorithm, options.baseline);
  };
  for (const RunSetting& setting : comparison.settings.all)
    for (const RunSetting& baseline : comparison.settings.all) {
      if (&setting == &baseline || !is_baseline(baseline)) continue;
      auto headline = headline_of(comparison, setting, baseline, options.target.has_value());
      if (!headline) continue;
      const Layout layout = layout_of(comparison.rows[setting.first()].run);
      const auto choices = std::ranges::count_if(comparison.settings.all, [&](const RunSetting& one) {
        return is_baseline(one) && layout_of(comparison.rows[one.first()].run) == layout;
      });
      if (choices > 1 && different_keys(setting, baseline) > 1) continue;
      out.push_back(std::move(*headline));
      break;
    }
  return out;
}

}  // namespace mfl
