#include "mfl/theory/hessian.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "mfl/base/math.h"

namespace mfl {
namespace {

constexpr std::size_t kGroups = 16;

// The blocks of kRowBlock rows that group g of kGroups holds.
struct Blocks {
  std::size_t first, last;
};

Blocks row_groups(std::size_t rows, std::size_t group) {
  const std::size_t blocks = (rows + kRowBlock - 1) / kRowBlock;
  return {blocks * group / kGroups, blocks * (group + 1) / kGroups};
}

void for_all(const ForEach* run, std::size_t n, const std::function<void(std::size_t)>& work) {
  if (run != nullptr) return (*run)(n, work);
  for (std::size_t i = 0; i < n; ++i) work(i);
}

// Row r of the block, scaled, into `out`.
void copy_row(const RowBlock<double>& block, std::size_t r, double* out) {
  const std::size_t at = r * block.columns;
  switch (block.kind) {
    case RowKind::kBytes:
      for (std::size_t j = 0; j < block.columns; ++j)
        out[j] = block.scale * static_cast<double>(block.bytes[at + j]);
      break;
    case RowKind::kDense:
      for (std::size_t j = 0; j < block.columns; ++j) out[j] = block.scale * block.values[at + j];
      break;
    case RowKind::kSparse:
      std::fill_n(out, block.columns, 0.0);
      for (std::uint64_t i = block.starts[r]; i < block.starts[r + 1]; ++i)
        out[block.positions[i]] = block.scale * block.values[i];
  }
}

}  // namespace

double curvature(Loss loss, double z, double y) {
  switch (loss) {
    case Loss::kSquared: return 1;
    case Loss::kSquaredHinge: return y * z < 1 ? 1 : 0;
    case Loss::kLogistic: {
      const double e = portable_exp(-std::abs(z));
      return e / ((1 + e) * (1 + e));
    }
    case Loss::kHinge: break;
  }
  assert(false);
  return 0;
}

HessianOperator::HessianOperator(const Samples<double>& samples, Shard shard, double lambda,
                                 const ForEach* run)
    : samples_(&samples),
      shard_(shard),
      lambda_(lambda),
      run_(run),
      curvatures_(shard.count, 1.0),
      parts_(kGroups, Vector<double>(samples.columns())) {}

void HessianOperator::move_to(Loss loss, const Vector<double>& w) {
  samples_->kernels().margins(samples_->rows(shard_), w.data(), curvatures_.data());
  const double* y = samples_->targets(shard_.first);
  for (std::size_t r = 0; r < shard_.count; ++r) curvatures_[r] = curvature(loss, curvatures_[r], y[r]);
}

void HessianOperator::apply(std::span<const double> v, std::span<double> out) const {
  const Kernels<double>& kernels = samples_->kernels();
  for_all(run_, kGroups, [&](std::size_t group) {
    Vector<double>& part = parts_[group];
    std::fill(part.begin(), part.end(), 0.0);
    const auto [first, last] = row_groups(shard_.count, group);
    for (std::size_t block = first; block < last; ++block) {
      const std::size_t at = block * kRowBlock;
      const Shard rows = {shard_.first + at, std::min(kRowBlock, shard_.count - at)};
      const RowBlock<double> numbers = samples_->rows(rows);
      std::array<double, kRowBlock> z;
      kernels.margins(numbers, v.data(), z.data());
      for (std::size_t r = 0; r < rows.count; ++r) z[r] *= curvatures_[at + r];
      kernels.add_rows(numbers, z.data(), part.data());
    }
  });
  std::fill(out.begin(), out.end(), 0.0);
  for (const Vector<double>& part : parts_) kernels.add(out.size(), part.data(), out.data());
  kernels.finish_gradient(out.size(), samples_->data().scale / static_cast<double>(shard_.count), lambda_,
                          v.data(), out.data());
}

std::vector<double> HessianOperator::diagonal() const {
  const std::size_t d = columns();
  std::vector<double> sum(d, 0.0), row(d);
  for (std::size_t r = 0; r < shard_.count; ++r) {
    copy_row(samples_->rows({shard_.first + r, 1}), 0, row.data());
    for (std::size_t j = 0; j < d; ++j) sum[j] += curvatures_[r] * row[j] * row[j];
  }
  for (double& x : sum) x = lambda_ + x / static_cast<double>(shard_.count);
  return sum;
}

std::vector<double> HessianOperator::lower() const {
  const auto d = static_cast<Eigen::Index>(columns());
  std::vector<double> out(columns() * columns(), 0.0);
  Eigen::Map<Eigen::MatrixXd> matrix(out.data(), d, d);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor> rows(d, kRowBlock);
  for (std::size_t at = 0; at < shard_.count; at += kRowBlock) {
    const std::size_t count = std::min(kRowBlock, shard_.count - at);
    const RowBlock<double> block = samples_->rows({shard_.first + at, count});
    Eigen::Index used = 0;
    for (std::size_t r = 0; r < count; ++r) {
      if (curvatures_[at + r] == 0) continue;
      copy_row(block, r, rows.col(used).data());
      rows.col(used++) *= std::sqrt(curvatures_[at + r]);
    }
    matrix.selfadjointView<Eigen::Lower>().rankUpdate(rows.leftCols(used));
  }
  matrix /= static_cast<double>(shard_.count);
  matrix.diagonal().array() += lambda_;
  return out;
}

}  // namespace mfl
