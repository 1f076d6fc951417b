#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <utility>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/base/kernels/kernels.h"
#include "mfl/base/rng.h"
#include "mfl/data/safetensors.h"
#include "mfl/data/text.h"
#include "mfl/external/trainers.h"
#include "mfl/solve/batches.h"

namespace mfl {
namespace {

constexpr std::size_t kMostIndex = std::size_t{16} << 20U;

template <class T>
constexpr const char* type_name() {
  return sizeof(T) == sizeof(float) ? "F32" : "F64";
}

// The seed of a node's round, which JSON numbers of any program hold exactly.
std::uint64_t seed_of(std::uint64_t seed, std::uint64_t round, std::string_view node) {
  constexpr unsigned kExact = 11;  // 64 - 53
  return Stream(seed, Purpose::kTrainer, round, node_key(node)).next() >> kExact;
}

// A vector of the algorithm on its way to or from a trainer.
template <class T>
struct Travelling {
  const char* name;
  std::span<T> numbers;
};

template <class T>
class TrainedNodes final : public ExternalNodes<T> {
 public:
  explicit TrainedNodes(std::shared_ptr<Trainers> trainers)
      : trainers_(std::move(trainers)), parameters_(trainers_->facts().schema.columns) {}

  unsigned workers() const override { return trainers_->workers(); }

  ExternalReport train(unsigned worker, const ExternalWork<T>& work) override {
    const TrainerIntroduction& run = trainers_->introduction();
    const std::string& node = run.nodes[work.node];
    const std::string about = fmt::format("node {}, train of round {}", node, work.round);
    TrainerRequest request;
    request.header = {{"message", "train"},
                      {"node", node},
                      {"round", work.round},
                      {"steps", work.steps},
                      {"seed", seed_of(run.seed, work.round, node)},
                      {"hyper_parameters", step_parameters(work.how, run.batch_size)}};
    if (work.epochs != 0) request.header["epochs"] = work.epochs;
    std::vector<Travelling<T>> vectors = {{"w", work.w}};
    if (work.d != nullptr) vectors.push_back({"d", *work.d});
    const TrainerReply reply =
        send(worker, request, vectors, "trained", most_body(vectors.size()), about, work.poll);
    const ExternalReport report = read_report(reply.header, work.node, about);
    const std::vector<T> before = trainers_->setup().max_norm > 0 ? copy_of(vectors) : std::vector<T>{};
    take(reply.body, vectors, about);
    check_norm(vectors, before, about);
    return report;
  }

  ExternalReport evaluate(unsigned worker, std::size_t node, const Vector<T>& w,
                          const std::function<void()>& poll) override {
    const std::string& name = trainers_->introduction().nodes[node];
    const std::string about = fmt::format("node {}, evaluate", name);
    TrainerRequest request;
    request.header = {{"message", "evaluate"}, {"node", name}};
    const std::vector<Travelling<const T>> vectors = {{"w", w}};
    return read_report(send(worker, request, vectors, "evaluated", 0, about, poll).header, node, about);
  }

  void initialise(std::span<T> w, std::uint64_t seed, const std::function<void()>& poll) override {
    TrainerRequest request;
    request.header = {{"message", "initialise"}, {"seed", seed}};
    const std::vector<Travelling<T>> vectors = {{"w", w}};
    const auto reply = trainers_->call(0, request, "initialised", most_body(1), "initialise", poll);
    if (!reply) throw ExternalFailure(reply.error());
    take(reply->body, vectors, "initialise");
  }

 private:
  std::size_t most_body(std::size_t vectors) const { return vectors * parameters_ * sizeof(T) + kMostIndex; }

  [[noreturn]] void blame(std::string what, const std::string& about) const {
    throw ExternalFailure(trainers_->blame(std::move(what), about));
  }

  // The tensors of the vectors, in the order in which their numbers are in memory.
  template <class X>
  std::vector<StoredTensor> entries(const std::vector<Travelling<X>>& vectors) const {
    std::vector<StoredTensor> out;
    for (const auto& vector : vectors)
      for (const Tensor& tensor : trainers_->facts().tensors)
        out.push_back({fmt::format("{}/{}", vector.name, tensor.name), type_name<T>(), tensor.shape});
    return out;
  }

  template <class X>
  TrainerReply send(unsigned worker, TrainerRequest& request, const std::vector<Travelling<X>>& vectors,
                    std::string_view expected, std::size_t most, const std::string& about,
                    const std::function<void()>& poll) {
    const std::string head = safetensors_head(entries(vectors), sizeof(T));
    std::vector<std::string_view> body = {head};
    for (const auto& vector : vectors)
      body.emplace_back(reinterpret_cast<const char*>(vector.numbers.data()), vector.numbers.size_bytes());
    request.body = body;
    auto reply = trainers_->call(worker, request, expected, most, about, poll);
    if (!reply) throw ExternalFailure(reply.error());
    return *std::move(reply);
  }

  // Copies what came back, all of it or nothing.
  void take(std::string_view body, const std::vector<Travelling<T>>& vectors,
            const std::string& about) const {
    const auto parsed = parse_safetensors(body);
    if (!parsed) blame(parsed.error().message, about);
    const std::vector<StoredTensor> wanted = entries(vectors);
    std::vector<const StoredTensor*> found;
    for (const StoredTensor& one : wanted) {
      const auto at = std::ranges::find(*parsed, one.name, &StoredTensor::name);
      if (at == parsed->end()) blame(fmt::format("did not return {}", excerpt(one.name)), about);
      if (at->type != one.type)
        blame(fmt::format("returned {} as {}, expected {}", excerpt(one.name), at->type, one.type), about);
      if (at->shape != one.shape)
        blame(fmt::format("returned {} with the shape [{}], expected [{}]", excerpt(one.name),
                          fmt::join(at->shape, ", "), fmt::join(one.shape, ", ")),
              about);
      check_finite(*at, about);
      found.push_back(&*at);
    }
    if (parsed->size() != wanted.size())
      blame(fmt::format("returned {} tensors, expected {}", parsed->size(), wanted.size()), about);
    std::size_t next = 0;
    for (const auto& vector : vectors) {
      char* to = reinterpret_cast<char*>(vector.numbers.data());
      for (std::size_t i = 0; i < trainers_->facts().tensors.size(); ++i, ++next) {
        std::memcpy(to, found[next]->bytes.data(), found[next]->bytes.size());
        to += found[next]->bytes.size();
      }
    }
  }

  void check_finite(const StoredTensor& tensor, const std::string& about) const {
    for (std::size_t i = 0; i < tensor.bytes.size() / sizeof(T); ++i) {
      T number;
      std::memcpy(&number, tensor.bytes.data() + i * sizeof(T), sizeof(T));
      if (!std::isfinite(number))
        blame(fmt::format("returned {}, whose number {} is not finite", excerpt(tensor.name), i), about);
    }
  }

  static std::vector<T> copy_of(const std::vector<Travelling<T>>& vectors) {
    std::vector<T> out;
    for (const auto& vector : vectors) out.insert(out.end(), vector.numbers.begin(), vector.numbers.end());
    return out;
  }

  void check_norm(const std::vector<Travelling<T>>& vectors, const std::vector<T>& before,
                  const std::string& about) const {
    if (before.empty()) return;
    const Kernels<T>& kernels = default_kernel_set().of<T>();
    double squares = 0;
    const T* start = before.data();
    for (const auto& vector : vectors) {
      squares += kernels.squared_distance(vector.numbers.size(), vector.numbers.data(), start);
      start += vector.numbers.size();
    }
    if (std::sqrt(squares) > trainers_->setup().max_norm)
      blame(fmt::format("changed the vectors by {:g}, more than the {:g} that are allowed",
                        std::sqrt(squares), trainers_->setup().max_norm),
            about);
  }

  ExternalReport read_report(const Json& reply, std::size_t node, const std::string& about) const {
    const Json *const loss = reply.find("loss"), *const samples = reply.find("samples");
    const std::string expected = fmt::to_string(trainers_->facts().samples[node]);
    if (samples == nullptr || samples->dump() != expected)
      blame(fmt::format("reports {} samples, {} when it started", samples == nullptr ? "no" : samples->dump(),
                        expected),
            about);
    if (const Json* said = reply.find("node");
        said != nullptr && said->text() != trainers_->introduction().nodes[node])
      blame(fmt::format("answered for node {}", excerpt(said->text())), about);
    const auto number = loss == nullptr ? std::nullopt : parse_number(loss->dump());
    if (!number || !std::isfinite(*number)) blame("reports a loss that is not a finite number", about);
    ExternalReport out{*number, {}};
    const Json* const metrics = reply.find("metrics");
    if (metrics == nullptr) return out;
    if (metrics->members().size() > kMostMetrics)
      blame(
          fmt::format("reports {} metrics, at most {} are allowed", metrics->members().size(), kMostMetrics),
          about);
    for (const auto& [name, value] : metrics->members()) {
      if (name.size() > kMostMetricName)
        blame(fmt::format("reports the metric {}, whose name is longer than {} bytes", excerpt(name),
                          kMostMetricName),
              about);
      const auto metric = parse_number(value.dump());
      if (!metric || !std::isfinite(*metric))
        blame(fmt::format("reports the metric {}, which is not a finite number", excerpt(name)), about);
      out.metrics[name] = *metric;
    }
    return out;
  }

  std::shared_ptr<Trainers> trainers_;
  std::size_t parameters_;
};

}  // namespace

template <class T>
std::shared_ptr<ExternalNodes<T>> external_nodes(std::shared_ptr<Trainers> trainers) {
  return std::make_shared<TrainedNodes<T>>(std::move(trainers));
}

template std::shared_ptr<ExternalNodes<float>> external_nodes(std::shared_ptr<Trainers>);
template std::shared_ptr<ExternalNodes<double>> external_nodes(std::shared_ptr<Trainers>);

}  // namespace mfl
