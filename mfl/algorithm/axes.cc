#include "mfl/algorithm/axes.h"

#include <fmt/core.h>

#include <utility>

namespace mfl {
namespace {

using namespace axis;

template <class Part, class Axis>
bool is(const Axis& axis) {
  return std::holds_alternative<Part>(axis);
}

bool is_plain_average(const ServerStep& step) {
  const Average* const average = std::get_if<Average>(&step);
  return average != nullptr && average->server_lr == 1;
}

class Composed final : public MethodOf<Composed> {
 public:
  explicit Composed(Axes axes) : axes_(std::move(axes)) {
    // Momentum last: its vectors may be sent up in some rounds alone.
    std::visit([&](auto& part) { add(part); }, axes_.correction);
    std::visit([&](auto& part) { add(part); }, axes_.server_step);
    std::visit([&](auto& part) { add(part); }, axes_.momentum);
    if (const auto* lookahead = std::get_if<Lookahead>(&axes_.server_step)) start_from(lookahead->first);
    if (is<Normalised>(axes_.server_step)) vectors_[0].up = false;
    if (is<ControlVariates>(axes_.correction) || is<Dynamic>(axes_.correction))
      for (VectorFlow& flow : vectors_) flow.weighting = Weighting::kEqually;
  }

  std::vector<VectorFlow> vectors() const override { return vectors_; }

  std::optional<Descent> descent() const override {
    if (!is<NoCorrection>(axes_.correction) || !is_plain_average(axes_.server_step)) return std::nullopt;
    if (const auto* plain = std::get_if<PlainSteps>(&axes_.momentum)) return Descent{plain->eta, 0};
    const auto* local = std::get_if<LocalMomentum>(&axes_.momentum);
    if (local == nullptr || local->nesterov || local->share != LocalMomentum::Share::kAverage)
      return std::nullopt;
    return Descent{local->eta, local->gamma};
  }

  std::optional<NodeSteps> node_steps() const override {
    NodeSteps steps;
    if (const auto* proximal = std::get_if<Proximal>(&axes_.correction))
      steps.mu = proximal->mu;
    else if (!is<NoCorrection>(axes_.correction))
      return std::nullopt;
    if (const auto* plain = std::get_if<PlainSteps>(&axes_.momentum)) {
      steps.eta = plain->eta;
      return steps;
    }
    const auto* local = std::get_if<LocalMomentum>(&axes_.momentum);
    if (local == nullptr) return std::nullopt;
    steps.eta = local->eta;
    steps.gamma = local->gamma;
    steps.nesterov = local->nesterov;
    steps.d = local->first;
    return steps;
  }

  template <class T>
  void begin(NodeRound<T>& node) const {
    every_part([&](const auto& part) { part.begin(node); });
  }
  template <class T>
  void step(NodeRound<T>& node, Vector<T>& gradient) const {
    std::visit([&](const auto& part) { part.correct(node, gradient); }, axes_.correction);
    std::visit([&](const auto& part) { part.step(node, gradient); }, axes_.momentum);
  }
  template <class T>
  void end(NodeRound<T>& node) const {
    every_part([&](const auto& part) { part.end(node); });
  }
  template <class T>
  void server(ServerRound<T>& round) const {
    every_part([&](const auto& part) { part.before(round); });
    std::visit([&](const auto& part) { part.take(round); }, axes_.server_step);
    every_part([&](const auto& part) { part.after(round); });
  }

 private:
  void add(auto& part) {
    part.first = vectors_.size();
    for (VectorFlow& flow : part.vectors()) vectors_.push_back(std::move(flow));
  }

  void start_from(std::size_t vector) {
    vectors_[0].down = false;
    vectors_[0].start = vectors_[vector].name;
    std::visit([&](auto& part) { part.start = vector; }, axes_.correction);
  }

  void every_part(const auto& use) const {
    std::visit(use, axes_.correction);
    std::visit(use, axes_.server_step);
    std::visit(use, axes_.momentum);
  }

  Axes axes_;
  std::vector<VectorFlow> vectors_ = {averaged("w")};
};

tl::unexpected<Error> refuse(std::string what, std::string_view advice) {
  return fail(ErrorCode::kBadConfig, std::move(what), std::string(advice));
}

// What the formula of a normalised step knows of the nodes' steps.
Result<void> set_normalised(Normalised& step, const Axes& axes) {
  const auto* const local = std::get_if<LocalMomentum>(&axes.momentum);
  const auto* const proximal = std::get_if<Proximal>(&axes.correction);
  const bool resets = local != nullptr && !local->nesterov && local->share == LocalMomentum::Share::kReset;
  if (!resets && !is<PlainSteps>(axes.momentum))
    return refuse("the server step normalised counts plain steps, or steps with momentum reset",
                  "use momentum none or reset, or another server step");
  if ((proximal == nullptr && !is<NoCorrection>(axes.correction)) || (proximal != nullptr && resets))
    return refuse(
        "the server step normalised counts steps without a correction, or plain steps with a proximal one",
        "use correction none, or proximal with momentum none");
  step.gamma = resets ? local->gamma : 0;
  step.mu = proximal != nullptr ? proximal->mu : 0;
  return {};
}

}  // namespace

Result<Axes> parse_axes(const AxisSpecs& specs, const StepOptions& options) {
  MFL_TRY(const auto correction, parse_spec(specs.correction, corrections()));
  MFL_TRY(const auto momentum, parse_spec(specs.momentum, momenta()));
  MFL_TRY(const auto server, parse_spec(specs.server_step, server_steps()));
  Axes axes{correction.entry->make(correction.values), momentum.entry->make(options, momentum.values),
            server.entry->make(options, server.values)};
  auto* const local = std::get_if<LocalMomentum>(&axes.momentum);
  if (local != nullptr) local->nesterov = specs.nesterov;
  if (options.sync_momentum > 1 && (local == nullptr || local->share != LocalMomentum::Share::kSync))
    return refuse(fmt::format("sync_momentum = {} is for momentum average, and the momentum is {}",
                              options.sync_momentum, momentum.text),
                  "leave sync_momentum out, or set momentum to average");
  if (is<Dynamic>(axes.correction) && !is_plain_average(axes.server_step))
    return refuse(fmt::format("the correction {} has a server step of its own, and excludes {}",
                              correction.text, server.text),
                  "leave server_step out, or use another correction");
  if (auto* const normalised = std::get_if<Normalised>(&axes.server_step))
    MFL_CHECK(set_normalised(*normalised, axes));
  return axes;
}

std::shared_ptr<const Method> compose(Axes axes) { return std::make_shared<Composed>(std::move(axes)); }

}  // namespace mfl
