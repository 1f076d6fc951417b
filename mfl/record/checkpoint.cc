#include "mfl/record/checkpoint.h"

#include <fmt/core.h>

#include <bit>
#include <cstring>

#include "mfl/record/rows.h"

namespace mfl {
namespace {

constexpr std::string_view kCheckpointMagic = "MFLSTATE";
constexpr std::size_t kTrailer = 32;
constexpr const char* kHint = "start the run again without --resume";

tl::unexpected<Error> damaged(std::string what) {
  return fail(ErrorCode::kRunFailed, "checkpoint is damaged: " + std::move(what), kHint);
}

template <class U>
void put_number(std::string& out, U number) {
  for (unsigned i = 0; i < sizeof(U); ++i)
    out += static_cast<char>(static_cast<unsigned char>(number >> (8 * i)));
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
void put_values(std::string& out, const Vector<T>& values) {
  put_number<std::uint64_t>(out, values.size());
  if constexpr (std::endian::native == std::endian::little) {
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  } else {
    for (const T value : values) put_number(out, std::bit_cast<Bits<T>>(value));
  }
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::size_t left() const { return rest_.size(); }

  Result<std::string_view> take(std::uint64_t size, std::string_view what) {
    if (size > rest_.size())
      return damaged(fmt::format("{} needs {} bytes, {} are left", what, size, rest_.size()));
    const auto taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  template <class U>
  Result<U> number(std::string_view what) {
    MFL_TRY(const std::string_view bytes, take(sizeof(U), what));
    return from_bytes<U>(bytes);
  }

  template <class T>
  Result<Vector<T>> values(std::string_view what) {
    MFL_TRY(const auto count, number<std::uint64_t>(what));
    if (count > rest_.size() / sizeof(T))
      return damaged(fmt::format("{} has length {}, {} bytes are left", what, count, rest_.size()));
    MFL_TRY(const std::string_view bytes, take(count * sizeof(T), what));
    Vector<T> values(static_cast<std::size_t>(count));
    if constexpr (std::endian::native == std::endian::little) {
      if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    } else {
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::bit_cast<T>(from_bytes<Bits<T>>(bytes.substr(i * sizeof(T), sizeof(T))));
    }
    return values;
  }

 private:
  template <class U>
  static U from_bytes(std::string_view bytes) {
    U number = 0;
    for (unsigned i = 0; i < sizeof(U); ++i)
      number |= static_cast<U>(static_cast<U>(static_cast<unsigned char>(bytes[i])) << (8 * i));
    return number;
  }

  std::string_view rest_;
};

constexpr std::uint32_t kWithoutKept = 1;

// Gives a reader at the version, which is one that this program knows.
Result<Reader> open(std::string_view bytes) {
  if (!bytes.starts_with(kCheckpointMagic)) return damaged("it does not start with MFLSTATE");
  if (bytes.size() < kCheckpointMagic.size() + sizeof(std::uint32_t) + kTrailer)
    return damaged(fmt::format("it is truncated at {} bytes", bytes.size()));
  const std::string_view body = bytes.substr(0, bytes.size() - kTrailer);
  const Reader reader(body.substr(kCheckpointMagic.size()));
  Reader ahead = reader;
  MFL_TRY(const auto version, ahead.number<std::uint32_t>("version"));
  if (version > kCheckpointVersion)
    return fail(ErrorCode::kRunFailed,
                fmt::format("checkpoint has format version {}, this mfl supports versions up to {}", version,
                            kCheckpointVersion),
                "resume with the mfl that wrote it, or start the run again");
  if (sha256_bytes(body) != bytes.substr(body.size()))
    return damaged("its bytes do not match their checksum");
  if (version < kWithoutKept) return damaged(fmt::format("it has format version {}", version));
  return reader;
}

template <class T>
Result<std::vector<NamedVector<T>>> read_vectors(Reader& reader) {
  MFL_TRY(const auto count, reader.number<std::uint32_t>("count of vectors"));
  if (count == 0) return damaged("it holds no vectors");
  std::vector<NamedVector<T>> vectors;
  for (std::uint32_t i = 0; i < count; ++i) {
    MFL_TRY(const auto length, reader.number<std::uint32_t>("length of a name"));
    MFL_TRY(const auto name, reader.take(length, "name of a vector"));
    MFL_TRY(auto values, reader.values<T>("vector"));
    vectors.push_back({std::string(name), std::move(values)});
  }
  return vectors;
}

template <class T>
void put_kept(std::string& out, const std::vector<KeptVectors<T>>& kept) {
  put_number<std::uint64_t>(out, kept.size());
  for (const KeptVectors<T>& node : kept) {
    put_number(out, node.node);
    put_number(out, static_cast<std::uint32_t>(node.vectors.size()));
    for (const Vector<T>& vector : node.vectors) put_values(out, vector);
  }
}

template <class T>
Result<std::vector<KeptVectors<T>>> read_kept(Reader& reader) {
  MFL_TRY(const auto nodes, reader.number<std::uint64_t>("count of nodes"));
  std::vector<KeptVectors<T>> kept;
  for (std::uint64_t i = 0; i < nodes; ++i) {
    KeptVectors<T> node;
    MFL_TRY(node.node, reader.number<std::uint64_t>("number of a node"));
    if (!kept.empty() && node.node <= kept.back().node) return damaged("its nodes are not in order");
    MFL_TRY(const auto vectors, reader.number<std::uint32_t>("count of a node's vectors"));
    for (std::uint32_t v = 0; v < vectors; ++v) {
      MFL_TRY(node.vectors.emplace_back(), reader.values<T>("vector of a node"));
    }
    kept.push_back(std::move(node));
  }
  return kept;
}

}  // namespace

template <class T>
std::size_t encoded_size(const State<T>& state) {
  const auto numbers = [](const Vector<T>& values) {
    return sizeof(std::uint64_t) + values.size() * sizeof(T);
  };
  std::size_t size = kCheckpointMagic.size() + 3 * sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t);
  for (const NamedVector<T>& vector : state.vectors)
    size += sizeof(std::uint32_t) + vector.name.size() + numbers(vector.values);
  return size + 2 * sizeof(std::uint64_t) + numbers(state.best.w) + kTrailer;
}

template <class T>
void append_snapshot(std::string& out, const State<T>& state, const std::vector<KeptVectors<T>>& kept) {
  const std::size_t start = out.size();
  out += kCheckpointMagic;
  put_number(out, kept.empty() ? kWithoutKept : kCheckpointVersion);
  put_number(out, static_cast<std::uint32_t>(8 * sizeof(T)));
  put_number(out, state.round);
  put_number(out, state.step);
  put_number(out, static_cast<std::uint32_t>(state.vectors.size()));
  for (const NamedVector<T>& vector : state.vectors) {
    put_number(out, static_cast<std::uint32_t>(vector.name.size()));
    out += vector.name;
    put_values(out, vector.values);
  }
  put_number(out, state.best.step);
  put_number(out, std::bit_cast<std::uint64_t>(state.best.train_loss));
  put_values(out, state.best.w);
  if (!kept.empty()) put_kept(out, kept);
  out += sha256_bytes(std::string_view(out).substr(start));
}

template <class T>
void append_state(std::string& out, const State<T>& state) {
  append_snapshot(out, state, {});
}

template <class T>
std::string encode_state(const State<T>& state, const std::vector<KeptVectors<T>>& kept) {
  std::string out;
  out.reserve(encoded_size(state));
  append_snapshot(out, state, kept);
  return out;
}

template <class T>
Result<Snapshot<T>> decode_snapshot(std::string_view bytes) {
  MFL_TRY(Reader reader, open(bytes));
  MFL_TRY(const auto version, reader.number<std::uint32_t>("version"));
  MFL_TRY(const auto bits, reader.number<std::uint32_t>("precision"));
  if (bits != 8 * sizeof(T))
    return fail(ErrorCode::kRunFailed,
                fmt::format("checkpoint has precision f{}, the run asks for f{}", bits, 8 * sizeof(T)),
                "resume with the configuration the run was started with");
  Snapshot<T> snapshot;
  State<T>& state = snapshot.state;
  MFL_TRY(state.round, reader.number<std::uint64_t>("round"));
  MFL_TRY(state.step, reader.number<std::uint64_t>("step"));
  MFL_TRY(state.vectors, read_vectors<T>(reader));
  MFL_TRY(state.best.step, reader.number<std::uint64_t>("best step"));
  MFL_TRY(const auto loss, reader.number<std::uint64_t>("best loss"));
  state.best.train_loss = std::bit_cast<double>(loss);
  MFL_TRY(state.best.w, reader.values<T>("best weights"));
  if (version > kWithoutKept) {
    MFL_TRY(snapshot.kept, read_kept<T>(reader));
  }
  if (reader.left() != 0) return damaged(fmt::format("it has {} bytes after its end", reader.left()));
  return snapshot;
}

template <class T>
Result<State<T>> decode_state(std::string_view bytes) {
  MFL_TRY(Snapshot<T> snapshot, decode_snapshot<T>(bytes));
  if (!snapshot.kept.empty()) return damaged("it has vectors of nodes, and none are expected");
  return std::move(snapshot.state);
}

#define MFL_INSTANTIATE(T)                                                                \
  template std::string encode_state(const State<T>&, const std::vector<KeptVectors<T>>&); \
  template Result<Snapshot<T>> decode_snapshot(std::string_view);                         \
  template void append_state(std::string&, const State<T>&);                              \
  template std::size_t encoded_size(const State<T>&);                                     \
  template Result<State<T>> decode_state(std::string_view);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
