#include "mfl/cli/model_flags.h"

namespace mfl::cli {

void ModelFlags::add(Command& command) {
  command.add_option("RUN|FILE", what, kModelHelp)->required();
  add_store_flag(command, store);
}

void RowsFlags::add(Command& command) {
  add_source_option(command, "--data", data)->type_name("SPEC");
  csv.add(command, [](const Key& key) {
    return key.table == "data" && (key.key == "label" || key.key == "header" || key.key == "separator");
  });
}

Result<DataOptions> RowsFlags::options(const std::string& label) const {
  Config config;
  MFL_CHECK(set_key(config, "data.source", data, "--data " + data));
  config.data.label = label;
  MFL_CHECK(csv.apply(config));
  return data_options(config);
}

}  // namespace mfl::cli
