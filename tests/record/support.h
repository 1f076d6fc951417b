// Stores with known contents, and ways to damage them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "mfl/base/files.h"
#include "mfl/record/store.h"

struct sqlite3;

namespace mfl::test {

// A folder with the path of a store in it, below a folder that does not exist yet.
struct Home {
  TempFolder folder = TempFolder::make().value();
  std::filesystem::path store = folder.path() / "below" / "runs.db";
};

RunSpec spec(const std::string& algorithm = "mfl");
// 64 hexadecimal digits that depend on n.
std::string digest(std::uint64_t n);
// Rounds first..last, tau 4, training loss 1 / (1 + round), 100 bytes up and 200 down per round.
std::vector<RoundRow> rounds(std::uint64_t first, std::uint64_t last);
// A record at the end of each.
std::vector<RecordRow> records(std::uint64_t first, std::uint64_t last);
RunSummary summary(double loss = 0.25);

bool same_bits(double a, double b);
bool same(const RoundRow& a, const RoundRow& b);
bool same(const RecordRow& a, const RecordRow& b);

// Everything the store answers with, as text; equal before and after a failure that changed nothing.
std::string contents(const std::filesystem::path& store);

// A plain connection, as another program would open it.
class Connection {
 public:
  explicit Connection(const std::filesystem::path& path);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();
  // Throws on an error of SQLite.
  void run(const std::string& sql);
  std::int64_t integer(const std::string& sql);

 private:
  sqlite3* connection_ = nullptr;
};

}  // namespace mfl::test
