#include "mfl/network/test_bench.h"

#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "mfl/experiment/engines.h"
#include "mfl/federation/payload.h"
#include "mfl/load/problem.h"
#include "mfl/run/outcome.h"

namespace mfl {
namespace {

template <class T>
class TestSet {
 public:
  TestSet(Problem<T> problem, const Experiment& experiment)
      : problem_(std::move(problem)),
        labels_(test_labels(experiment, problem_)),
        engine_(local_engine<T>(problem_.federation, {setting_of(experiment)},
                                make_workers(experiment.config.run))) {}

  TestRow test(std::string_view weights, bool in_detail) {
    const std::lock_guard lock(mutex_);
    const std::size_t parameters = problem_.federation.model->parameters();
    const auto w = from_payload<T>(weights.substr(0, parameters * sizeof(T)), std::array{parameters});
    const auto metrics = engine_->test(0, w.front(), in_detail ? detail_of(labels_) : TestDetail::kNone);
    if (!metrics) return {};
    return {metrics->loss, labels_.has_accuracy ? std::optional(metrics->accuracy) : std::nullopt,
            metrics_text(*metrics, labels_)};
  }

 private:
  Problem<T> problem_;
  TestLabels labels_;
  std::unique_ptr<Engine<T>> engine_;
  std::mutex mutex_;
};

template <class T>
Result<TestBench> load_as(const Experiment& experiment) {
  MFL_TRY(Problem<T> problem, load_problem<T>(experiment));
  TestBench out{problem.schema, problem.has_accuracy, {}};
  out.test = [set = std::make_shared<TestSet<T>>(std::move(problem), experiment)](
                 std::string_view weights, bool in_detail) { return set->test(weights, in_detail); };
  return out;
}

}  // namespace

Result<TestBench> load_test_bench(Experiment experiment, const std::string& spec, const Schema& schema) {
  Config& config = experiment.config;
  config.data.source = config.data.test_source = spec;
  config.data.task.reset();
  config.data.positive.clear();
  config.schema = schema;
  config.federation = {1, "contiguous"};
  return config.run.precision == Precision::kF32 ? load_as<float>(experiment) : load_as<double>(experiment);
}

}  // namespace mfl
