#include "mfl/trained/predict_rows.h"

#include <charconv>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace mfl {
namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += c;
    out += c;
  }
  return out + '"';
}

// The lines of a block.
class LineWriter {
 public:
  explicit LineWriter(const Predictor& predictor) : values_(predictor.value_names().size()) {
    for (const std::string& name : predictor.classes()) classes_.push_back(csv_field(name));
  }

  // `ids` has one text per row, which begins its line, or none.
  void write(const Predictions& said, const std::vector<std::string>& ids, std::string& out) const {
    constexpr std::size_t kLongest = 32;  // of a number and a comma
    std::size_t longest = values_ * kLongest + 1, all_ids = 0;
    for (const std::string& name : classes_)
      longest = std::max(longest, values_ * kLongest + 1 + name.size());
    for (const std::string& id : ids) all_ids += csv_field(id).size() + 1;
    out.resize(said.rows * longest + all_ids);
    char* at = out.data();
    for (std::size_t row = 0; row < said.rows; ++row) {
      if (!ids.empty()) at = put(csv_field(ids[row]) + ',', at);
      if (!classes_.empty()) at = put(classes_[said.labels[row]], at);
      for (std::size_t i = 0; i < values_; ++i) {
        if (i > 0 || !classes_.empty()) *at++ = ',';
        at = std::to_chars(at, at + kLongest, said.values[row * values_ + i]).ptr;
      }
      *at++ = '\n';
    }
    out.resize(static_cast<std::size_t>(at - out.data()));
  }

 private:
  static char* put(const std::string& text, char* at) { return std::copy(text.begin(), text.end(), at); }

  std::size_t values_;
  std::vector<std::string> classes_;
};

// Workers take blocks in order, work on them at the same time, and give the text in order.
class Line {
 public:
  Line(const Predictor& predictor, RowBlocks& blocks, const TextSink& sink)
      : predictor_(predictor), blocks_(blocks), sink_(sink), writer_(predictor) {}

  void work() {
    for (std::string text;;) {
      std::uint64_t number = 0;
      auto rows = take(number);
      if (!rows) return;
      const std::size_t count = rows->rows;
      const Result<void> done = predict(*std::move(rows), text);
      if (!give(number, done, count, text)) return;
    }
  }

  Result<std::uint64_t> result() const {
    if (error_) return tl::unexpected<Error>(*error_);
    return rows_;
  }

 private:
  std::optional<Dataset> take(std::uint64_t& number) {
    const std::lock_guard lock(taking_);
    if (over_) return std::nullopt;
    number = taken_;
    auto block = blocks_.next();
    if (block && *block) {
      ++taken_;
      return *std::move(block);
    }
    over_ = true;
    if (!block) {
      const std::lock_guard giving(giving_);
      if (!error_) error_ = std::move(block).error();
    }
    return std::nullopt;
  }

  Result<void> predict(Dataset rows, std::string& text) const {
    const auto origin = std::exchange(rows.origin, nullptr);
    const bool identified = !std::exchange(rows.groups, {}).empty();
    MFL_TRY(const Predictions said, predictor_.predict(std::move(rows)));
    writer_.write(said, identified ? origin->groups : std::vector<std::string>{}, text);
    return {};
  }

  // False: somebody failed.
  bool give(std::uint64_t number, Result<void> done, std::size_t rows, const std::string& text) {
    std::unique_lock lock(giving_);
    changed_.wait(lock, [&] { return given_ == number || failed_; });
    if (failed_) return false;
    if (done) done = sink_(text);
    if (!done) {
      failed_ = true;
      error_ = std::move(done).error();
    }
    rows_ += rows;
    ++given_;
    changed_.notify_all();
    return !failed_;
  }

  const Predictor& predictor_;
  RowBlocks& blocks_;
  const TextSink& sink_;
  LineWriter writer_;
  std::mutex taking_, giving_;
  std::condition_variable changed_;
  bool over_ = false;                   // under taking_
  std::uint64_t taken_ = 0;             // under taking_
  std::uint64_t given_ = 0, rows_ = 0;  // under giving_, and so is the rest
  bool failed_ = false;
  std::optional<Error> error_;
};

}  // namespace

std::string prediction_header(const Predictor& predictor, const std::string& id) {
  std::string out = id.empty() ? "" : csv_field(id);
  if (!predictor.classes().empty()) out += out.empty() ? "label" : ",label";
  for (const std::string& name : predictor.value_names()) out += (out.empty() ? "" : ",") + csv_field(name);
  return out + '\n';
}

Result<std::uint64_t> predict_rows(const Predictor& predictor, RowBlocks& blocks, unsigned threads,
                                   const TextSink& sink) {
  Line line(predictor, blocks, sink);
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back([&] { line.work(); });
    line.work();
  }
  return line.result();
}

}  // namespace mfl
