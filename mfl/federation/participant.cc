#include "mfl/federation/participant.h"

#include <utility>

namespace mfl {

bool Participant::has_work() const {
  return work_ && task_ && work_->state_digest == task_->state_digest && work_->steps == task_->steps &&
         work_->kind == task_->work;
}

Participant::Next Participant::next() const {
  if (ending_ || refusal_) return Next::kStop;
  if (!here_) return Next::kJoin;
  if (!task_ || answered_) return Next::kWait;
  return has_work() ? Next::kSubmit : Next::kTrain;
}

Update Participant::update() const {
  return {task_->run_id,  task_->ticket,      weight_, work_->losses, work_->blocks, work_->payload, {},
          work_->metrics, task_->state_digest};
}

void Participant::lost() {
  here_ = false;
  task_.reset();
}

void Participant::ordered(Order order) {
  switch (order.kind) {
    case Order::Kind::kNone: return;
    case Order::Kind::kEnded: return lost();
    case Order::Kind::kDone: ending_ = std::move(order); return;
    case Order::Kind::kTask:
      task_ = std::move(order.task);
      answered_ = false;
      if (!has_work()) work_.reset();
  }
}

void Participant::trained(const Losses& losses, std::vector<Block> blocks, std::string payload,
                          Metrics metrics) {
  work_ = Done{task_->state_digest, task_->steps,       task_->work,       losses,
               std::move(blocks),   std::move(payload), std::move(metrics)};
}

void Participant::judged(const Verdict& verdict) {
  answered_ = true;
  switch (verdict.reason) {
    case Reason::kProtocol:
    case Reason::kConfig:
    case Reason::kShape:
    case Reason::kWeight:
    case Reason::kSchema:
    case Reason::kOutlier: refusal_ = verdict; return;
    // Training again may give finite numbers; measuring the same data again does not.
    case Reason::kNotFinite:
      if (prepares(task_->work)) refusal_ = verdict;
      return;
    case Reason::kForeign: return lost();
    default: return;
  }
}

}  // namespace mfl
