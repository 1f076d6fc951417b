// Commands for people to paste.
#pragma once

#include <string>
#include <string_view>

#include "mfl/config/config.h"
#include "mfl/config/config_keys.h"
#include "mfl/run/runner.h"

namespace mfl::cli {

// `text` as one word of a POSIX shell.
std::string shell_word(std::string_view text);

// "mfl COMMAND" with a flag for every key that `wanted` takes and that is not at its default: it needs no experiment file.
// Paths in it are relative to where the configuration was read.
std::string shell_command(std::string_view command, const Config& config, bool (*wanted)(const Key&));

// Whether `mfl theory advise` takes the key; it sets the others itself.
bool is_advise_key(const Key& key);

// The `mfl theory advise` command for the setting of a run with warnings about its steps. Empty where there is nothing to warn
// of, and where there is no such advice or it takes long: centralised algorithms, fleets, rounds without some of the nodes, an
// adaptive tau, models that are not linear.
std::string advise_line(const RunOutcome& run);

}  // namespace mfl::cli
