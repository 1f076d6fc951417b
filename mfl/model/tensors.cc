#include "mfl/model/tensors.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "mfl/data/text.h"

namespace mfl {
namespace {

static_assert(std::endian::native == std::endian::little, "stored numbers are little-endian");

constexpr std::size_t kMostNumbers = std::size_t{1} << 40U;

tl::unexpected<Error> bad(std::string_view what) {
  return fail(ErrorCode::kBadData, fmt::format("the tensors are not readable: {}", what));
}

Result<Tensor> read_tensor(const Json& from) {
  const Json* const name = from.find("name");
  const Json* const shape = from.find("shape");
  if (name == nullptr || !name->is_string() || name->text().empty() || shape == nullptr || !shape->is_array())
    return bad("one lacks its name or its shape");
  Tensor out{std::string(name->text()), {}};
  std::size_t numbers = 1;
  for (const Json& side : shape->elements()) {
    const auto length = parse_count(side.dump());
    if (!length || *length == 0 || *length > kMostNumbers / numbers)
      return bad(fmt::format("the shape of {}", out.name));
    numbers *= *length;
    out.shape.push_back(*length);
  }
  return out;
}

}  // namespace

std::string tensors_json(std::span<const Tensor> tensors) {
  Json out = Json::array();
  for (const Tensor& tensor : tensors)
    out.push_back({{"name", tensor.name}, {"shape", Json::list(tensor.shape)}});
  return out.dump();
}

Result<std::vector<Tensor>> parse_tensors(std::string_view json) {
  const auto parsed = Json::parse(json);
  if (!parsed) return bad(parsed.error().message);
  if (!parsed->is_array() || parsed->elements().empty()) return bad("not a list of tensors");
  std::vector<Tensor> out;
  std::size_t numbers = 0;
  for (const Json& element : parsed->elements()) {
    MFL_TRY(Tensor tensor, read_tensor(element));
    numbers += tensor.size();
    if (numbers > kMostNumbers) return bad("too many numbers");
    out.push_back(std::move(tensor));
  }
  return out;
}

std::string tensors_text(std::span<const Tensor> tensors) {
  std::string out;
  for (const Tensor& tensor : tensors)
    out += fmt::format("{}{} [{}]", out.empty() ? "" : ", ", tensor.name, fmt::join(tensor.shape, ", "));
  return out;
}

template <class T>
std::string number_bytes(const Vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

template <class T>
std::vector<double> numbers_in(std::string_view bytes) {
  std::vector<double> out(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < out.size(); ++i) {
    T number;
    std::memcpy(&number, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = number;
  }
  return out;
}

template std::string number_bytes(const Vector<float>&);
template std::string number_bytes(const Vector<double>&);
template std::vector<double> numbers_in<float>(std::string_view);
template std::vector<double> numbers_in<double>(std::string_view);

}  // namespace mfl
