// Child processes of this binary, for the demonstration.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "mfl/base/result.h"

namespace mfl::cli {

// A process that is killed and waited for when the object is destroyed.
class Child {
 public:
  // Runs `mfl arguments...` with standard output and error in OUT.out and OUT.log.
  static Result<Child> start(const std::vector<std::string>& arguments, const std::filesystem::path& out);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  // Exit code, or 128 + signal. Blocks.
  int wait();
  bool running();
  void terminate() const;

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;  // -1: none
  int code_ = -1;
};

}  // namespace mfl::cli
