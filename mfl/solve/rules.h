// Local update rules: hyper-parameters and a step.
#pragma once

#include "mfl/base/kernels/kernels.h"
#include "mfl/base/vectors.h"

namespace mfl {

// w <- w - eta grad F(w)
struct GradientDescent {
  double eta;

  template <class T>
  void step(const Kernels<T>& kernels, const Vector<T>& gradient, Vector<T>& w) const {
    kernels.descent_step(gradient.size(), static_cast<T>(eta), gradient.data(), w.data());
  }
};

// d <- gamma d + grad F(w);  w <- w - eta d
// The heavy ball (Polyak, 1964), with eta outside d as in equations (5) and (6) of the paper.
struct Momentum {
  double eta;
  double gamma;

  template <class T>
  void step(const Kernels<T>& kernels, const Vector<T>& gradient, Vector<T>& w, Vector<T>& d) const {
    kernels.momentum_step(gradient.size(), static_cast<T>(eta), static_cast<T>(gamma), gradient.data(),
                          d.data(), w.data());
  }
};

}  // namespace mfl
