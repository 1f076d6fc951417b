#include "mfl/codec/built_in.h"

#include <utility>

namespace mfl {

std::vector<CodecEntry> built_in_codecs() {
  constexpr NumberRange kPositive{[](double x) { return x > 0; }, "> 0"};
  return {
      {{.name = "clip",
        .parameters =
            {{.name = "norm", .help = "largest distance from the start of the round", .range = kPositive}},
        .description = "shortens an update that is farther than norm from where it started"},
       [](std::string spec, const ParameterValues& values) {
         return make_clip(std::move(spec), values.number("norm"));
       }},
      {{.name = "bf16", .description = "sends changes as bfloat16: half the bytes of f32"},
       [](std::string spec, const ParameterValues&) { return make_bf16(std::move(spec)); }},
  };
}

}  // namespace mfl
