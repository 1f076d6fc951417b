#include <fmt/core.h>

#include <cmath>
#include <memory>

#include "mfl/cli/commands.h"
#include "mfl/report/table.h"
#include "mfl/theory/drift.h"

namespace mfl::cli {
namespace {

struct TheoryHArguments {
  double eta = 0, beta = 0, gamma = 0, delta = 1;
  std::uint64_t steps = 10;
};

constexpr std::uint64_t kMostSteps = 1'000'000;

Result<void> check(const TheoryHArguments& args) {
  const auto wrong = [](const char* flag, double value, const char* range) {
    return fail(ErrorCode::kBadConfig, fmt::format("{} {}: must be {}", flag, value, range));
  };
  if (!(args.eta > 0 && std::isfinite(args.eta))) return wrong("--eta", args.eta, "> 0");
  if (!(args.beta >= 0 && std::isfinite(args.beta))) return wrong("--beta", args.beta, ">= 0");
  if (!(args.gamma >= 0 && args.gamma < 1)) return wrong("--gamma", args.gamma, "in [0, 1)");
  if (!(args.delta >= 0 && std::isfinite(args.delta))) return wrong("--delta", args.delta, ">= 0");
  if (args.steps > kMostSteps)
    return fail(ErrorCode::kBadConfig, fmt::format("--steps {}: must be at most {}", args.steps, kMostSteps));
  return {};
}

Json row_json(const UnitDrift& unit, double delta) {
  return {{"x", unit.steps},
          {"h", unit.w.times(delta)},
          {"log_h", unit.w.log_times(delta)},
          {"momentum", unit.d.times(delta)},
          {"node_w", unit.node_w.times(delta)},
          {"node_momentum", unit.node_d.times(delta)}};
}

// Every row while they are few, then about twenty of them.
std::string rows_text(const std::vector<UnitDrift>& rows, const std::vector<UnitDrift>& fl, double delta) {
  constexpr std::size_t kShown = 20;
  Table table({{"x", Align::kRight},
               {"h(x)", Align::kRight},
               {"log h(x)", Align::kRight},
               {"momentum", Align::kRight},
               {"node w", Align::kRight},
               {"node momentum", Align::kRight},
               {"h(x) of FL", Align::kRight}});
  const std::size_t every = std::max<std::size_t>(1, (rows.size() - 1) / kShown);
  for (std::size_t x = 0; x < rows.size(); ++x) {
    if (x % every != 0 && x + 1 != rows.size()) continue;
    const UnitDrift& unit = rows[x];
    table.add({fmt::format("{}", x), number_text(unit.w.times(delta)), number_text(unit.w.log_times(delta)),
               number_text(unit.d.times(delta)), number_text(unit.node_w.times(delta)),
               number_text(unit.node_d.times(delta)), number_text(fl[x].w.times(delta))});
  }
  return table.text();
}

Result<Reply> h_command(const TheoryHArguments& args) {
  MFL_CHECK(check(args));
  const auto rows = drift_table({args.eta, args.beta, args.gamma}, args.steps);
  const auto fl = drift_table({args.eta, args.beta, 0}, args.steps);
  Reply reply;
  reply.data = {{"eta", args.eta},     {"beta", args.beta},     {"gamma", args.gamma},
                {"delta", args.delta}, {"rows", Json::array()}, {"fl_rows", Json::array()}};
  for (const UnitDrift& unit : rows) reply.data["rows"].push_back(row_json(unit, args.delta));
  for (const UnitDrift& unit : fl) reply.data["fl_rows"].push_back(row_json(unit, args.delta));
  reply.text = rows_text(rows, fl, args.delta);
  return reply;
}

}  // namespace

void setup_theory_h(Command& theory, Commands& commands) {
  const auto args = std::make_shared<TheoryHArguments>();
  Command& command = commands.add(
      theory, "h",
      "How far x local steps can take the nodes from centralised descent: the bound of Proposition 1",
      "  mfl theory h --eta 0.002 --beta 36 --gamma 0.5 --delta 0.1 --steps 10\n"
      "h bounds |w - w_[k]|, momentum |d - d_[k]|, node w and node momentum the same for a node whose "
      "gradient is\n"
      "within delta of the whole's. Numbers too large for a double are inf (null in JSON); log h is always "
      "there.",
      [args] { return h_command(*args); });
  command.add_option("--eta", args->eta, "Step size, > 0")->type_name("X")->required();
  command.add_option("--beta", args->beta, "Smoothness of every node's loss, >= 0")
      ->type_name("X")
      ->required();
  command.add_option("--gamma", args->gamma, "Momentum, in [0, 1); 0 is plain FL")
      ->type_name("X")
      ->required();
  command.add_option("--delta", args->delta, "Divergence of the nodes' gradients, >= 0")
      ->type_name("X")
      ->capture_default_str();
  command.add_option("--steps", args->steps, "The last x")->type_name("X")->capture_default_str();
}

}  // namespace mfl::cli
