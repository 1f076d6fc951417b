#include "mfl/federation/preparation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "mfl/base/digest.h"

namespace mfl {
namespace {

constexpr const char* kDoubles = "f64";

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
  blocks.push_back({"columns", kDoubles, 1});
  return task_of(Work::kPrepare, std::move(blocks), payload + bytes_of({&count, 1}));
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
                                  Preprocessing& to) {
  const auto refuse = [&] {
    return fail(ErrorCode::kNetwork, fmt::format("the server sent {} to prepare with", blocks_text(blocks)),
                "check that server and node have the same mfl");
  };
  for (const Block& block : blocks) {
    if (block.encoding != kDoubles || block.numbers == 0 || block.numbers > payload.size() / sizeof(double))
      return refuse();
    std::vector<double> numbers(block.numbers);
    std::memcpy(numbers.data(), payload.data(), block.numbers * sizeof(double));
    payload.remove_prefix(block.numbers * sizeof(double));
    if (!std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); })) return refuse();
    for (const auto& [name, part] : kParts)
      if (block.name == name) to.*part = std::move(numbers);
  }
  if (!payload.empty()) return refuse();
  return {};
}

Preparation::Preparation(const PreparationNeeds& needs, const Schema& schema, double (*step_size_of)(double))
    : needs_(needs),
      columns_(schema.columns),
      classes_(needs.class_weights ? schema.classes.size() : 0),
      step_size_of_(step_size_of) {
  result_.preprocessing = schema.preprocessing;
  if (needs.standardise != Standardise::kNone) result_.preprocessing.standardise = needs.standardise;
  measure();
}

Preparation::Preparation(const Schema& schema, Prepared settled)
    : columns_(schema.columns), classes_(0), settled_(true), result_(std::move(settled)) {
  ++stage_;
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
  ++stage_;
  const auto count = static_cast<double>(columns_);
  task_ = task_of(needs_.initial_weights != 0 ? Work::kInitialise : Work::kMeasure,
                  {{"columns", kDoubles, 1}}, bytes_of({&count, 1}));
  for (auto& [node, member] : members_) member.smoothness.reset();
}

bool Preparation::answered(const std::string& node) const {
  const auto found = members_.find(node);
  if (found == members_.end()) return false;
  if (task_.work == Work::kInitialise) return settled_ || !found->second.weights.empty();
  return task_.work == Work::kMeasure ? !needs_.sums() || !found->second.sums.empty()
                                      : found->second.smoothness.has_value();
}

std::uint64_t Preparation::most_bytes() const {
  if (task_.work == Work::kInitialise) return columns_ * needs_.initial_weights;
  return task_.work == Work::kMeasure ? ColumnSums::most_packed_bytes(columns_, classes_) : sizeof(double);
}

Verdict Preparation::take_sums(Member& member, const Update& update) const {
  if (update.blocks != std::vector<Block>{{"sums", kSumsEncoding, update.payload.size()}})
    return {Reason::kShape, fmt::format("sent {} in place of sums", blocks_text(update.blocks))};
  ColumnSums sums(columns_, classes_);
  if (const auto taken = sums.merge_packed(update.payload); !taken)
    return {Reason::kShape, taken.error().message};
  if (sums.rows() != member.samples)
    return {Reason::kWeight,
            fmt::format("sums over {} samples, {} when it joined", sums.rows(), member.samples)};
  member.sums = update.payload;
  return {};
}

Verdict Preparation::take_weights(Member& member, const Update& update) const {
  const std::string encoding = needs_.initial_weights == sizeof(float) ? "f32" : kDoubles;
  if (update.blocks != std::vector<Block>{{"w", encoding, columns_}} || update.payload.size() != most_bytes())
    return {Reason::kShape,
            fmt::format("sent {} in place of the weights of its trainer", blocks_text(update.blocks))};
  member.weights = update.payload;
  return {};
}

Verdict Preparation::submit(const std::string& node, const Update& update) {
  const auto found = members_.find(node);
  if (found == members_.end()) return {Reason::kForeign, "the node has not joined"};
  Member& member = found->second;
  if (update.weight != member.samples)
    return {Reason::kWeight, fmt::format("{} samples, {} when it joined", update.weight, member.samples)};
  if (task_.work == Work::kMeasure) return take_sums(member, update);
  if (task_.work == Work::kInitialise) return take_weights(member, update);
  double smoothness = 0;
  if (update.blocks != std::vector<Block>{{kSmoothness, kDoubles, 1}} ||
      update.payload.size() != sizeof smoothness)
    return {Reason::kShape, fmt::format("sent {} in place of a smoothness", blocks_text(update.blocks))};
  std::memcpy(&smoothness, update.payload.data(), sizeof smoothness);
  if (!(smoothness >= 0) || !std::isfinite(smoothness))
    return {Reason::kNotFinite, "the smoothness is not a number from 0"};
  member.smoothness = smoothness;
  return {};
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
  ++stage_;
  task_ = prepare_task(result_.preprocessing, columns_);
  return {};
}

Result<bool> Preparation::advance() {
  const auto all_answered = [&] {
    return !members_.empty() &&
           std::ranges::all_of(members_, [&](const auto& member) { return answered(member.first); });
  };
  if (settled_ || !all_answered()) return false;
  if (task_.work == Work::kInitialise) {
    result_.initial_weights = members_.begin()->second.weights;
    result_.differ = std::ranges::any_of(
        members_, [&](const auto& member) { return member.second.weights != result_.initial_weights; });
    for (auto& [node, member] : members_) member.weights.clear();
    settled_ = true;
    return true;
  }
  if (task_.work == Work::kMeasure) {
    MFL_CHECK(prepare());
    if (!all_answered()) return false;
  }
  if (needs_.step_size) {
    double largest = 0;
    for (const auto& [node, member] : members_) largest = std::max(largest, *member.smoothness);
    result_.eta = step_size_of_(largest);
  }
  settled_ = true;
  return true;
}

}  // namespace mfl
