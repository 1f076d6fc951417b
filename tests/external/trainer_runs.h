// Runs with the native trainer (native_trainer.cc) beside runs of mfl itself on the same data.
#pragma once

#include <string>
#include <vector>

#include "process.h"

namespace mfl::test {

inline constexpr std::size_t kNodes = 3;

// The experiment that mfl itself runs, and that the native trainer reads.
std::string native_toml(const std::string& algorithm, const std::string& run);
// The same for trainers, which have data and model of their own.
std::string external_toml(const std::string& algorithm, const std::string& run);

// `native_trainer EXPERIMENT [FAULT]`.
std::string trainer_command(const std::string& experiment, const std::string& fault = {});

// The digest of `mfl run`, with what else it is told.
std::string digest_of(const Sandbox& box, const std::vector<std::string>& arguments);

}  // namespace mfl::test
