// Synthetic(alpha, beta) of the FedProx paper (Li et al., 2020), in which every user has a model and a
// distribution of features of its own: 60 features, 10 classes.
//
// User k draws u ~ N(0, alpha), B ~ N(0, beta), W (60 x 10) and b (10) with entries ~ N(u, 1), and v (60)
// with entries ~ N(B, 1). Its samples, floor(lognormal(4, 2)) + 50 of them, have x ~ N(v, diag(j^-1.2)) and y
// = argmax(Wx + b). As in the program of the paper's authors alpha and beta are standard deviations, and the
// first 90 % of a user's samples are for training, the others for testing.
//
// u is added to every class alike, so labels do not depend on alpha but for rounding. That is a property of
// the definition; the users' models differ by the noise of W and b, their features by B and v.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mfl/base/catalog.h"
#include "mfl/data/dataset.h"

namespace mfl {

inline constexpr std::size_t kFedproxColumns = 60;

struct FedproxShape {
  double alpha = 1;        // deviation of u, >= 0
  double beta = 1;         // how much their features differ, >= 0
  std::size_t users = 30;  // from 1 to 10,000
};

// alpha, beta and users, as a data spec states them.
std::vector<Parameter> fedprox_parameters();

struct FedproxSets {
  Dataset train, test;  // user by user, with groups, which are the users
};

// What a user has depends on (seed, alpha, beta, its number) and not on the number of users; the same bits on
// every machine.
FedproxSets make_fedprox(const FedproxShape& shape, std::uint64_t seed);

}  // namespace mfl
