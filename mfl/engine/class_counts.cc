#include "mfl/engine/class_counts.h"

#include "mfl/base/message.h"

namespace mfl {
namespace {

template <class T>
void count_block(const Model<T>& model, const Samples<T>& samples, Shard block, const Vector<T>& w,
                 ClassCounts& counts) {
  const std::size_t outputs = model.outputs();
  std::vector<double> scores(block.count * outputs);
  model.scores(samples, block, w.data(), scores.data());
  const T* y = samples.targets(block.first);
  for (std::size_t r = 0; r < block.count; ++r) {
    if (outputs == 1) {
      const std::size_t truth = y[r] > 0 ? 1 : 0, predicted = scores[r] > 0 ? 1 : 0;
      counts.add(truth, predicted, truth == predicted ? 0 : 1);
    } else {
      counts.add_scores(static_cast<std::size_t>(y[r]),
                        std::span<const double>(scores).subspan(r * outputs, outputs));
    }
  }
}

}  // namespace

template <class T>
ClassCounts count_classes(const Model<T>& model, const Samples<T>& samples, const Vector<T>& w,
                          Workers& workers, Ranks* ranks) {
  const ClassCounts none(model.outputs() == 1 ? 2 : model.outputs());
  std::vector<ClassCounts> of_worker(workers.count(), none);
  workers.for_each(row_blocks(samples.size()), [&](unsigned worker, std::size_t b) {
    count_block(model, samples, block_of({0, samples.size()}, b), w, of_worker[worker]);
  });
  ClassCounts here = none;
  for (const ClassCounts& counts : of_worker) here.merge(counts);
  if (ranks == nullptr) return here;
  MessageWriter mine;
  mine.put_all(here.cells());
  ClassCounts all = none;
  for (const std::string& message : ranks->gather(mine.bytes()))
    all.merge(MessageReader(message).take_all<std::uint64_t>());
  return all;
}

template ClassCounts count_classes(const Model<float>&, const Samples<float>&, const Vector<float>&, Workers&,
                                   Ranks*);
template ClassCounts count_classes(const Model<double>&, const Samples<double>&, const Vector<double>&,
                                   Workers&, Ranks*);

}  // namespace mfl
