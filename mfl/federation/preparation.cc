#include "mfl/federation/preparation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "mfl/base/digest.h"
#include "mfl/model/tensors.h"

namespace mfl {
namespace {

constexpr const char* kDoubles = "f64";
constexpr const char* kColumns = "columns";
constexpr double kLateTimes = 100;  // less smooth than the least smooth node that was measured

struct NamedPart {
  const char* name;
  std::vector<double> Preprocessing::*numbers;
};
constexpr NamedPart kParts[] = {{"means", &Preprocessing::means},
                                {"deviations", &Preprocessing::deviations},
                                {"class_weights", &Preprocessing::class_weights}};

PreparationTask task_of(Work work, std::vector<Block> blocks, std::string payload) {
  const std::string digest = sha256_hex(payload);
  return {work, digest, std::move(blocks), std::make_shared<const std::string>(std::move(payload))};
}

std::string bytes_of(std::span<const double> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

// A task has a payload; where nothing is to be told it is the number of columns.
PreparationTask prepare_task(const Preprocessing& preprocessing, std::uint64_t columns) {
  std::vector<Block> blocks;
  std::string payload = encode_preprocessing(preprocessing, blocks);
  const auto count = static_cast<double>(columns);
  blocks.push_back({kColumns, kDoubles, 1});
  return task_of(Work::kPrepare, std::move(blocks), payload + bytes_of({&count, 1}));
}

// Of numbers as a node sends them; not finite where one is not.
template <class T>
double root_mean_square(std::string_view bytes) {
  double squares = 0;
  const std::vector<double> numbers = numbers_in<T>(bytes);
  for (const double x : numbers) squares += x * x;
  return std::sqrt(squares / static_cast<double>(numbers.size()));
}

double size_of_weights(std::string_view bytes, std::size_t bytes_of_number) {
  return bytes_of_number == sizeof(float) ? root_mean_square<float>(bytes) : root_mean_square<double>(bytes);
}

}  // namespace

std::string encode_preprocessing(const Preprocessing& preprocessing, std::vector<Block>& blocks) {
  std::string payload;
  for (const auto& [name, numbers] : kParts) {
    if ((preprocessing.*numbers).empty()) continue;
    blocks.push_back({name, kDoubles, (preprocessing.*numbers).size()});
    payload += bytes_of(preprocessing.*numbers);
  }
  return payload;
}

Result<void> decode_preprocessing(std::string_view payload, const std::vector<Block>& blocks,
                                  const Schema& schema, Preprocessing& to) {
  const auto refuse = [&] {
    return fail(ErrorCode::kNetwork, fmt::format("the server sent {} to prepare with", blocks_text(blocks)),
                "check that server and node have the same mfl");
  };
  std::set<std::string_view> names;
  for (const Block& block : blocks) {
    const auto part = std::ranges::find(kParts, block.name, &NamedPart::name);
    const std::uint64_t expected = part == std::end(kParts)                         ? 1
                                   : part->numbers == &Preprocessing::class_weights ? schema.classes.size()
                                                                                    : schema.columns;
    if (block.encoding != kDoubles || block.numbers == 0 || block.numbers != expected ||
        block.numbers > payload.size() / sizeof(double) || !names.insert(block.name).second)
      return refuse();
    std::vector<double> numbers(block.numbers);
    std::memcpy(numbers.data(), payload.data(), block.numbers * sizeof(double));
    payload.remove_prefix(block.numbers * sizeof(double));
    const bool positive = block.name != "means";
    if (!std::ranges::all_of(numbers, [&](double x) { return std::isfinite(x) && (x > 0 || !positive); }))
      return refuse();
    if (part != std::end(kParts))
      to.*part->numbers = std::move(numbers);
    else if (block.name != kColumns || numbers.front() != static_cast<double>(schema.columns))
      return refuse();
  }
  if (!payload.empty() || (to.deviations.empty() && !to.means.empty())) return refuse();
  return {};
}

Preparation::Preparation(const PreparationNeeds& needs, const Schema& schema, double (*step_size_of)(double),
                         OnOutlier on_outlier)
    : needs_(needs),
      schema_(schema),
      on_outlier_(on_outlier),
      columns_(schema.columns),
      classes_(needs.class_weights ? schema.classes.size() : 0),
      step_size_of_(step_size_of) {
  result_.preprocessing = schema.preprocessing;
  if (needs.standardise != Standardise::kNone) result_.preprocessing.standardise = needs.standardise;
  const auto count = static_cast<double>(columns_);
  measure_task_ = task_of(needs_.initial_weights != 0 ? Work::kInitialise : Work::kMeasure,
                          {{kColumns, kDoubles, 1}}, bytes_of({&count, 1}));
  measure();
}

Preparation::Preparation(const PreparationNeeds& needs, const Schema& schema, double (*step_size_of)(double),
                         OnOutlier on_outlier, Prepared settled)
    : Preparation(needs, schema, step_size_of, on_outlier) {
  settled_ = true;
  result_ = std::move(settled);
  task_ = prepare_task(result_.preprocessing, columns_);
}

void Preparation::join(const std::string& node, std::uint64_t samples) {
  members_[node] = {.samples = samples, .sums = {}};
  if (!settled_) measure();
}

void Preparation::leave(const std::string& node) {
  if (members_.erase(node) != 0 && !settled_) measure();
}

// From the beginning, with the sums that are present.
void Preparation::measure() {
  ++attempt_;
  compared_ = false;
  outliers_.clear();
  task_ = measure_task_;
  for (auto& [node, member] : members_) member.smoothness.reset();
}

bool Preparation::is_measured_late(const std::string& node) const {
  const auto found = members_.find(node);
  return settled_ && needs_.sums() && found != members_.end() && found->second.sums.empty();
}

bool Preparation::answered(const std::string& node) const {
  const auto found = members_.find(node);
  if (found == members_.end()) return false;
  if (task_.work == Work::kInitialise) return settled_ || !found->second.weights.empty();
  return task_.work == Work::kMeasure ? !needs_.sums() || !found->second.sums.empty()
                                      : found->second.smoothness.has_value();
}

std::uint64_t Preparation::most_bytes(const std::string& node) const {
  if (task_.work == Work::kInitialise) return columns_ * needs_.initial_weights;
  return task(node).work == Work::kMeasure ? ColumnSums::most_packed_bytes(columns_, classes_)
                                           : sizeof(double);
}

// What is wrong with a newcomer, or nothing.
Verdict Preparation::judge_late(const std::string& node, std::optional<std::string> fault) {
  if (!fault) return {};
  if (on_outlier_ != OnOutlier::kWarn) return {Reason::kOutlier, *std::move(fault)};
  outliers_.push_back({node, *std::move(fault)});
  return {};
}

Verdict Preparation::take_sums(const std::string& node, Member& member, const Update& update) {
  if (update.blocks != std::vector<Block>{{"sums", kSumsEncoding, update.payload.size()}})
    return {Reason::kShape, fmt::format("sent {} in place of sums", blocks_text(update.blocks))};
  ColumnSums sums(columns_, classes_);
  if (const auto taken = sums.merge_packed(update.payload); !taken)
    return {Reason::kShape, taken.error().message};
  if (sums.rows() != member.samples)
    return {Reason::kWeight,
            fmt::format("sums over {} samples, {} when it joined", sums.rows(), member.samples)};
  if (const auto possible = sums.check(); !possible) return {Reason::kOutlier, possible.error().message};
  ColumnMoments moments = needs_.standardise == Standardise::kNone ? ColumnMoments{} : sums.moments();
  if (settled_) {
    Verdict verdict = judge_late(node, late_outlier(node, moments, result_.preprocessing, schema_));
    if (!verdict.counts()) return verdict;
  }
  member.sums = update.payload;
  member.moments = std::move(moments);
  return {};
}

Verdict Preparation::take_weights(Member& member, const Update& update) const {
  const std::string encoding = needs_.initial_weights == sizeof(float) ? "f32" : kDoubles;
  if (update.blocks != std::vector<Block>{{"w", encoding, columns_}} || update.payload.size() != most_bytes())
    return {Reason::kShape,
            fmt::format("sent {} in place of the weights of its trainer", blocks_text(update.blocks))};
  if (!std::isfinite(size_of_weights(update.payload, needs_.initial_weights)))
    return {Reason::kNotFinite, "the initial weights of its trainer are not finite, or too large"};
  member.weights = update.payload;
  return {};
}

Verdict Preparation::take_smoothness(const std::string& node, Member& member, const Update& update) {
  double smoothness = 0;
  if (update.blocks != std::vector<Block>{{kSmoothness, kDoubles, 1}} ||
      update.payload.size() != sizeof smoothness)
    return {Reason::kShape, fmt::format("sent {} in place of a smoothness", blocks_text(update.blocks))};
  std::memcpy(&smoothness, update.payload.data(), sizeof smoothness);
  if (!(smoothness >= 0) || !std::isfinite(smoothness))
    return {Reason::kNotFinite, "the smoothness is not a number from 0"};
  if (settled_ && needs_.step_size && kLateTimes * step_size_of_(smoothness) < result_.eta) {
    Verdict verdict =
        judge_late(node, fmt::format("the smoothness of {} is {:.6g}, and the step size of the run is {:.6g}",
                                     node, smoothness, result_.eta));
    if (!verdict.counts()) return verdict;
  }
  member.smoothness = smoothness;
  return {};
}

Verdict Preparation::submit(const std::string& node, const Update& update) {
  const auto found = members_.find(node);
  if (found == members_.end()) return {Reason::kForeign, "the node has not joined"};
  Member& member = found->second;
  if (update.weight != member.samples)
    return {Reason::kWeight, fmt::format("{} samples, {} when it joined", update.weight, member.samples)};
  switch (task(node).work) {
    case Work::kMeasure: return take_sums(node, member, update);
    case Work::kInitialise: return take_weights(member, update);
    default: return take_smoothness(node, member, update);
  }
}

// What the answers to the stage in progress say that is unlike the others'.
std::vector<Outlier> Preparation::compare() const {
  if (task_.work == Work::kMeasure) {
    if (needs_.standardise == Standardise::kNone) return {};
    std::map<std::string, const ColumnMoments*> columns;
    for (const auto& [node, member] : members_) columns[node] = &member.moments;
    return column_outliers(columns, schema_);
  }
  std::map<std::string, double> numbers;
  if (task_.work == Work::kInitialise) {
    for (const auto& [node, member] : members_)
      numbers[node] = size_of_weights(member.weights, needs_.initial_weights);
    return number_outliers(numbers, "root mean square of the initial weights");
  }
  if (needs_.step_size)
    for (const auto& [node, member] : members_) numbers[node] = *member.smoothness;
  return number_outliers(numbers, "smoothness of the loss");
}

Result<void> Preparation::prepare() {
  if (needs_.sums()) {
    ColumnSums all(columns_, classes_);
    for (const auto& [node, member] : members_) MFL_CHECK(all.merge_packed(member.sums));
    result_.constant_columns = all.measure(result_.preprocessing);
    if (needs_.class_weights) {
      MFL_TRY(result_.preprocessing.class_weights, all.balanced_weights());
    }
  }
  compared_ = false;
  task_ = prepare_task(result_.preprocessing, columns_);
  return {};
}

Result<bool> Preparation::advance() {
  const bool all_answered = !members_.empty() && std::ranges::all_of(members_, [&](const auto& member) {
    return answered(member.first);
  });
  if (settled_ || !all_answered) return false;
  if (!std::exchange(compared_, true)) {
    std::vector<Outlier> found = compare();
    outliers_.insert(outliers_.end(), found.begin(), found.end());
  }
  if (!outliers_.empty() && on_outlier_ != OnOutlier::kWarn) return false;
  if (task_.work == Work::kMeasure) {
    MFL_CHECK(prepare());
    return false;
  }
  if (task_.work == Work::kInitialise) {
    result_.initial_weights = members_.begin()->second.weights;
    result_.differ = std::ranges::any_of(
        members_, [&](const auto& member) { return member.second.weights != result_.initial_weights; });
    for (auto& [node, member] : members_) member.weights.clear();
  } else if (needs_.step_size) {
    double largest = 0;
    for (const auto& [node, member] : members_) largest = std::max(largest, *member.smoothness);
    result_.eta = step_size_of_(largest);
  }
  settled_ = true;
  return true;
}

}  // namespace mfl
