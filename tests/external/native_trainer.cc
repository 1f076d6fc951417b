// A trainer on mfl's own library: trains the model of an experiment on its data, as a simulation would. native_trainer EXPERIMENT [FAULT]
//
// FAULT is KIND:N:FILE. FILE counts the messages that trainers of the same FILE have received; at number N, from 1, something goes wrong:
//   die, die-late   the process ends, before or after it has done the work
//   hang            no answer
//   cut             half an answer, then the end
//   drift           other numbers than it should send
//   start           initial weights of 3e38, at every N
// or, from number N on, answers are wrong: nan, loss, shape, type, missing, more, bytes, garbage, text, samples, refuse.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>

#include "mfl/algorithm/algorithms.h"
#include "mfl/base/json.h"
#include "mfl/data/safetensors.h"
#include "mfl/engine/node.h"
#include "mfl/experiment/experiment.h"
#include "mfl/load/problem.h"
#include "mfl/model/tensors.h"
#include "mfl/solve/batches.h"

namespace mfl {
namespace {

struct Fault {
  std::string kind;
  int number = 0;
  std::string file;

  static Fault parse(const std::string& text) {
    const std::size_t a = text.find(':'), b = text.find(':', a + 1);
    return {text.substr(0, a), std::stoi(text.substr(a + 1, b - a - 1)), text.substr(b + 1)};
  }
  // Counts a message.
  int next() const {
    int count = 0;
    if (!file.empty()) {
      std::ifstream(file) >> count;
      std::ofstream(file) << ++count;
    }
    return count;
  }
};

int connection() {
  const char* const number = std::getenv("MFL_TRAINER_FD");
  if (number == nullptr) std::exit(2);
  return std::atoi(number);
}

bool read_all(int socket, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(socket, to, size);
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void write_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) std::exit(0);
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string frame(const Json& header, const std::string& body) {
  const std::string text = header.dump();
  const auto first = static_cast<std::uint32_t>(text.size());
  const std::uint64_t second = body.size();
  std::string out(sizeof first + sizeof second, '\0');
  std::memcpy(out.data(), &first, sizeof first);
  std::memcpy(out.data() + sizeof first, &second, sizeof second);
  return out + text + body;
}

template <class T>
class NativeTrainer {
 public:
  NativeTrainer(const Config& config, Fault fault)
      : config_(config), fault_(std::move(fault)), problem_(load_problem<T>(Experiment(config)).value()) {}

  void serve(int socket) {
    for (;;) {
      std::uint32_t header_size = 0;
      std::uint64_t body_size = 0;
      if (!read_all(socket, reinterpret_cast<char*>(&header_size), sizeof header_size)) return;
      if (!read_all(socket, reinterpret_cast<char*>(&body_size), sizeof body_size)) return;
      std::string header(header_size, '\0'), body(body_size, '\0');
      if (!read_all(socket, header.data(), header.size()) || !read_all(socket, body.data(), body.size()))
        return;
      const Json request = Json::parse(header).value();
      const std::string_view message = request.find("message")->text();
      if (message == "stop") return;
      const int number = fault_.next();
      if (number == fault_.number && fault_.kind == "die") ::_exit(9);
      if (number == fault_.number && fault_.kind == "hang") ::pause();
      std::string reply = answer(request, message, body);
      if (number == fault_.number && fault_.kind == "die-late") ::_exit(9);
      if (number == fault_.number && fault_.kind == "cut") {
        write_all(socket, std::string_view(reply).substr(0, reply.size() / 2));
        ::_exit(9);
      }
      if (number == fault_.number && fault_.kind == "drift") {  // in the last number of d
        const T other = T{0.5};
        std::memcpy(reply.data() + reply.size() - sizeof other, &other, sizeof other);
      }
      if (number >= fault_.number && message == "train") reply = spoilt(std::move(reply));
      write_all(socket, reply);
    }
  }

 private:
  const Model<T>& model() const { return *problem_.federation.model; }
  std::size_t place_of(std::string_view node) const {
    for (std::size_t i = 0; i < problem_.federation.nodes.size(); ++i)
      if (node_name(i) == node) return i;
    std::exit(3);
  }

  std::string answer(const Json& request, std::string_view message, std::string_view body) {
    if (message == "hello") return frame(hello(request), "");
    if (message == "initialise") {
      std::vector<Vector<T>> vectors(1, Vector<T>(model().parameters()));
      model().initialise(vectors[0], Stream(config_.run.seed, Purpose::kInitialise));
      if (fault_.kind == "start") std::ranges::fill(vectors[0], T{3e38F});
      return frame({{"message", "initialised"}}, body_of(vectors));
    }
    const std::string node(request.find("node")->text());
    const Shard shard = problem_.federation.nodes[place_of(node)];
    samples_ = shard.count;
    std::vector<Vector<T>> vectors = vectors_in(body);
    Json reply = {{"node", node}, {"samples", shard.count}};
    if (message == "evaluate") {
      reply["message"] = "evaluated";
      reply["loss"] =
          model()
              .evaluate(problem_.federation.train, shard, effective_lambda(config_.model), vectors[0].data())
              .loss;
      reply["metrics"] = {{"test_loss", 0.5}, {"test_accuracy", 0.75}, {"test_samples", 10}, {"more", 1}};
      return frame(reply, "");
    }
    const std::uint64_t round = std::stoull(request.find("round")->dump());
    const Json& hyper = *request.find("hyper_parameters");
    const double eta = std::stod(hyper.find("eta")->dump());
    const std::uint64_t steps = std::stoull(request.find("steps")->dump());
    const Algorithm algorithm = vectors.size() == 2
                                    ? make_mfl(eta, std::stod(hyper.find("gamma")->dump()), steps)
                                    : make_fl(eta, steps);
    const Setting setting{algorithm, effective_lambda(config_.model)};
    NodeMemory<T> memory(model(), std::span(&setting, 1), 1);
    memory.vectors(0) = std::move(vectors);
    const Chosen<T> chosen{.setting = 0, .round = round};
    const NodeData<T> data{problem_.federation.train, shard, nullptr, 0, node_key(node)};
    Batching batching = Experiment(config_).batching;
    batching.by_epochs = false;
    const Stepping stepping{.batching = batching, .round = round, .before_step = {}};
    NodeLosses losses;
    train_node<T>(std::span(&setting, 1), std::span(&chosen, 1), model(), data, steps, stepping, memory,
                  std::span(&losses, 1));
    reply["message"] = "trained";
    reply["round"] = round;
    reply["loss"] = losses.loss;
    return frame(reply, body_of(memory.vectors(0)));
  }

  Json hello(const Json& request) const {
    Json samples = Json::object();
    for (const Json& node : request.find("nodes")->elements())
      samples[node.text()] = problem_.federation.nodes[place_of(node.text())].count;
    Json tensors = Json::parse(tensors_json(model().tensors())).value();
    const std::vector<std::string> vectors = {"w", "d"}, followed = {"eta", "gamma", "batch_size"};
    return {{"message", "hello"}, {"protocol", 1},      {"trainer", "native"},         {"samples", samples},
            {"tensors", tensors}, {"vectors", vectors}, {"hyper_parameters", followed}};
  }

  std::vector<Vector<T>> vectors_in(std::string_view body) const {
    const auto tensors = parse_safetensors(body).value();
    std::vector<Vector<T>> out;
    for (const char* name : {"w", "d"}) {
      Vector<T> vector;
      for (const Tensor& tensor : model().tensors())
        for (const StoredTensor& stored : tensors) {
          if (stored.name != std::string(name) + "/" + tensor.name) continue;
          const std::size_t old = vector.size();
          vector.resize(old + tensor.size());
          std::memcpy(vector.data() + old, stored.bytes.data(), stored.bytes.size());
        }
      if (!vector.empty()) out.push_back(std::move(vector));
    }
    return out;
  }

  std::string body_of(const std::vector<Vector<T>>& vectors) const {
    std::vector<StoredTensor> entries;
    std::string numbers;
    for (std::size_t v = 0; v < vectors.size(); ++v) {
      for (const Tensor& tensor : model().tensors())
        entries.push_back(
            {(v == 0 ? "w/" : "d/") + tensor.name, sizeof(T) == 4 ? "F32" : "F64", tensor.shape});
      numbers += number_bytes(vectors[v]);
    }
    return safetensors_head(entries, sizeof(T)) + numbers;
  }

  // A wrong answer in place of a right one.
  std::string spoilt(std::string reply) const {
    const std::string& kind = fault_.kind;
    Json header = {{"message", "trained"}, {"samples", samples_}, {"loss", 0.5}};
    std::vector<Vector<T>> vectors(2, Vector<T>(model().parameters()));
    const auto replaced = [&](const std::string& from, const std::string& to) {
      std::string body = body_of(vectors);
      for (std::size_t at = 0; (at = body.find(from, at)) != std::string::npos; at += to.size())
        body.replace(at, from.size(), to);
      return frame(header, body);
    };
    if (kind == "nan") {
      vectors[1].back() = std::numeric_limits<T>::quiet_NaN();
      return frame(header, body_of(vectors));
    }
    if (kind == "loss") {
      header["loss"] = nullptr;
      return frame(header, body_of(vectors));
    }
    if (kind == "metric") {
      header["metrics"] = {{std::string(300, 'x'), 1}};
      return frame(header, body_of(vectors));
    }
    if (kind == "samples") {
      header["samples"] = 1;
      return frame(header, body_of(vectors));
    }
    if (kind == "shape") {
      std::vector<StoredTensor> entries = {
          {"w/weights", sizeof(T) == 4 ? "F32" : "F64", {1, model().parameters()}}};
      return frame(header, safetensors_head(entries, sizeof(T)) + number_bytes(vectors[0]));
    }
    if (kind == "type") return replaced(sizeof(T) == 4 ? "F32" : "F64", sizeof(T) == 4 ? "I32" : "I64");
    if (kind == "missing") return frame(header, body_of({vectors[0]}));
    if (kind == "more") {
      std::vector<StoredTensor> entries;
      for (const char* name : {"w/weights", "d/weights", "e/weights"})
        entries.push_back({name, sizeof(T) == 4 ? "F32" : "F64", {model().parameters()}});
      return frame(header, safetensors_head(entries, sizeof(T)) +
                               std::string(3 * model().parameters() * sizeof(T), '\0'));
    }
    if (kind == "bytes") {
      std::string out(12, '\0');
      const std::uint32_t first = 2;
      const std::uint64_t second = std::uint64_t{1} << 40U;
      std::memcpy(out.data(), &first, sizeof first);
      std::memcpy(out.data() + 4, &second, sizeof second);
      return out + "{}";
    }
    if (kind == "garbage") return frame(header, std::string(1000, 'x'));
    if (kind == "text") {
      std::string out(12, '\0');
      out[0] = 4;
      return out + "what";
    }
    if (kind == "refuse") return frame({{"message", "error"}, {"text", "the GPU is on fire"}}, "");
    return reply;
  }

  Config config_;
  Fault fault_;
  Problem<T> problem_;
  std::size_t samples_ = 0;  // of the node that was trained last
};

int serve(const std::string& file, const Fault& fault) {
  const auto config = read_config(file);
  if (!config) {
    std::cerr << config.error().text() << '\n';
    return 2;
  }
  const int socket = connection();
  if (config->run.precision == Precision::kF32)
    NativeTrainer<float>(*config, fault).serve(socket);
  else
    NativeTrainer<double>(*config, fault).serve(socket);
  return 0;
}

}  // namespace
}  // namespace mfl

int main(int argc, char** argv) {
  return mfl::serve(argv[1], argc > 2 ? mfl::Fault::parse(argv[2]) : mfl::Fault{});
}
