#include "mfl/engine/ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "mfl/base/message.h"

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
  void mean(const ExactMean& sum, std::uint64_t /*total_weight*/, std::span<float> out) override {
    ExactMean(sum).mean(out);
  }
  void mean(const ExactMean& sum, std::uint64_t /*total_weight*/, std::span<double> out) override {
    ExactMean(sum).mean(out);
  }
  void abort(int code) override { std::_Exit(code); }
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

}  // namespace

Result<void> Ranks::agree(const Result<void>& mine) {
  const std::vector<std::string> all = gather(failure_bytes(mine));
  const auto failed = std::ranges::find_if(all, [](const std::string& bytes) { return !bytes.empty(); });
  if (failed == all.end()) return {};
  failed_together_ = true;
  const bool alike = std::ranges::all_of(all, [&](const std::string& bytes) { return bytes == *failed; });
  const auto rank = static_cast<std::size_t>(failed - all.begin());
  return tl::unexpected<Error>(read_failure(*failed, alike ? std::nullopt : std::optional(rank)));
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

Ranks& alone() {
  static Alone ranks;
  return ranks;
}

}  // namespace mfl
