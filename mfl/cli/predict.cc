#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include "mfl/cli/model_flags.h"
#include "mfl/cli/output_stream.h"
#include "mfl/trained/predict_rows.h"
#include "mfl/trained/predictor.h"

namespace mfl::cli {
namespace {

struct PredictArguments {
  ModelFlags model;
  RowsFlags rows;
  std::string out = "-", id;
  std::uint64_t threads = 0;
};

// More than a few would wait for the reader.
unsigned threads_of(const PredictArguments& args) {
  constexpr unsigned kEnough = 4, kMost = 1024;
  if (args.threads != 0) return static_cast<unsigned>(std::min<std::uint64_t>(args.threads, kMost));
  return std::clamp(std::thread::hardware_concurrency(), 1U, kEnough);
}

Result<Reply> predict_command(const PredictArguments& args, bool json) {
  if (json && args.out == "-")
    return fail(ErrorCode::kBadConfig, "--json: predictions and the JSON object cannot both go to stdout",
                "name a file with --out");
  const std::string source = args.rows.data.substr(args.rows.data.find(':') + 1);
  for (const std::string& input : {source, args.model.what})
    if (std::error_code unseen; std::filesystem::equivalent(args.out, input, unseen))
      return fail(ErrorCode::kBadConfig,
                  fmt::format("--out {} is also the input, which would be replaced", args.out),
                  "name another file");
  MFL_TRY(TrainedModel model, args.model.find());
  MFL_TRY(const Predictor predictor, Predictor::make(std::move(model)));
  const Schema& schema = predictor.model().schema;
  MFL_TRY(DataOptions options, args.rows.options("last"));
  if (!args.id.empty() && !options.source.starts_with("csv:"))
    return fail(ErrorCode::kBadConfig,
                fmt::format("--id {}: {} has no columns with names", args.id, options.source),
                "leave it out, or give csv:FILE");
  options.csv.group = args.id;
  MFL_TRY(const auto blocks, open_row_blocks(options, schema));
  MFL_TRY(OutputStream out, OutputStream::open(args.out));
  std::string header =
      prediction_header(predictor, args.id);  // once there is a row, so that nothing precedes an error
  const auto write = [&](std::string_view text) -> Result<void> {
    MFL_CHECK(out.write(std::exchange(header, {})));
    return out.write(text);
  };
  const unsigned threads = threads_of(args);
  MFL_TRY(const std::uint64_t rows, predict_rows(predictor, *blocks, threads, write));
  MFL_CHECK(out.write(header));
  MFL_CHECK(out.finish());
  Reply reply;
  if (args.out != "-") reply.text = fmt::format("wrote {} predictions to {}\n", rows, args.out);
  reply.data = {{"file", args.out},
                {"rows", rows},
                {"run", predictor.model().run},
                {"digest", predictor.model().digest}};
  return reply;
}

}  // namespace

void setup_predict(Command& mfl, Commands& commands) {
  const auto args = std::make_shared<PredictArguments>();
  Command& command =
      commands.add(mfl, "predict", "Predict the labels of new data with a trained model",
                   "  mfl predict latest --data csv:new.csv --out predictions.csv\n"
                   "  mfl predict model.npz --data libsvm:new.svm --out -\n"
                   "The output is CSV with one line per row, in the order of the rows. Columns of a\n"
                   "CSV file are found by their names, in any order; columns that the model does\n"
                   "not have are ignored.",
                   [args, &commands] { return predict_command(*args, commands.json); });
  args->model.add(command);
  args->rows.add(command);
  command
      .add_option("--id", args->id,
                  "CSV column, by name or zero-based number, that begins each line of the output")
      ->type_name("COLUMN");
  command.add_option("--out", args->out, "The file to write, or - for stdout")
      ->type_name("FILE")
      ->capture_default_str();
  command.add_option("--threads", args->threads, "0: one per core, at most 4")
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace mfl::cli
