// Memory of payloads that is used again: new memory for every update of a large State costs more than adding it
// up.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mfl {

// Not thread-safe, and neither is the end of the last owner of a payload.
class SpareBuffers {
 public:
  // Keeps at most so many buffers and bytes.
  explicit SpareBuffers(std::size_t most = 16, std::size_t most_bytes = std::size_t{1} << 29U)
      : most_(most), most_bytes_(most_bytes) {
    spare_->reserve(most);
  }

  // When nobody owns the payload any more, its memory is spare. Owners may outlive this.
  std::shared_ptr<const std::string> hold(std::string payload) {
    return {new std::string(std::move(payload)),
            [spare = spare_, most = most_, most_bytes = most_bytes_](std::string* held) {
              const std::unique_ptr<std::string> owned(held);
              if (spare->size() < most && (spare->size() + 1) * held->size() <= most_bytes)
                spare->push_back(std::move(*held));
            }};
  }

  // Empty, with spare memory if there is some.
  std::string take() {
    if (spare_->empty()) return {};
    std::string buffer = std::move(spare_->back());
    spare_->pop_back();
    buffer.clear();
    return buffer;
  }

 private:
  std::size_t most_, most_bytes_;
  std::shared_ptr<std::vector<std::string>> spare_ = std::make_shared<std::vector<std::string>>();
};

}  // namespace mfl
