// Private to mfl/codec: others choose codecs by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mfl/codec/codec.h"

namespace mfl {

std::unique_ptr<const Codec> make_clip(std::string spec, double norm);
std::unique_ptr<const Codec> make_bf16(std::string spec);

std::vector<CodecEntry> built_in_codecs();

}  // namespace mfl
