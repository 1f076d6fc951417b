// Sends the changes that are larger than a limit, so that an update has a size of its own, and keeps the others at the node.
//
// A vector is the number of changes that are sent, then their indices, ascending, each as four bytes, the low one first; their
// values are for the next codec.
#include <mfl/codec/codec.h>

#include <cmath>

#include "extensions.h"

namespace {

constexpr std::size_t kWord = 4;

void put_word(std::size_t word, std::string& bytes) {
  for (unsigned shift = 0; shift < 8 * kWord; shift += 8) bytes += static_cast<char>(word >> shift & 0xffU);
}

mfl::Result<std::size_t> take_word(std::string_view& bytes) {
  if (bytes.size() < kWord) return mfl::fail(mfl::ErrorCode::kBadData, "the indices are cut short");
  std::size_t word = 0;
  for (unsigned i = 0; i < kWord; ++i)
    word |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])) << 8 * i;
  bytes.remove_prefix(kWord);
  return word;
}

class Threshold final : public mfl::CodecOf<Threshold> {
 public:
  Threshold(std::string spec, double limit) : CodecOf(std::move(spec)), limit_(limit) {}

  std::string_view encoding() const override { return "threshold"; }
  bool keeps_residuals() const override { return true; }
  std::size_t most_bytes(std::size_t numbers) const override { return kWord * (1 + numbers); }
  std::size_t most_handed_on(std::size_t numbers) const override { return numbers; }

  template <class T>
  void write(std::span<const T> changes, mfl::Stream& /*stream*/, std::string& bytes,
             mfl::Vector<T>& handed_on) const {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < changes.size(); ++i)
      if (!(std::abs(changes[i]) <= limit_)) indices.push_back(i);  // NaN too: such an update is refused
    put_word(indices.size(), bytes);
    for (const std::size_t i : indices) {
      put_word(i, bytes);
      handed_on.push_back(changes[i]);
    }
  }

  template <class T>
  mfl::Result<void> read(std::string_view& bytes, const mfl::HandedOn<T>& handed_on,
                         std::span<T> changes) const {
    MFL_TRY(const std::size_t count, take_word(bytes));
    if (count > changes.size()) return mfl::fail(mfl::ErrorCode::kBadData, "more changes than numbers");
    std::vector<std::size_t> indices;
    for (std::size_t k = 0; k < count; ++k) {
      MFL_TRY(const std::size_t i, take_word(bytes));
      if (i >= changes.size() || (k > 0 && i <= indices.back()))
        return mfl::fail(mfl::ErrorCode::kBadData, "the indices are not ascending");
      indices.push_back(i);
    }
    mfl::Vector<T> values(count);
    MFL_CHECK(handed_on(values));
    std::fill(changes.begin(), changes.end(), T{0});
    for (std::size_t k = 0; k < count; ++k) changes[indices[k]] = values[k];
    return {};
  }

 private:
  double limit_;
};

}  // namespace

void add_threshold() {
  mfl::codecs().add({{.name = "threshold",
                      .parameters = {{.name = "limit",
                                      .help = "largest change that stays at the node",
                                      .range = {[](double x) { return x >= 0; }, ">= 0"}}},
                      .description = "sends the changes that are larger than a limit"},
                     [](std::string spec, const mfl::ParameterValues& values) {
                       return std::make_unique<Threshold>(std::move(spec), values.number("limit"));
                     }});
}
