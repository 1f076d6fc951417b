// Small trained models.
#pragma once

#include <string>
#include <vector>

#include "mfl/trained/trained_model.h"

namespace mfl::test {

// Of two features, a and b, for the classes no and yes: yes where 2 a - b > 0.
inline TrainedModel two_classes(const std::string& name = "logistic") {
  TrainedModel model;
  model.model = name;
  model.schema.columns = 2;
  model.schema.features = {"a", "b"};
  model.schema.label = "y";
  model.schema.task = LabelTask::kBinary;
  model.schema.classes = {"no", "yes"};
  model.schema.positive = "yes";
  model.tensors = {{"weights", {2}}};
  model.weights = {2, -1};
  model.run = "12345678";
  model.mfl_version = "0.1.0";
  model.digest = digest_of_weights(model);
  return model;
}

// The same with an intercept, on standardised features.
inline TrainedModel standardised() {
  TrainedModel model = two_classes("svm");
  model.precision = Precision::kF64;
  model.schema.preprocessing = {
      .intercept = true, .standardise = Standardise::kFull, .means = {1, -2}, .deviations = {0.5, 4}};
  model.tensors.push_back({"intercept", {1}});
  model.weights.push_back(0.25);
  model.scale = 0.5;
  model.lambda = 0.3;
  model.digest = digest_of_weights(model);
  return model;
}

}  // namespace mfl::test
