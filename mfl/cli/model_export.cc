#include <fmt/core.h>

#include <memory>

#include "mfl/base/files.h"
#include "mfl/cli/model_flags.h"
#include "mfl/trained/exported.h"
#include "mfl/trained/onnx.h"

namespace mfl::cli {
namespace {

struct ModelExportArguments {
  ModelFlags model;
  std::string format = "npz", out;
};

Result<Reply> export_model(const ModelExportArguments& args) {
  MFL_TRY(const TrainedModel model, args.model.find());
  MFL_TRY(const std::string bytes, exported_model(model, args.format));
  MFL_CHECK(prepare_output(args.out));
  MFL_CHECK(write_file(args.out, bytes));
  Reply reply;
  reply.text = fmt::format("wrote {}\n", args.out);
  reply.data = {{"file", args.out},
                {"format", args.format},
                {"bytes", bytes.size()},
                {"run", model.run},
                {"digest", model.digest}};
  return reply;
}

}  // namespace

void setup_model_export(Command& model, Commands& commands) {
  const auto args = std::make_shared<ModelExportArguments>();
  const std::string onnx = has_onnx() ? "\n  mfl model export latest --format onnx --out model.onnx" : "";
  Command& command = commands.add(model, "export", "Write a trained model to a file",
                                  "  mfl model export latest --format npz --out model.npz" + onnx,
                                  [args] { return export_model(*args); });
  args->model.add(command);
  command
      .add_option(
          "--format", args->format,
          "npz: a model file of mfl, which numpy opens; onnx: a graph for other programs; safetensors: the "
          "weights alone")
      ->type_name("FORMAT")
      ->choices({"npz", "onnx", "safetensors"})
      ->capture_default_str();
  command.add_option("--out", args->out, "The file to write")->type_name("FILE")->required();
}

}  // namespace mfl::cli
