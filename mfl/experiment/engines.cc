#include "mfl/experiment/engines.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace mfl {

Setting setting_of(const Experiment& experiment) { return {experiment.algorithm, experiment.lambda}; }

std::unique_ptr<Workers> make_workers(const RunConfig& run, const Ranks& ranks) {
  if (run.engine == "serial") return serial_workers();
  assert(run.engine == "threads" || run.engine == "mpi");
  const auto threads = static_cast<unsigned>(std::min<std::uint64_t>(run.threads, kMaxThreads));
  return thread_workers(threads == 0 && ranks.size() > 1 ? cores_each(ranks.on_this_machine()) : threads);
}

template <class T>
std::unique_ptr<Engine<T>> make_engine(const Experiment& shared, std::vector<Setting> settings,
                                       const Federation<T>& federation, Ranks& together,
                                       const Ranks& neighbours) {
  auto workers = federation.external ? thread_workers(federation.external->workers())
                                     : make_workers(shared.config.run, neighbours);
  EngineOptions options{.batching = shared.batching,
                        .aggregator = shared.aggregator,
                        .codecs = shared.codecs,
                        .update_digests = true};
  if (together.size() == 1)
    return local_engine<T>(federation, std::move(settings), std::move(workers), std::move(options));
  return shared_engine<T>(federation, std::move(settings), std::move(workers), together, std::move(options));
}

#define MFL_INSTANTIATE(T)                                                                 \
  template std::unique_ptr<Engine<T>> make_engine(const Experiment&, std::vector<Setting>, \
                                                  const Federation<T>&, Ranks&, const Ranks&);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
