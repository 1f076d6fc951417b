// What the data of a run's nodes must be like, and who decided it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "mfl/federation/messages.h"

namespace mfl {

struct RunShapeOptions {
  std::string config_digest;
  std::uint32_t bits = 32;
  std::uint64_t columns = 0;  // 0: as the first node that joins has them
  // Of the model for data of this schema, whose columns are known; empty: one for each column.
  std::function<std::uint64_t(const Schema&)> parameters;
  std::uint64_t max_parameters = 0;
  std::uint64_t max_samples = 0;  // 0: as many as the exact mean can weigh
  Schema schema;            // open parts, but not the classes of multiclass, are the first node's that joins
  std::string schema_from;  // where it comes from, for people
};

// Knows the number of columns, but holds nothing of that size. Not thread-safe.
class RunShape {
 public:
  explicit RunShape(RunShapeOptions options);

  // Takes up what the node decides, if it fits; else nothing changes.
  Verdict join(const std::string& node, const Joining& joining);
  // Open again what nodes have decided.
  void forget();
  // As it was measured.
  void set_preprocessing(Preprocessing preprocessing) { schema_.preprocessing = std::move(preprocessing); }
  // Of a State that exists.
  void set_columns(std::uint64_t columns) { columns_ = columns; }

  std::uint64_t columns() const { return columns_; }  // 0: not known yet
  const Schema& schema() const { return schema_; }
  const std::string& schema_from() const { return schema_from_; }
  // The schema with the number of columns; for the model. Some columns are known.
  Schema whole_schema() const;

 private:
  Verdict check(const Joining& joining) const;
  Verdict check_tensors(const Joining& joining) const;
  Verdict check_size(Schema schema, std::uint64_t columns) const;
  Verdict check_schema(const std::string& node, const Joining& joining, Schema& settled) const;

  RunShapeOptions options_;
  std::uint64_t columns_ = 0;
  std::string columns_from_;  // the node whose number of columns it is; empty: the options'
  Schema schema_;
  std::string schema_from_;
};

}  // namespace mfl
