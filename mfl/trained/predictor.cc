#include "mfl/trained/predictor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mfl/base/math.h"
#include "mfl/model/metrics.h"
#include "mfl/model/samples.h"

namespace mfl {
namespace {

template <class T>
constexpr Precision kPrecision = sizeof(T) == sizeof(float) ? Precision::kF32 : Precision::kF64;

// Of the class that a margin is against, and of the one that it is for.
struct TwoProbabilities {
  double against, in_favour;
};

TwoProbabilities sigmoids(double margin) {
  const double e = portable_exp(-std::abs(margin));
  const double larger = 1 / (1 + e), smaller = e / (1 + e);
  return margin >= 0 ? TwoProbabilities{smaller, larger} : TwoProbabilities{larger, smaller};
}

void softmax(std::span<const double> scores, std::vector<double>& out) {
  const double largest = *std::ranges::max_element(scores);
  const std::size_t start = out.size();
  double sum = 0;
  for (const double score : scores) sum += out.emplace_back(portable_exp(score - largest));
  for (std::size_t i = start; i < out.size(); ++i) out[i] /= sum;
}

std::vector<std::string> names_of_values(const TrainedModel& model) {
  if (model.schema.task == LabelTask::kRegression) return {"prediction"};
  const ModelEntry& entry = entry_of(model);
  if (entry.link == Link::kNone && make_model<double>(model)->outputs() == 1) return {"score"};
  std::vector<std::string> out;
  for (const std::string& name : model.schema.classes)
    out.push_back((entry.link == Link::kNone ? "score_" : "probability_") + name);
  return out;
}

}  // namespace

class Predictor::Scorer {
 public:
  virtual ~Scorer() = default;
  virtual std::size_t outputs() const = 0;
  virtual bool constant_column() const = 0;
  virtual Result<std::vector<double>> scores(Dataset rows) const = 0;
  virtual Result<ScoredRows> evaluate(Dataset rows, std::vector<double> targets) const = 0;
};

template <class T>
class Predictor::ScorerOf final : public Scorer {
 public:
  explicit ScorerOf(const TrainedModel& trained)
      : model_(make_model<T>(trained)), w_(weights_of<T>(trained)), lambda_(trained.lambda) {}

  std::size_t outputs() const override { return model_->outputs(); }
  bool constant_column() const override { return model_->constant_column(); }

  Result<std::vector<double>> scores(Dataset rows) const override {
    const std::vector<double> targets(rows.rows);
    MFL_TRY(const Samples<T> samples, samples_of(std::move(rows), targets));
    return scores_of(samples);
  }

  Result<ScoredRows> evaluate(Dataset rows, std::vector<double> targets) const override {
    MFL_TRY(const Samples<T> samples, samples_of(std::move(rows), targets));
    const Evaluation sums = model_->evaluate(samples, {0, samples.size()}, lambda_, w_.data());
    return ScoredRows{.scores = scores_of(samples),
                      .targets = std::move(targets),
                      .loss = sums.loss,
                      .correct = sums.correct};
  }

 private:
  static Result<Samples<T>> samples_of(Dataset rows, std::span<const double> targets) {
    MFL_TRY(rows, with_precision(std::move(rows), kPrecision<T>));
    return Samples<T>(std::move(rows), targets);
  }

  std::vector<double> scores_of(const Samples<T>& samples) const {
    const Shard all{0, samples.size()};
    std::vector<double> out(all.count * outputs());
    for (std::size_t block = 0; block < row_blocks(all.count); ++block) {
      const Shard part = block_of(all, block);
      model_->scores(samples, part, w_.data(), out.data() + part.first * outputs());
    }
    return out;
  }

  std::shared_ptr<const Model<T>> model_;
  Vector<T> w_;
  double lambda_;
};

Predictor::Predictor(TrainedModel model)
    : model_(std::make_shared<const TrainedModel>(std::move(model))),
      classes_(classes_of(*model_)),
      value_names_(names_of_values(*model_)),
      positive_(!classes_.empty() && classes_.front() == model_->schema.positive ? 0 : 1) {
  if (model_->precision == Precision::kF32)
    scorer_ = std::make_shared<const ScorerOf<float>>(*model_);
  else
    scorer_ = std::make_shared<const ScorerOf<double>>(*model_);
}

Result<Predictor> Predictor::make(TrainedModel model) {
  MFL_CHECK(check_model(model));
  MFL_CHECK(require_own(model, "a prediction"));
  return Predictor(std::move(model));
}

Result<Dataset> Predictor::prepared(Dataset rows) const {
  if (rows.columns != model_->schema.columns)
    return fail(
        ErrorCode::kBadData,
        fmt::format("the data has {} features and the model {}", rows.columns, model_->schema.columns),
        "give the columns that the model was trained on");
  if (model_->scale) rows.scale = *model_->scale;
  return preprocessed(std::move(rows), model_->schema.preprocessing, scorer_->constant_column());
}

void Predictor::label_and_value(const std::vector<double>& scores, Predictions& out) const {
  const std::size_t outputs = scorer_->outputs();
  const Link link = classes_.empty() ? Link::kNone : entry_of(*model_).link;
  out.values.reserve(out.rows * value_names_.size());
  for (std::size_t row = 0; row < out.rows; ++row) {
    const std::span<const double> of_row = std::span(scores).subspan(row * outputs, outputs);
    if (!classes_.empty() && outputs > 1)
      out.labels.push_back(static_cast<std::uint32_t>(predicted_class(of_row)));
    else if (!classes_.empty())
      out.labels.push_back(static_cast<std::uint32_t>(of_row[0] > 0 ? positive_ : 1 - positive_));
    if (link == Link::kSoftmax) {
      softmax(of_row, out.values);
    } else if (link == Link::kSigmoid) {
      const auto [first, last] = sigmoids(positive_ == 1 ? of_row[0] : -of_row[0]);
      out.values.push_back(first);
      out.values.push_back(last);
    } else {
      out.values.insert(out.values.end(), of_row.begin(), of_row.end());
    }
  }
}

Result<Predictions> Predictor::predict(Dataset rows) const {
  Predictions out{.rows = rows.rows, .labels = {}, .values = {}};
  if (out.rows == 0) return out;
  MFL_TRY(rows, prepared(std::move(rows)));
  MFL_TRY(const std::vector<double> scores, scorer_->scores(std::move(rows)));
  label_and_value(scores, out);
  return out;
}

Result<Predictions> Predictor::predict(std::span<const double> rows) const {
  Dataset data;
  data.columns = model_->schema.columns;
  data.rows = rows.size() / data.columns;
  if (data.rows * data.columns != rows.size())
    return fail(ErrorCode::kBadData,
                fmt::format("{} numbers are no rows of {} features", rows.size(), data.columns));
  data.features = DenseRows<double>{{rows.begin(), rows.end()}};
  data.labels.resize(data.rows);
  return predict(std::move(data));
}

Result<ScoredRows> Predictor::score(Dataset rows) const {
  MFL_TRY(std::vector<double> targets, make_targets(rows, model_->schema, entry_of(*model_).targets));
  MFL_TRY(rows, prepared(std::move(rows)));
  return scorer_->evaluate(std::move(rows), std::move(targets));
}

}  // namespace mfl
