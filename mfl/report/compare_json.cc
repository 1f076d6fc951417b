#include <cmath>
#include <utility>

#include "mfl/record/export.h"
#include "mfl/report/compare.h"
#include "mfl/report/runs.h"

namespace mfl {
namespace {

Json number_json(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json count_json(const std::optional<std::uint64_t>& value) { return value ? Json(*value) : Json(nullptr); }

Json spread_json(const std::optional<Spread>& spread) {
  if (!spread) return nullptr;
  return {
      {"mean", number_json(spread->mean)}, {"sd", number_json(spread->deviation)}, {"count", spread->count}};
}

Json config_json(const std::vector<ConfigValue>& values) {
  Json out = Json::object();
  for (const ConfigValue& value : values) out[value.table + "." + value.key] = value.value;
  return out;
}

Json setting_json(const Comparison& comparison, const SettingRow& row) {
  const RunSetting& setting = comparison.settings.all[row.setting];
  Json one = {{"title", setting.title},
              {"differences", config_json(setting.differences)},
              {"runs", Json::array()},
              {"seeds", Json::array()},
              {"left_out", Json::array()},
              {"train_loss", spread_json(row.loss)},
              {"test_loss", spread_json(row.test_loss)},
              {"test_accuracy", spread_json(row.accuracy)},
              {"with_target", row.with_target},
              {"reached", row.reached},
              {"steps_to_target", spread_json(row.steps_to_target)},
              {"rounds_to_target", spread_json(row.rounds_to_target)},
              {"bytes_to_target", spread_json(row.bytes_to_target)},
              {"virtual_seconds_to_target", spread_json(row.seconds_to_target)}};
  for (const std::size_t i : setting.runs) one["runs"].push_back(comparison.rows[i].run.id);
  if (config_number(comparison.rows[setting.first()].run, "seed"))
    for (const std::uint64_t seed : setting.seeds) one["seeds"].push_back(seed);
  for (const RunSetting::LeftOut& left : setting.left_out)
    one["left_out"].push_back({{"run", comparison.rows[left.run].run.id}, {"reason", left.reason}});
  return one;
}

Json headline_json(const Headline& headline) {
  return {{"setting", headline.setting},
          {"baseline", headline.baseline},
          {"seeds", headline.seeds},
          {"reached", headline.reached},
          {"diverged", headline.diverged},
          {"share", spread_json(headline.share)},
          {"bytes_share", spread_json(headline.bytes_share)},
          {"text", headline.text}};
}

}  // namespace

Json compare_json(const Comparison& comparison) {
  Json out = {{"runs", Json::array()},      {"targets", Json::array()},
              {"partings", Json::array()},  {"settings", Json::array()},
              {"headlines", Json::array()}, {"common_config", config_json(comparison.settings.common)}};
  for (const SettingRow& row : comparison.setting_rows)
    out["settings"].push_back(setting_json(comparison, row));
  for (const Headline& headline : comparison.headlines) out["headlines"].push_back(headline_json(headline));
  for (const CompareRow& row : comparison.rows) {
    Json one = run_json(row.run);
    one.erase("config");
    one.erase("test_metrics");
    one["shown_status"] = shown_status(row.run);
    one["train_losses"] = row.losses.measured;
    one["target"] = number_json(row.target);
    one["steps_to_target"] = count_json(row.steps_to_target);
    one["rounds_to_target"] = count_json(row.rounds_to_target);
    one["bytes_to_target"] = count_json(row.bytes_to_target);
    one["virtual_seconds_to_target"] = number_json(row.seconds_to_target);
    out["runs"].push_back(std::move(one));
  }
  for (const Target& target : comparison.targets)
    out["targets"].push_back({{"model", target.model},
                              {"data", target.data},
                              {"train_loss", number_json(target.loss)},
                              {"baseline_run", target.run.empty() ? Json(nullptr) : Json(target.run)}});
  for (const Parting& parting : comparison.partings)
    out["partings"].push_back({{"first", parting.first},
                               {"second", parting.second},
                               {"common_rounds", parting.common_rounds},
                               {"same_length", parting.same_length},
                               {"parted_at_round", count_json(parting.parted)},
                               {"parted_by_nodes", parting.nodes}});
  return out.sorted();
}

}  // namespace mfl
