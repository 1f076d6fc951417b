#include "mfl/load/share.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "mfl/data/fleet.h"
#include "mfl/data/source.h"
#include "mfl/model/samples.h"
#include "mfl/partition/partitions.h"

namespace mfl {
namespace {

constexpr const char* kSameData = "give every rank the same data";

void add_hashes(Sha256& digest, std::span<const std::uint64_t> hashes) {
  digest.update(std::as_bytes(hashes));
}

std::string digest_of(std::span<const double> numbers) {
  return Sha256{}.update(std::as_bytes(numbers)).finish_hex();
}

std::string digest_of(const std::vector<std::string>& texts) {
  Sha256 digest;
  for (const std::string& text : texts) digest.update(std::uint64_t{text.size()}).update(text);
  return digest.finish_hex();
}

std::vector<RankFact> facts_of(const std::string& set, const SomeRows& rows) {
  std::vector<RankFact> facts = {{"the number of " + set + " samples", fmt::to_string(rows.size())},
                                 {"the number of " + set + " features", fmt::to_string(rows.columns())},
                                 {"the scale of the " + set + " data", fmt::to_string(rows.shape().scale)},
                                 {"the digest of the " + set + " labels", digest_of(rows.labels())}};
  if (const auto origin = rows.without_features().origin) {
    facts.push_back({"the digest of the " + set + " column names", digest_of(origin->features)});
    facts.push_back({"the digest of the " + set + " classes", digest_of(origin->classes)});
  }
  return facts;
}

// Stays in place where the order is that of the set.
Dataset in_order(Dataset data, std::span<const std::uint32_t> order) {
  if (order.size() != data.rows) return take_rows(data, order);
  return std::ranges::is_sorted(order) ? data : reordered(std::move(data), order);
}

// Equal for configurations that read the same files in the same way.
std::string source_text(const Config& config) {
  Config source;
  source.data = config.data;
  if (!column_of_groups(config.federation.partition).empty())
    source.federation.partition = config.federation.partition;
  return to_toml(source);
}

Result<std::vector<RankFact>> source_facts(std::span<const Config> configs) {
  std::vector<RankFact> facts;
  std::set<std::string> seen;
  for (const Config& config : configs) {
    if (is_fleet(config.data.source) || !seen.insert(source_text(config)).second) continue;
    MFL_TRY(const TrainTestRows rows, open_rows(data_options(config)));
    const std::string name = fmt::format("the digest of {}", config.data.source);
    MFL_TRY(std::string train, rows.train.digest());
    facts.push_back({name, std::move(train)});
    if (!rows.test) continue;
    MFL_TRY(std::string test, rows.test->digest());
    facts.push_back({name + " (test)", std::move(test)});
  }
  return facts;
}

}  // namespace

Division divide_test(std::size_t rows, unsigned ranks) {
  Division division{std::vector<std::uint32_t>(rows), {}};
  std::iota(division.order.begin(), division.order.end(), 0U);
  for (unsigned rank = 0; rank <= ranks; ++rank)
    division.starts.push_back(std::min(rows, row_blocks(rows) * rank / ranks * kRowBlock));
  return division;
}

Result<RowShare> ShareReader::read(const std::string& set, SomeRows rows, const Division& division) {
  RowShare share;
  if (ranks_.size() == 1) {
    MFL_TRY(Dataset all, std::move(rows).take());
    share.digest = data_digest(all);
    share.rows = in_order(std::move(all), division.order);
    return share;
  }
  std::ranges::move(facts_of(set, rows), std::back_inserter(facts_));
  MFL_TRY(share.rows, rows.read(division.of_rank(ranks_.rank())));
  add_hashes(held_, row_hashes(share.rows));
  if (!ranks_.first()) return share;
  std::vector<std::uint64_t> hashes;
  MFL_TRY(share.digest, rows.digest(&hashes));
  for (unsigned rank = 0; rank < ranks_.size(); ++rank) {
    std::vector<std::uint64_t> held;
    for (const std::uint32_t row : division.of_rank(rank)) held.push_back(hashes[row]);
    add_hashes(expected_[rank], held);
  }
  return share;
}

Result<void> ShareReader::require_same_data() {
  if (ranks_.size() == 1) return {};
  MFL_CHECK(ranks_.require_same(facts_, ErrorCode::kBadData, kSameData));
  const std::vector<std::string> held = ranks_.gather(held_.finish_hex());
  return ranks_.on_first([&]() -> Result<void> {
    for (std::size_t rank = 0; rank < held.size(); ++rank)
      if (held[rank] != expected_[rank].finish_hex())
        return fail(ErrorCode::kBadData, fmt::format("rank {}: the rows differ from those on rank 0", rank),
                    kSameData);
    return {};
  });
}

Result<void> require_same_sources(std::span<const Config> configs, Ranks& ranks) {
  if (ranks.size() == 1) return {};
  MFL_TRY(const auto facts, ranks.agreed(source_facts(configs)));
  return ranks.require_same(facts, ErrorCode::kBadData, kSameData);
}

}  // namespace mfl
