#include "mfl/config/config.h"
#include "mfl/config/sweep_grid.h"
#include "tests/fuzz/fuzz.h"

namespace mfl {
namespace {

constexpr std::size_t kLargestGrid = 64;

void require_error(const Error& error) {
  fuzz::require(error.code == ErrorCode::kBadConfig, "the error blames the configuration");
  fuzz::require(error.message.starts_with("input.toml"), "the error names the file");
  fuzz::require(error.message.find('\n') == std::string::npos, "a message on one line");
}

void require_written(const Config& config) {
  fuzz::require(validate(config).has_value(), "what was read is valid");
  const std::string text = to_toml(config);
  const auto again = parse_config(text, "again.toml");
  fuzz::require(again.has_value() && *again == config, "parse_config(to_toml(c)) == c");
  fuzz::require(to_toml(*again) == text, "one text for one configuration");
  fuzz::require(config_digest(*again) == config_digest(config), "one digest for one configuration");
}

void check_sweep(std::string_view text) {
  const auto sweep = parse_sweep(text, "input.toml");
  if (!sweep) {
    require_error(sweep.error());
    return;
  }
  std::size_t grid = 1;
  for (const SweepAxis& axis : sweep->axes) {
    fuzz::require(!axis.values.empty(), "an axis has values");
    grid = axis.values.size() > kLargestGrid / grid ? kLargestGrid + 1 : grid * axis.values.size();
    if (grid > kLargestGrid) return;
  }
  const auto configs = expand(*sweep);
  if (!configs) return;
  fuzz::require(configs->size() == grid, "a setting for each combination");
  for (const Config& config : *configs) fuzz::require(validate(config).has_value(), "settings are valid");
}

}  // namespace
}  // namespace mfl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mfl;
  const std::string_view text = fuzz::view(data, size);
  if (const auto config = parse_config(text, "input.toml"))
    require_written(*config);
  else
    require_error(config.error());
  check_sweep(text);
  return 0;
}
