#include "mfl/codec/built_in.h"

#include <fmt/core.h>

#include <utility>

namespace mfl {

std::vector<CodecEntry> built_in_codecs() {
  constexpr NumberRange kPositive{[](double x) { return x > 0; }, "> 0"};
  constexpr NumberRange kShare{[](double x) { return x > 0 && x <= 1; }, "in (0, 1]"};
  return {
      {{.name = "clip",
        .parameters =
            {{.name = "norm", .help = "largest distance from the start of the round", .range = kPositive}},
        .description = "shortens an update that is farther than norm from where it started"},
       [](std::string spec, const ParameterValues& values) {
         return make_clip(std::move(spec), values.number("norm"));
       }},
      {{.name = "topk",
        .parameters =
            {{.name = "fraction", .help = "share of a vector's numbers that is sent", .range = kShare}},
        .description = "sends the largest changes of each vector; a node adds the others to its next update"},
       [](std::string spec, const ParameterValues& values) {
         return make_topk(std::move(spec), values.number("fraction"));
       }},
      {{.name = "int8",
        .description = "sends changes as bytes, rounded at random without bias: a quarter of f32"},
       [](std::string spec, const ParameterValues&) { return make_int8(std::move(spec)); }},
      {{.name = "bf16", .description = "sends changes as bfloat16: half the bytes of f32"},
       [](std::string spec, const ParameterValues&) { return make_bf16(std::move(spec)); }},
  };
}

Result<std::string_view> take_bytes(std::string_view& bytes, std::size_t count) {
  if (bytes.size() < count)
    return fail(ErrorCode::kBadData,
                fmt::format("{} bytes are left where {} are needed", bytes.size(), count));
  const std::string_view front = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return front;
}

}  // namespace mfl
