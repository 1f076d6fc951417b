// Values as bytes, between processes that run the same program on machines of the same architecture: native
// byte order, no defence against a hostile sender. Files and the network protocol have formats of their own.
#pragma once

#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mfl {

class MessageWriter {
 public:
  template <class V>
  requires std::is_trivially_copyable_v<V>
  void put(const V& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void put_text(std::string_view text) {
    put(text.size());
    bytes_.append(text);
  }
  template <class V>
  requires std::is_trivially_copyable_v<V>
  void put_all(std::span<const V> values) {
    put(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Takes values in the order in which they were put. The bytes outlive it. Throws std::out_of_range where
// fewer bytes are left than asked for: the two sides do not run the same program.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  template <class V>
  requires std::is_trivially_copyable_v<V> V take() {
    V value;
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
    return value;
  }
  std::string take_text() { return std::string(next(take<std::size_t>())); }
  template <class V>
  requires std::is_trivially_copyable_v<V> std::vector<V> take_all() {
    const auto count = take<std::size_t>();
    if (count > rest_.size() / sizeof(V)) throw_short();
    std::vector<V> values(count);
    const std::string_view bytes = next(count * sizeof(V));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view next(std::size_t size) {
    if (size > rest_.size()) throw_short();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  [[noreturn]] static void throw_short() {
    throw std::out_of_range("a message between processes is shorter than it should be");
  }

  std::string_view rest_;
};

}  // namespace mfl
