#include "mfl/federation/run_report.h"

#include <cmath>

namespace mfl {

void RunReport::place(const RoundReport& at) {
  written_.round = at.round;
  written_.step = at.step;
  written_.bytes_up = at.bytes_up;
  written_.bytes_down = at.bytes_down;
}

void RunReport::start(const RoundReport& from) {
  place(from);
  reported_ = written_;
}

void RunReport::commit(const RoundReport& round) {
  reported_ = written_;
  place(round);
  written_.last_nodes = round.nodes;
  ++written_.rounds_timed;
  written_.last_round = round.took;
  written_.all_rounds += round.took;
  const auto train_loss = round.losses.train_loss ? round.losses.train_loss : written_.losses.train_loss;
  written_.losses = {train_loss, round.losses.batch_loss, round.losses.start_loss};
  trouble_.clear();
}

void RunReport::durable(std::optional<std::uint64_t> round) {
  if (round.value_or(written_.round) >= written_.round) reported_ = written_;
}

void RunReport::end(std::optional<double> train_loss, std::string trouble) {
  if (train_loss && std::isfinite(*train_loss)) written_.losses.train_loss = train_loss;
  reported_ = written_;
  trouble_ = std::move(trouble);
}

void RunReport::abandon(std::string why) {
  ++abandoned_;
  trouble_ = std::move(why);
}

FederationStatus RunReport::status() const {
  FederationStatus out = reported_;
  out.abandoned = abandoned_;
  out.refused = refused_;
  out.trouble = trouble_;
  out.warnings = warnings_.list();
  return out;
}

}  // namespace mfl
