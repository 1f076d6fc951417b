#include "mfl/cli/model_flags.h"

namespace mfl::cli {

void ModelFlags::add(Command& command) {
  command.add_option("RUN|FILE", what, kModelHelp)->required();
  add_store_flag(command, store);
}

void RowsFlags::add(Command& command, const std::string& label_help) {
  command.add_option("--data", data, "csv:FILE, libsvm:FILE, npy:DIR, idx:DIR, mnist or synthetic")
      ->type_name("SPEC")
      ->required()
      ->choices({"csv:", "libsvm:", "npy:", "idx:", "mnist", "synthetic"});
  command.add_option("--label", label, label_help)->type_name("COLUMN");
  command.add_option("--header", header, "Whether a CSV file starts with column names: auto, yes or no")
      ->type_name("WHEN")
      ->choices({"auto", "yes", "no"})
      ->capture_default_str();
}

Result<DataOptions> RowsFlags::options(const std::string& label_column) const {
  Config config;
  MFL_CHECK(set_key(config, "data.source", data, "--data " + data));
  MFL_CHECK(set_key(config, "data.header", header, "--header " + header));
  MFL_CHECK(set_key(config, "data.label", label.value_or(label_column), "--label"));
  return data_options(config);
}

}  // namespace mfl::cli
