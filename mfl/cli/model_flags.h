// What the commands share that take a trained model.
#pragma once

#include <string>

#include "mfl/cli/commands.h"
#include "mfl/cli/config_flags.h"
#include "mfl/data/source.h"
#include "mfl/trained/trained_model.h"

namespace mfl::cli {

inline constexpr const char* kModelHelp =
    "A run that is done (its id, the first digits of it, its name, latest or latest~N), or a model file of "
    "mfl model export (.npz)";

// RUN|FILE and --store.
struct ModelFlags {
  std::string what, store;

  void add(Command& command);
  Result<TrainedModel> find() const { return find_model(what, store); }
};

// --data, and how a CSV file is read.
struct RowsFlags {
  std::string data;
  ConfigFlags csv;

  void add(Command& command);
  // `label` is the label column unless --label names another.
  Result<DataOptions> options(const std::string& label) const;
};

}  // namespace mfl::cli
