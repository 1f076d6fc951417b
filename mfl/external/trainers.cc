#include "mfl/external/trainers.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "mfl/data/text.h"
#include "mfl/model/tensors.h"

namespace mfl {
namespace {

constexpr int kProtocol = 1;
constexpr int kTries = 3;
constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 32U;  // of a node: as many as a mean can weigh

std::vector<std::string> vectors_of(const NodeSteps& steps) {
  return steps.gamma ? std::vector<std::string>{"w", "d"} : std::vector<std::string>{"w"};
}

Result<std::vector<std::string>> texts_of(const Json& reply, std::string_view key) {
  std::vector<std::string> out;
  const Json* const found = reply.find(key);
  if (found == nullptr) return out;
  if (!found->is_array() || !std::ranges::all_of(found->elements(), &Json::is_string))
    return fail(ErrorCode::kRunFailed, fmt::format("\"{}\" of its hello is not a list of texts", key));
  for (const Json& text : found->elements()) out.emplace_back(text.text());
  return out;
}

// What a list lacks of what is needed.
Result<void> require_all(const std::vector<std::string>& needed, const std::vector<std::string>& has,
                         std::string_view what, std::string_view algorithm) {
  for (const std::string& one : needed)
    if (std::ranges::count(has, one) == 0)
      return fail(ErrorCode::kBadConfig,
                  fmt::format("does not follow the {} \"{}\", which {} needs here", what, one, algorithm),
                  "use an algorithm that does without, or teach the trainer (docs/trainer.md)");
  return {};
}

Result<std::vector<std::uint64_t>> samples_of(const Json& reply, const std::vector<std::string>& nodes) {
  const Json* const samples = reply.find("samples");
  std::vector<std::uint64_t> out;
  for (const std::string& node : nodes) {
    const Json* const count = samples == nullptr ? nullptr : samples->find(node);
    const auto number = count == nullptr ? std::nullopt : parse_count(count->dump());
    if (!number || *number == 0 || *number > kMostSamples)
      return fail(
          ErrorCode::kRunFailed,
          fmt::format("its hello has no number of samples, from 1 to {}, for node {}", kMostSamples, node));
    out.push_back(*number);
  }
  return out;
}

Result<std::vector<Tensor>> tensors_of(const Json& reply) {
  const Json* const list = reply.find("tensors");
  auto tensors = parse_tensors(list == nullptr ? "" : list->dump());
  if (!tensors) return fail(ErrorCode::kRunFailed, "\"tensors\" of its hello: " + tensors.error().message);
  std::vector<std::string_view> names;
  for (const Tensor& tensor : *tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    return fail(ErrorCode::kRunFailed, fmt::format("its hello names the tensor {} twice", excerpt(*twice)));
  return tensors;
}

Result<Schema> trainer_schema(const Json& reply, const std::vector<Tensor>& tensors) {
  Schema out;
  out.task = LabelTask::kExternal;
  out.tensors = tensors_json(tensors);
  out.own_data = true;
  for (const Tensor& tensor : tensors) out.columns += tensor.size();
  if (out.tensors.size() > kMostMessageText)
    return fail(ErrorCode::kRunFailed,
                fmt::format("the names of its {} tensors are too long", tensors.size()));
  const Json* const said = reply.find("schema");
  if (said == nullptr) return out;
  MFL_TRY(out.features, texts_of(*said, "features"));
  MFL_TRY(out.classes, texts_of(*said, "classes"));
  if (const Json* label = said->find("label")) out.label = label->text();
  return out;
}

}  // namespace

Json step_parameters(const NodeSteps& steps, std::uint64_t batch_size) {
  Json out = {{"eta", steps.eta}};
  if (steps.gamma) out["gamma"] = *steps.gamma;
  if (steps.nesterov) out["nesterov"] = true;
  if (steps.mu != 0) out["mu"] = steps.mu;
  if (batch_size != 0) out["batch_size"] = batch_size;
  return out;
}

Trainers::Trainers(TrainerSetup setup, TrainerIntroduction introduction)
    : setup_(std::move(setup)), introduction_(std::move(introduction)) {
  for (unsigned i = 0; i < setup_.processes; ++i) links_.emplace_back(setup_.spec);
}

Result<std::shared_ptr<Trainers>> Trainers::open(TrainerSetup setup, TrainerIntroduction introduction,
                                                 const std::function<void()>& poll) {
  if (setup.spec.empty())
    return fail(ErrorCode::kBadConfig, "--trainer is empty", "name a command or unix:PATH");
  if (setup.processes == 0 || setup.processes > kMostTrainers)
    return fail(ErrorCode::kBadConfig,
                fmt::format("--trainer-processes {}: from 1 to {}", setup.processes, kMostTrainers));
  if (TrainerLink::is_socket(setup.spec) && setup.processes > 1)
    return fail(ErrorCode::kBadConfig,
                fmt::format("--trainer-processes {}: {} is one trainer", setup.processes, setup.spec),
                "give a command, which can be started several times");
  std::shared_ptr<Trainers> out(new Trainers(std::move(setup), std::move(introduction)));
  // One that fails does not keep the others waiting: the first one's answer decides.
  for (TrainerLink& link : out->links_) {
    auto greeted = out->greet(link, poll);
    for (int tries = 1; !greeted && greeted.error().code == ErrorCode::kNetwork && tries < kTries; ++tries)
      greeted = out->greet(link, poll);
    if (greeted) continue;
    Error error = out->blame(greeted.error().message, "hello");
    if (greeted.error().code != ErrorCode::kNetwork) error.code = greeted.error().code;
    if (!greeted.error().hint.empty()) error.hint = greeted.error().hint;
    return tl::unexpected<Error>(std::move(error));
  }
  return out;
}

std::string Trainers::who() const {
  constexpr std::size_t kLongest = 500;  // the program's name comes after its folders
  return known_ && !facts_.name.empty()
             ? fmt::format("trainer {} ({})", excerpt(setup_.spec, kLongest), excerpt(facts_.name))
             : fmt::format("trainer {}", excerpt(setup_.spec, kLongest));
}

Error Trainers::blame(std::string what, const std::string& about) const {
  return {ErrorCode::kRunFailed, fmt::format("{} ({}): {}", who(), about, what),
          "docs/trainer.md says what a trainer must answer; its own output is on standard error", nullptr};
}

std::function<void()> stop_poll(const std::atomic<bool>* stop) {
  if (stop == nullptr) return {};
  return [stop] {
    if (*stop)
      throw ExternalFailure({ErrorCode::kRunFailed, "stopped while waiting for a trainer", {}, nullptr});
  };
}

Result<void> Trainers::greet(TrainerLink& link, const std::function<void()>& caller) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kSilence{2};
  const auto since = Clock::now();
  bool told = false;
  const std::function<void()> poll = [&, stopped = stop_poll(setup_.stop)] {
    if (caller) caller();
    if (stopped) stopped();
    if (told || !setup_.waiting || Clock::now() - since < kSilence) return;
    told = true;
    setup_.waiting(fmt::format("waiting for {} to {}", who(), link.connected() ? "answer" : "listen"));
  };
  MFL_CHECK(link.connect(setup_.deadline, poll));
  TrainerRequest hello;
  hello.header = {{"message", "hello"},
                  {"protocol", kProtocol},
                  {"nodes", introduction_.nodes},
                  {"precision", introduction_.precision == Precision::kF32 ? "f32" : "f64"},
                  {"seed", introduction_.seed},
                  {"algorithm", introduction_.algorithm},
                  {"vectors", vectors_of(introduction_.steps)},
                  {"hyper_parameters", step_parameters(introduction_.steps, introduction_.batch_size)}};
  MFL_TRY(const TrainerReply reply, link.call(hello, {setup_.deadline, 0, poll}));
  MFL_TRY(TrainerFacts facts, read_facts(reply.header));
  if (known_ && facts != facts_)
    return fail(ErrorCode::kRunFailed, "says something else of its data or model than before");
  if (known_) return {};  // other workers read it
  facts_ = std::move(facts);
  known_ = true;
  return {};
}

Result<TrainerFacts> Trainers::read_facts(const Json& reply) const {
  const Json *const message = reply.find("message"), *const protocol = reply.find("protocol");
  if (message == nullptr || message->text() != "hello")
    return fail(ErrorCode::kRunFailed, "did not answer hello with hello");
  if (protocol == nullptr || protocol->dump() != fmt::to_string(kProtocol))
    return fail(ErrorCode::kRunFailed, fmt::format("speaks protocol {}, this mfl speaks {}",
                                                   protocol == nullptr ? "?" : protocol->dump(), kProtocol));
  TrainerFacts out;
  if (const Json* name = reply.find("trainer")) out.name = name->text();
  MFL_TRY(const auto vectors, texts_of(reply, "vectors"));
  MFL_TRY(const auto followed, texts_of(reply, "hyper_parameters"));
  MFL_CHECK(require_all(vectors_of(introduction_.steps), vectors, "vector", introduction_.algorithm));
  std::vector<std::string> needed;
  const Json all = step_parameters(introduction_.steps, introduction_.batch_size);
  for (const auto& member : all.members()) needed.push_back(member.first);
  MFL_CHECK(require_all(needed, followed, "hyper-parameter", introduction_.algorithm));
  MFL_TRY(out.samples, samples_of(reply, introduction_.nodes));
  MFL_TRY(out.tensors, tensors_of(reply));
  MFL_TRY(out.schema, trainer_schema(reply, out.tensors));
  return out;
}

Result<TrainerReply> Trainers::call(unsigned worker, const TrainerRequest& request, std::string_view expected,
                                    std::size_t most_body, const std::string& about,
                                    const std::function<void()>& poll) {
  TrainerLink& link = links_[worker];
  std::string last;
  for (int tries = 0; tries < kTries; ++tries) {
    if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100 << tries));
    auto done = link.connected() ? Result<void>{} : greet(link, poll);
    auto reply = done ? link.call(request, {setup_.deadline, most_body, poll})
                      : Result<TrainerReply>(tl::unexpected<Error>(done.error()));
    if (reply) {
      const Json* const message = reply->header.find("message");
      if (message != nullptr && message->text() == expected) return reply;
      return tl::unexpected<Error>(
          blame(fmt::format("answered \"{}\", expected \"{}\"",
                            message == nullptr ? "" : excerpt(message->text()), expected),
                about));
    }
    if (reply.error().code != ErrorCode::kNetwork)
      return tl::unexpected<Error>(blame(reply.error().message, about));
    last = reply.error().message;
  }
  return tl::unexpected<Error>(blame(fmt::format("{} ({} attempts)", last, kTries), about));
}

}  // namespace mfl
