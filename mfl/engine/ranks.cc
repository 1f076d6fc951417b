#include "mfl/engine/ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "mfl/base/digest.h"
#include "mfl/base/message.h"
#include "mfl/base/visible.h"

namespace mfl {
namespace {

class Alone final : public Ranks {
 public:
  unsigned rank() const override { return 0; }
  unsigned size() const override { return 1; }
  unsigned on_this_machine() const override { return 1; }
  std::vector<std::string> gather(std::string_view mine) override { return {std::string(mine)}; }
  std::vector<std::string> gather_at_first(std::string_view mine) override { return gather(mine); }
  void share(std::string& /*bytes*/) override {}
  void finish(SlicedSums<float>& sums, std::vector<Vector<float>>& out) override { finish_all(sums, out); }
  void finish(SlicedSums<double>& sums, std::vector<Vector<double>>& out) override { finish_all(sums, out); }
  void abort(int code) override { std::_Exit(code); }

 private:
  template <class T>
  static void finish_all(SlicedSums<T>& sums, std::vector<Vector<T>>& out) {
    for (std::size_t s = 0; s < sums.slices().size(); ++s) sums.finish_slice(s, out);
  }
};

std::string failure_bytes(const Result<void>& result) {
  if (result) return {};
  MessageWriter out;
  out.put(result.error().code);
  out.put_text(result.error().text());
  out.put_text(result.error().first_hint());
  return out.bytes();
}

Error read_failure(std::string_view bytes, std::optional<std::size_t> rank) {
  MessageReader in(bytes);
  Error error;
  error.code = in.take<ErrorCode>();
  error.message = (rank ? fmt::format("rank {}: ", *rank) : "") + in.take_text();
  error.hint = in.take_text();
  return error;
}

std::string fact_bytes(std::span<const RankFact> facts) {
  MessageWriter out;
  for (const RankFact& fact : facts) {
    out.put_text(fact.name);
    out.put_text(fact.value);
  }
  return out.bytes();
}

std::vector<RankFact> read_facts(std::string_view bytes) {
  MessageReader in(bytes);
  std::vector<RankFact> facts;
  while (!in.at_end()) {
    std::string name = in.take_text();
    facts.push_back({std::move(name), in.take_text()});
  }
  return facts;
}

std::string value_text(const RankFact* fact) {
  constexpr std::size_t kShown = 80;
  if (fact == nullptr) return "missing";
  return fact->value.empty() ? "empty" : visible(fact->value, kShown);
}

// Of two lists that are not equal.
std::string first_difference(std::span<const RankFact> mine, std::span<const RankFact> firsts) {
  const auto find = [](std::span<const RankFact> facts, const std::string& name) -> const RankFact* {
    const auto found = std::ranges::find(facts, name, &RankFact::name);
    return found == facts.end() ? nullptr : &*found;
  };
  const auto describe = [](const std::string& name, const RankFact* here, const RankFact* there) {
    return fmt::format("{} is {} here and {} on rank 0", name, value_text(here), value_text(there));
  };
  for (const RankFact& fact : firsts)
    if (const RankFact* here = find(mine, fact.name); here == nullptr || here->value != fact.value)
      return describe(fact.name, here, &fact);
  for (const RankFact& fact : mine)
    if (find(firsts, fact.name) == nullptr) return describe(fact.name, &fact, nullptr);
  return "the order of the facts differs from rank 0";
}

}  // namespace

Result<void> Ranks::require_same(std::span<const RankFact> mine, ErrorCode code, std::string_view hint) {
  if (size() == 1) return {};
  std::string firsts = fact_bytes(mine);
  const std::vector<std::string> digests = gather(sha256_hex(firsts));
  const auto other = std::ranges::find_if(digests, [&](const auto& digest) { return digest != digests[0]; });
  if (other == digests.end()) return {};
  const auto differs = static_cast<std::size_t>(other - digests.begin());
  share(firsts);
  const std::vector<std::string> words =
      gather(rank() == differs ? first_difference(mine, read_facts(firsts)) : std::string());
  failed_together_ = true;
  return fail(code, fmt::format("rank {}: {}", differs, words[differs]), std::string(hint));
}

Result<void> Ranks::agree(const Result<void>& mine) {
  if (size() == 1) return mine;
  const std::vector<std::string> all = gather(failure_bytes(mine));
  const auto failed = std::ranges::find_if(all, [](const std::string& bytes) { return !bytes.empty(); });
  if (failed == all.end()) return {};
  failed_together_ = true;
  const bool alike = std::ranges::all_of(all, [&](const std::string& bytes) { return bytes == *failed; });
  const auto rank = static_cast<std::size_t>(failed - all.begin());
  return tl::unexpected<Error>(read_failure(*failed, alike ? std::nullopt : std::optional(rank)));
}

Result<double> Ranks::largest(Result<double> mine) {
  MFL_TRY(double largest, agreed(std::move(mine)));
  MessageWriter out;
  out.put(largest);
  for (const std::string& theirs : gather(out.bytes()))
    largest = std::max(largest, MessageReader(theirs).take<double>());
  return largest;
}

Result<std::string> Ranks::from_first(const std::function<Result<std::string>()>& work) {
  std::string bytes;
  if (first()) {
    const Result<std::string> answer = work();
    MessageWriter out;
    out.put(answer.has_value());
    if (answer)
      out.put_text(*answer);
    else
      out.put_text(failure_bytes(tl::unexpected<Error>(answer.error())));
    bytes = out.bytes();
  }
  share(bytes);
  MessageReader in(bytes);
  const bool ok = in.take<bool>();
  std::string answer = in.take_text();
  if (ok) return answer;
  failed_together_ = true;
  return tl::unexpected<Error>(read_failure(answer, std::nullopt));
}

Result<void> Ranks::on_first(const std::function<Result<void>()>& work) {
  const auto done = from_first([&]() -> Result<std::string> {
    MFL_CHECK(work());
    return std::string();
  });
  return done ? Result<void>{} : tl::unexpected<Error>(done.error());
}

Ranks& alone() {
  static Alone ranks;
  return ranks;
}

}  // namespace mfl
