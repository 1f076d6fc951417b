// What the commands share that take a trained model.
#pragma once

#include <string>

#include "mfl/cli/commands.h"
#include "mfl/config/config.h"
#include "mfl/trained/trained_model.h"

namespace mfl::cli {

inline constexpr const char* kModelHelp =
    "A run that is done (its id, the first digits of it, its name, latest or latest~N), or a model file of "
    "mfl model "
    "export (.npz)";

// RUN|FILE and --store.
struct ModelFlags {
  std::string what, store;

  void add(Command& command);
  Result<TrainedModel> find() const { return find_model(what, store); }
};

// --data, and how a CSV file is read.
struct RowsFlags {
  std::string data, header = "auto";
  std::optional<std::string> label;

  void add(Command& command, const std::string& label_help);
  // `label` is what --label is where it is not given.
  Result<DataOptions> options(const std::string& label_column) const;
};

}  // namespace mfl::cli
