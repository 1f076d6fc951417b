#include <fmt/format.h>

#include <memory>

#include "mfl/cli/model_flags.h"
#include "mfl/cli/text.h"
#include "mfl/model/tensors.h"

namespace mfl::cli {
namespace {

std::string preprocessing_text(const Preprocessing& done) {
  if (done.standardise == Standardise::kNone) return "none";
  return done.standardise == Standardise::kFull ? "means are subtracted, then divided by deviations"
                                                : "divided by deviations";
}

std::string schema_features_text(const Schema& schema) {
  constexpr std::size_t kShown = 12;
  if (schema.features.empty()) return fmt::format("{} without names", schema.columns);
  const auto shown = std::span(schema.features).first(std::min(kShown, schema.features.size()));
  return fmt::format("{}: {}{}", schema.columns, fmt::join(shown, ", "),
                     shown.size() < schema.features.size() ? ", ..." : "");
}

Result<Reply> show_model(const ModelFlags& args) {
  MFL_TRY(const TrainedModel model, args.find());
  Reply reply;
  const std::string precision = model.precision == Precision::kF32 ? "f32" : "f64";
  reply.data = to_json(model);
  reply.data["parameters"] = model.weights.size();
  reply.text = facts_text({{"model", fmt::format("{} in {}", model.model, precision)},
                           {"run", model.run},
                           {"tensors", tensors_text(model.tensors)},
                           {"features", schema_features_text(model.schema)},
                           {"labels", labels_text(model.schema)},
                           {"scale", model.scale ? fmt::format("{}", *model.scale) : "that of the data"},
                           {"standardised", preprocessing_text(model.schema.preprocessing)},
                           {"trained by", "mfl " + model.mfl_version},
                           {"digest", model.digest}});
  return reply;
}

}  // namespace

void setup_model_show(Command& model, Commands& commands) {
  const auto args = std::make_shared<ModelFlags>();
  Command& command =
      commands.add(model, "show", "Print what a trained model is: tensors, schema, preprocessing",
                   "  mfl model show latest\n"
                   "  mfl model show model.npz --json",
                   [args] { return show_model(*args); });
  args->add(command);
}

}  // namespace mfl::cli
