#include "trainer_runs.h"

#include <fmt/format.h>

namespace mfl::test {

std::string native_toml(const std::string& algorithm, const std::string& run) {
  return fmt::format(
      "[data]\nsource = \"synthetic:90x12\"\ntest = 0\n[federation]\nnodes = {}\npartition = "
      "\"dirichlet(1)\"\n"
      "[model]\nname = \"logistic\"\n[algorithm]\n{}\n[run]\n{}\n",
      kNodes, algorithm, run);
}

std::string external_toml(const std::string& algorithm, const std::string& run) {
  return fmt::format("[federation]\nnodes = {}\n[model]\nname = \"external\"\n[algorithm]\n{}\n[run]\n{}\n",
                     kNodes, algorithm, run);
}

std::string trainer_command(const std::string& experiment, const std::string& fault) {
  return fmt::format("{} {} {}", NATIVE_TRAINER, experiment, fault);
}

std::string digest_of(const Sandbox& box, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"run", "--json", "--quiet"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return ok_data(box.run(words))["digest"];
}

}  // namespace mfl::test
