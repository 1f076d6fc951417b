// Local update rules. A rule has hyper-parameters, the names of the vectors that it updates ("w" first) and a step. Its
// whole state between steps is in those vectors.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <variant>

#include "mfl/base/kernels/kernels.h"
#include "mfl/base/vectors.h"

namespace mfl {

// w <- w - eta grad F(w)
struct GradientDescent {
  static constexpr std::array<std::string_view, 1> kVectors = {"w"};
  double eta;

  template <class T>
  void step(const Kernels<T>& kernels, const Vector<T>& gradient, std::span<Vector<T>> vectors) const {
    kernels.descent_step(gradient.size(), static_cast<T>(eta), gradient.data(), vectors[0].data());
  }
};

// d <- gamma d + grad F(w);  w <- w - eta d
// The heavy ball (Polyak, 1964), with eta outside d as in equations (5) and (6) of the paper.
struct Momentum {
  static constexpr std::array<std::string_view, 2> kVectors = {"w", "d"};
  double eta;
  double gamma;

  template <class T>
  void step(const Kernels<T>& kernels, const Vector<T>& gradient, std::span<Vector<T>> vectors) const {
    kernels.momentum_step(gradient.size(), static_cast<T>(eta), static_cast<T>(gamma), gradient.data(),
                          vectors[1].data(), vectors[0].data());
  }
};

using Rule = std::variant<GradientDescent, Momentum>;

inline std::span<const std::string_view> vector_names(const Rule& rule) {
  return std::visit([](const auto& r) { return std::span<const std::string_view>(r.kVectors); }, rule);
}

}  // namespace mfl
