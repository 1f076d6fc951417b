// Private to mfl/codec: others choose codecs by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/codec/codec.h"

namespace mfl {

std::unique_ptr<const Codec> make_clip(std::string spec, double norm);
std::unique_ptr<const Codec> make_topk(std::string spec, double fraction);
std::unique_ptr<const Codec> make_int8(std::string spec);
std::unique_ptr<const Codec> make_bf16(std::string spec);

std::vector<CodecEntry> built_in_codecs();

// Removes so many bytes from the front. kBadData if there are fewer.
Result<std::string_view> take_bytes(std::string_view& bytes, std::size_t count);

}  // namespace mfl
