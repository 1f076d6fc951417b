#include "mfl/config/foreign_words.h"

#include <algorithm>
#include <string>

namespace mfl {
namespace {

// Flower, PyTorch and scikit-learn.
constexpr ForeignWord kWords[] = {
    {"lr", "algorithm", "eta", ""},
    {"learning-rate", "algorithm", "eta", ""},
    {"eta0", "algorithm", "eta", ""},
    {"step-size", "algorithm", "eta", ""},
    {"momentum", "algorithm", "gamma", ""},
    {"beta", "", "",
     "momentum of the nodes is gamma, and parameters are part of a name: --algorithm 'fedadam(beta1=0.9)'"},
    {"beta1", "", "", "it is part of the name: --algorithm 'fedadam(beta1=0.9)'"},
    {"beta2", "", "", "it is part of the name: --algorithm 'fedadam(beta2=0.99)'"},
    {"mu", "", "", "it is part of the name: --algorithm 'fedprox(mu=0.01)'"},
    {"proximal-mu", "", "", "it is part of the name: --algorithm 'fedprox(mu=0.01)'"},
    {"server-lr", "", "", "it is part of the name: --algorithm 'fedadam(server_lr=0.1)'"},
    {"server-learning-rate", "", "", "it is part of the name: --algorithm 'fedadam(server_lr=0.1)'"},
    {"server-momentum", "", "", "it is part of the name: --algorithm 'fedavgm(beta=0.9)'"},
    {"dirichlet", "", "", "it is a partition: --partition 'dirichlet(0.3)'"},
    {"dirichlet-alpha", "", "", "it is a partition: --partition 'dirichlet(0.3)'"},
    {"non-iid", "", "", "choose a partition: --partition 'dirichlet(0.3)' or --partition label-sorted"},
    {"strategy", "algorithm", "name", ""},
    {"optimizer", "algorithm", "name", ""},
    {"solver", "algorithm", "name", ""},
    {"algo", "algorithm", "name", ""},
    {"epochs", "algorithm", "local_epochs", ""},
    {"local-steps", "algorithm", "tau", ""},
    {"num-rounds", "run", "rounds", ""},
    {"num-server-rounds", "run", "rounds", ""},
    {"comm-rounds", "run", "rounds", ""},
    {"iterations", "run", "steps", ""},
    {"max-iter", "run", "steps", ""},
    {"num-steps", "run", "steps", ""},
    {"random-seed", "run", "seed", ""},
    {"random-state", "run", "seed", ""},
    {"dtype", "run", "precision", ""},
    {"workers", "run", "threads", ""},
    {"num-workers", "run", "threads", ""},
    {"num-threads", "run", "threads", ""},
    {"jobs", "run", "threads", ""},
    {"n-jobs", "run", "threads", ""},
    {"clients", "federation", "nodes", ""},
    {"num-clients", "federation", "nodes", ""},
    {"num-nodes", "federation", "nodes", ""},
    {"num-supernodes", "federation", "nodes", ""},
    {"num-partitions", "federation", "nodes", ""},
    {"partitioner", "federation", "partition", ""},
    {"fraction-fit", "federation", "fraction_train", ""},
    {"client-fraction", "federation", "fraction_train", ""},
    {"min-available-clients", "federation", "min_available_nodes", ""},
    {"min-fit-clients", "federation", "quorum", ""},
    {"timeout", "federation", "round_deadline", ""},
    {"dataset", "data", "source", ""},
    {"data-path", "data", "source", ""},
    {"target", "data", "label", "the label column"},
    {"sep", "data", "separator", ""},
    {"delimiter", "data", "separator", ""},
    {"usecols", "data", "features", ""},
    {"ignore", "data", "drop", "columns to ignore"},
    {"weight-decay", "model", "lambda", ""},
    {"l2", "model", "lambda", ""},
    {"alpha", "", "", "of a Dirichlet partition it is --partition 'dirichlet(0.3)', of a regulariser lambda"},
    {"loss", "model", "name", ""},
    {"batch", "algorithm", "batch_size", ""},
    {"minibatch", "algorithm", "batch_size", ""},
};

}  // namespace

const ForeignWord* find_foreign_word(std::string_view word) {
  std::string spelt(word);
  for (char& c : spelt) {
    if (c == '_') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const auto* found = std::ranges::find(kWords, spelt, &ForeignWord::word);
  return found == std::ranges::end(kWords) ? nullptr : found;
}

}  // namespace mfl
