// However a file is damaged, a reader returns a complete data set or an error.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "mfl/data/csv.h"
#include "mfl/data/idx.h"
#include "mfl/data/libsvm.h"
#include "mfl/data/npy.h"
#include "tests/data/small_files.h"

namespace mfl::test {
namespace {

std::string damaged(std::string bytes) {
  const int times = *rc::gen::inRange(1, 4);
  for (int i = 0; i < times && !bytes.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    switch (*rc::gen::inRange(0, 4)) {
      case 0: bytes.resize(at); break;
      case 1: bytes.erase(at, 1); break;
      case 2: bytes.insert(at, 1, *rc::gen::arbitrary<char>()); break;
      default: bytes[at] = *rc::gen::arbitrary<char>();
    }
  }
  return bytes;
}

std::size_t cells(const Dataset& data) {
  if (const auto* bytes = std::get_if<DenseRows<std::uint8_t>>(&data.features)) return bytes->values.size();
  if (const auto* floats = std::get_if<DenseRows<float>>(&data.features)) return floats->values.size();
  if (const auto* doubles = std::get_if<DenseRows<double>>(&data.features)) return doubles->values.size();
  return data.rows * data.columns;
}

void assert_whole_or_error(const Result<Dataset>& data) {
  if (!data) {
    RC_ASSERT(!data.error().message.empty());
    return;
  }
  RC_ASSERT(data->rows > 0U);
  RC_ASSERT(data->labels.size() == data->rows);
  RC_ASSERT(cells(*data) == data->rows * data->columns);
  if (const auto* sparse = std::get_if<SparseRows<double>>(&data->features)) {
    RC_ASSERT(sparse->starts.size() == data->rows + 1);
    RC_ASSERT(sparse->starts.back() == sparse->values.size());
    for (const std::uint32_t column : sparse->columns) RC_ASSERT(column < data->columns);
  }
}

RC_GTEST_PROP(Damage, Idx, ()) {
  const Folder folder;
  const std::string images = idx({2, 1, 3}, "abcdef");
  const auto labels = folder.write("labels", idx({2}, "\1\2"));
  assert_whole_or_error(read_idx(folder.write("plain", damaged(images)), labels));
  assert_whole_or_error(read_idx(folder.write("packed", damaged(gzip(images))), labels));
  assert_whole_or_error(read_idx(folder.write("inside", gzip(damaged(images))), labels));
}

RC_GTEST_PROP(Damage, Npy, ()) {
  const Folder folder;
  const std::string x =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", raw<float>({1, 2}));
  const std::string y =
      npy("{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }", raw<std::int32_t>({1}));
  assert_whole_or_error(read_npy(folder.write("x", damaged(x)), folder.write("y", y)));
  assert_whole_or_error(read_npy(folder.write("x", x), folder.write("y", damaged(y))));
}

RC_GTEST_PROP(Damage, Text, ()) {
  const Folder folder;
  assert_whole_or_error(read_csv(folder.write("csv", damaged("a,\"b\"\r\n1,2.5\n\"3\",-4e2\n"))));
  assert_whole_or_error(read_libsvm(folder.write("svm", damaged("+1 1:0.5 4:-2 # tail\n-1\n0 2:3\n"))));
}

}  // namespace
}  // namespace mfl::test
