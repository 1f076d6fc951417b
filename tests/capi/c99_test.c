/* c99_test FOLDER: a C program that trains, predicts, and meets every kind of error. Prints the first failure; exit code 1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mfl/capi/mfl.h"

#define ROWS 300
#define COLUMNS 5

static const char* folder;
static float features[ROWS][COLUMNS];
static int64_t classes[ROWS];

#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);        \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

/* The call fails with this code, and its error has this text. */
#define CHECK_ERROR(call, code, text)                                                      \
  do {                                                                                     \
    char* error = NULL;                                                                    \
    const int32_t got = (call);                                                            \
    if (got != (code) || error == NULL || strstr(error, (text)) == NULL ||                 \
        strstr(error, "\"code\":") == NULL || strstr(error, "\"hint\":") == NULL) {        \
      fprintf(stderr, "%s:%d: %s: %d %s\n", __FILE__, __LINE__, #call, (int)got,           \
              error == NULL ? "(no error)" : error);                                       \
      exit(1);                                                                             \
    }                                                                                      \
    mfl_free(error);                                                                       \
  } while (0)

#define CHECK_OK(call)                                                                  \
  do {                                                                                  \
    char* error = NULL;                                                                 \
    if ((call) != MFL_OK || error != NULL) {                                            \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                     \
              error == NULL ? "(no error)" : error);                                    \
      exit(1);                                                                          \
    }                                                                                   \
  } while (0)

static mfl_array features_array(void) {
  mfl_array out;
  memset(&out, 0, sizeof out);
  out.type = MFL_F32;
  out.data = features;
  out.rows = ROWS;
  out.columns = COLUMNS;
  out.row_stride = sizeof features[0];
  out.column_stride = sizeof features[0][0];
  return out;
}

static mfl_array classes_array(void) {
  mfl_array out;
  memset(&out, 0, sizeof out);
  out.type = MFL_I64;
  out.data = classes;
  out.rows = ROWS;
  out.columns = 1;
  out.row_stride = sizeof classes[0];
  out.column_stride = sizeof classes[0];
  return out;
}

static void make_data(void) {
  for (int i = 0; i < ROWS; ++i) {
    classes[i] = i % 2;
    for (int j = 0; j < COLUMNS; ++j)
      features[i][j] = (float)((i * 7 + j * 13) % 10) / 10 + (j == 2 ? (float)classes[i] : 0);
  }
}

static mfl_experiment* new_experiment(void) {
  mfl_experiment* out = NULL;
  const mfl_array x = features_array(), y = classes_array();
  CHECK_OK(mfl_experiment_new("[run]\nsteps = 40\n", &out, &error));
  CHECK_OK(mfl_experiment_set(out, "model.name", "logistic", &error));
  CHECK_OK(mfl_experiment_set(out, "federation.nodes", "3", &error));
  CHECK_OK(mfl_experiment_data(out, MFL_TRAIN, &x, &y, &error));
  return out;
}

static const char* options_with_store(void) {
  static char options[4096];
  CHECK(snprintf(options, sizeof options, "{\"store\": \"%s/c99.db\"}", folder) < (int)sizeof options);
  return options;
}

static const char* store_path(void) {
  static char path[4096];
  CHECK(snprintf(path, sizeof path, "%s/c99.db", folder) < (int)sizeof path);
  return path;
}

static int calls;
static double seconds_before;
static int32_t stop_at_second(const mfl_progress* progress, void* user) {
  CHECK(progress->steps == 40 && progress->settings == 1);
  CHECK(progress->seconds > seconds_before);
  seconds_before = progress->seconds;
  CHECK(user == &calls);
  return ++calls >= 2;
}

static void train_and_predict(void) {
  mfl_experiment* experiment = new_experiment();
  mfl_model* model = NULL;
  char *result = NULL, *json = NULL, *toml = NULL;
  static uint32_t labels[ROWS];
  static double values[ROWS][2];
  mfl_array weights;
  const mfl_array x = features_array();
  CHECK_OK(mfl_experiment_names(experiment,
                                "{\"features\": [\"a\", \"b\", \"c\", \"d\", \"e\"], \"label\": \"kind\", \"classes\": [\"no\", \"yes\"]}",
                                &error));
  CHECK_OK(mfl_experiment_config(experiment, &toml, &error));
  CHECK(strstr(toml, "source = \"memory\"") != NULL);
  CHECK_OK(mfl_experiment_run(experiment, options_with_store(), &result, &error));
  CHECK(strstr(result, "\"status\":\"done\"") != NULL);
  CHECK_OK(mfl_model_open("latest", store_path(), &model, &error));
  CHECK_OK(mfl_model_json(model, &json, &error));
  CHECK(strstr(json, "\"classes\":[\"no\",\"yes\"]") != NULL);
  CHECK(strstr(json, "\"value_names\":[\"probability_no\",\"probability_yes\"]") != NULL);
  CHECK_OK(mfl_model_predict(model, &x, labels, ROWS, &values[0][0], ROWS * 2, &error));
  int right = 0;
  for (int i = 0; i < ROWS; ++i) {
    right += labels[i] == (uint32_t)classes[i];
    CHECK(fabs(values[i][0] + values[i][1] - 1) < 1e-12);
    CHECK((values[i][1] > 0.5) == (labels[i] == 1));
  }
  CHECK(right > ROWS * 9 / 10);
  CHECK_OK(mfl_model_weights(model, &weights, &error));
  CHECK(weights.type == MFL_F32 && weights.rows == COLUMNS + 1 && weights.columns == 1 && weights.data != NULL);

  CHECK_ERROR(mfl_model_predict(model, &x, labels, ROWS - 1, NULL, 0, &error), MFL_BAD_CONFIG, "labels has room for 299");
  CHECK_ERROR(mfl_model_predict(model, &x, NULL, 0, &values[0][0], ROWS, &error), MFL_BAD_CONFIG, "values has room");
  CHECK_ERROR(mfl_model_predict(model, NULL, labels, ROWS, NULL, 0, &error), MFL_BAD_CONFIG, "x is NULL");
  CHECK_ERROR(mfl_model_predict(NULL, &x, labels, ROWS, NULL, 0, &error), MFL_BAD_CONFIG, "model is NULL");
  mfl_array narrow = x;
  narrow.columns = COLUMNS - 1;
  CHECK_ERROR(mfl_model_predict(model, &narrow, labels, ROWS, NULL, 0, &error), MFL_BAD_DATA, "4 features and the model 5");
  CHECK_ERROR(mfl_model_export(model, "/dev/null/model.npz", "npz", &error), MFL_RUN_FAILED, "/dev/null");
  CHECK_ERROR(mfl_model_export(model, "model.txt", "txt", &error), MFL_BAD_CONFIG, "npz, onnx or safetensors");
  char file[4096];
  CHECK(snprintf(file, sizeof file, "%s/c99.npz", folder) < (int)sizeof file);
  CHECK_OK(mfl_model_export(model, file, "npz", &error));
  mfl_model_free(model);
  CHECK_OK(mfl_model_open(file, NULL, &model, &error));
  mfl_model_free(model);
  mfl_free(result);
  mfl_free(json);
  mfl_free(toml);
  mfl_experiment_free(experiment);
}

static void stop_and_resume(void) {
  mfl_experiment* experiment = new_experiment();
  char* result = NULL;
  char options[4096];
  CHECK_OK(mfl_experiment_hooks(experiment, stop_at_second, NULL, &calls, &error));
  CHECK_OK(mfl_experiment_run(experiment, options_with_store(), &result, &error));
  CHECK(calls == 2 && strstr(result, "\"status\":\"interrupted\"") != NULL);
  mfl_free(result);
  CHECK_OK(mfl_experiment_hooks(experiment, NULL, NULL, NULL, &error));
  CHECK(snprintf(options, sizeof options, "{\"store\": \"%s\", \"resume\": \"latest\"}", store_path()) < (int)sizeof options);
  CHECK_OK(mfl_experiment_run(experiment, options, &result, &error));
  CHECK(strstr(result, "\"status\":\"done\"") != NULL);
  mfl_free(result);
  mfl_experiment_free(experiment);
}

static void sweep_and_query(void) {
  mfl_experiment* experiment = new_experiment();
  char* json = NULL;
  CHECK_OK(mfl_experiment_sweep(experiment, "{\"algorithm.name\": [\"fl\", \"mfl\"], \"algorithm.eta\": [0.01, 0.1]}",
                                options_with_store(), &json, &error));
  CHECK(json[0] == '[');
  int runs = 0;
  for (const char* at = json; (at = strstr(at, "\"run_id\"")) != NULL; ++at) ++runs;
  CHECK(runs == 4);
  mfl_free(json);
  CHECK_ERROR(mfl_experiment_sweep(experiment, "{\"algorithm.eta\": 1}", NULL, &json, &error), MFL_BAD_CONFIG, "array");
  CHECK_ERROR(mfl_experiment_sweep(experiment, "{\"algorithm.etta\": [1]}", NULL, &json, &error), MFL_BAD_CONFIG, "etta");
  CHECK_ERROR(mfl_experiment_sweep(experiment, NULL, NULL, &json, &error), MFL_BAD_CONFIG, "grid is NULL");
  mfl_experiment_free(experiment);

  CHECK_OK(mfl_store_query(store_path(), "{\"what\": \"runs\", \"limit\": 2, \"status\": \"done\"}", &json, &error));
  CHECK(strstr(json, "\"runs\":[") != NULL);
  mfl_free(json);
  CHECK_OK(mfl_store_query(store_path(), "{\"what\": \"run\", \"run\": \"latest\", \"rounds\": true}", &json, &error));
  CHECK(strstr(json, "\"rounds\":[") != NULL && strstr(json, "\"records\":[") != NULL);
  mfl_free(json);
  CHECK_OK(mfl_store_query(store_path(), "{\"what\": \"compare\", \"runs\": [\"latest~1\", \"latest\"]}", &json, &error));
  mfl_free(json);
  CHECK_OK(mfl_store_query("/dev/null/runs.db", "{\"what\": \"runs\"}", &json, &error));
  CHECK(strcmp(json, "{\"runs\":[]}") == 0);
  mfl_free(json);
  CHECK_ERROR(mfl_store_query(store_path(), "{\"what\": \"rums\"}", &json, &error), MFL_BAD_CONFIG, "rums");
  CHECK_ERROR(mfl_store_query(store_path(), "what", &json, &error), MFL_BAD_CONFIG, "not a JSON object");
  CHECK_ERROR(mfl_store_query(store_path(), "{\"what\": \"run\", \"run\": \"zzz\"}", &json, &error), MFL_BAD_CONFIG, "zzz");
  CHECK_ERROR(mfl_store_query(store_path(), "{\"what\": \"runs\", \"limt\": 2}", &json, &error), MFL_BAD_CONFIG, "limit");
  CHECK_ERROR(mfl_store_query(store_path(), NULL, &json, &error), MFL_BAD_CONFIG, "request is NULL");
}

static void refuse_arguments(void) {
  mfl_experiment* experiment = NULL;
  char* text = NULL;
  CHECK_ERROR(mfl_experiment_new(NULL, &experiment, &error), MFL_BAD_CONFIG, "toml is NULL");
  CHECK_ERROR(mfl_experiment_new("", NULL, &error), MFL_BAD_CONFIG, "experiment is NULL");
  CHECK_ERROR(mfl_experiment_new("[run]\nstepps = 1\n", &experiment, &error), MFL_BAD_CONFIG, "stepps");
  CHECK(experiment == NULL);
  CHECK(mfl_experiment_new("nonsense", &experiment, NULL) == MFL_BAD_CONFIG);
  CHECK_OK(mfl_experiment_new("", &experiment, &error));
  CHECK_ERROR(mfl_experiment_set(NULL, "run.steps", "1", &error), MFL_BAD_CONFIG, "experiment is NULL");
  CHECK_ERROR(mfl_experiment_set(experiment, NULL, "1", &error), MFL_BAD_CONFIG, "key is NULL");
  CHECK_ERROR(mfl_experiment_set(experiment, "run.steps", NULL, &error), MFL_BAD_CONFIG, "text is NULL");
  CHECK_ERROR(mfl_experiment_set(experiment, "algorithm.gama", "1", &error), MFL_BAD_CONFIG, "gamma");
  CHECK_ERROR(mfl_experiment_set(experiment, "algorithm.gamma", "1.5", &error), MFL_BAD_CONFIG, "1.5");
  CHECK_ERROR(mfl_experiment_config(experiment, NULL, &error), MFL_BAD_CONFIG, "toml is NULL");
  CHECK_ERROR(mfl_experiment_config(NULL, &text, &error), MFL_BAD_CONFIG, "experiment is NULL");
  CHECK_ERROR(mfl_experiment_names(experiment, "[]", &error), MFL_BAD_CONFIG, "not a JSON object");
  CHECK_ERROR(mfl_experiment_names(experiment, "{\"classes\": [\"a\", \"a\"]}", &error), MFL_BAD_CONFIG, "twice");
  CHECK_ERROR(mfl_experiment_names(experiment, "{\"label\": 3}", &error), MFL_BAD_CONFIG, "label must be a text");
  CHECK_ERROR(mfl_experiment_hooks(NULL, NULL, NULL, NULL, &error), MFL_BAD_CONFIG, "experiment is NULL");
  CHECK_ERROR(mfl_experiment_run(NULL, NULL, &text, &error), MFL_BAD_CONFIG, "experiment is NULL");
  CHECK_ERROR(mfl_experiment_run(experiment, NULL, NULL, &error), MFL_BAD_CONFIG, "result is NULL");
  CHECK_ERROR(mfl_experiment_run(experiment, "{\"stor\": \"x\"}", &text, &error), MFL_BAD_CONFIG, "store");
  CHECK_ERROR(mfl_experiment_run(experiment, "{\"reuse\": 1}", &text, &error), MFL_BAD_CONFIG, "true or false");
  CHECK_OK(mfl_experiment_set(experiment, "data.source", "memory", &error));
  CHECK_ERROR(mfl_experiment_run(experiment, options_with_store(), &text, &error), MFL_BAD_CONFIG, "in memory");
  CHECK_ERROR(mfl_model_open(NULL, NULL, NULL, &error), MFL_BAD_CONFIG, "model is NULL");
  mfl_experiment_stop(NULL);
  mfl_experiment_free(NULL);
  mfl_model_free(NULL);
  mfl_free(NULL);
  mfl_experiment_free(experiment);
}

static void refuse_data(void) {
  mfl_experiment* experiment = new_experiment();
  char* text = NULL;
  mfl_array x = features_array(), y = classes_array();
  CHECK_ERROR(mfl_experiment_data(NULL, MFL_TRAIN, &x, &y, &error), MFL_BAD_CONFIG, "experiment is NULL");
  CHECK_ERROR(mfl_experiment_data(experiment, 7, &x, &y, &error), MFL_BAD_CONFIG, "part 7");
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, NULL, &error), MFL_BAD_CONFIG, "y is NULL");
  x.type = 77;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_CONFIG, "77 is no element type");
  x = features_array();
  x.data = NULL;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_CONFIG, "data is NULL");
  x = features_array();
  x.rows = 0;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_DATA, "empty");
  x = features_array();
  y.rows = ROWS - 1;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_DATA, "299 labels for 300 rows");
  y = classes_array();
  y.columns = 2;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_CONFIG, "one column");
  y = classes_array();

  features[3][2] = NAN;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_DATA, "row 3, column 2");
  make_data();
  features[299][4] = INFINITY;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_DATA, "row 299, column 4");
  make_data();
  const double bad_label = NAN;
  y.type = MFL_F64;
  y.data = &bad_label;
  y.row_stride = 0;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_DATA, "no usable label");
  y = classes_array();

  /* The experiment has its data still. A test part of other columns, and names that do not fit. */
  mfl_array narrow = x;
  narrow.columns = COLUMNS - 1;
  CHECK_OK(mfl_experiment_data(experiment, MFL_TEST, &narrow, &y, &error));
  CHECK_ERROR(mfl_experiment_run(experiment, options_with_store(), &text, &error), MFL_BAD_DATA, "4 for testing");
  CHECK_OK(mfl_experiment_data(experiment, MFL_TEST, NULL, NULL, &error));
  CHECK_OK(mfl_experiment_names(experiment, "{\"features\": [\"a\"]}", &error));
  CHECK_ERROR(mfl_experiment_run(experiment, options_with_store(), &text, &error), MFL_BAD_DATA, "1 features for 5");
  CHECK_OK(mfl_experiment_names(experiment, "{\"classes\": [\"only\"]}", &error));
  CHECK_ERROR(mfl_experiment_run(experiment, options_with_store(), &text, &error), MFL_BAD_DATA, "one of 1 classes");
  CHECK_OK(mfl_experiment_names(experiment, "{}", &error));
  CHECK_OK(mfl_experiment_set(experiment, "data.folds", "3", &error));
  CHECK_ERROR(mfl_experiment_run(experiment, options_with_store(), &text, &error), MFL_BAD_CONFIG, "data.fold");
  mfl_experiment_free(experiment);
}

static void refuse_sparse(void) {
  mfl_experiment* experiment = new_experiment();
  static const double values[] = {1, 2, 3};
  int32_t columns[] = {0, 2, 1}, starts[] = {0, 2, 3};
  static const double labels[] = {0, 1};
  mfl_array x, y = classes_array();
  memset(&x, 0, sizeof x);
  x.type = MFL_F64;
  x.data = values;
  x.rows = 2;
  x.columns = 3;
  x.column_indices = columns;
  x.row_starts = starts;
  y.type = MFL_F64;
  y.data = labels;
  y.rows = 2;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_CONFIG, "index_type");
  x.index_type = MFL_I32;
  CHECK_OK(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error));
  columns[1] = 0;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_CONFIG, "do not ascend");
  columns[1] = 3;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_CONFIG, "column 3");
  columns[1] = -1;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_CONFIG, "column -1");
  columns[1] = 2;
  starts[1] = -1;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_CONFIG, "row_starts");
  starts[1] = 2;
  x.column_indices = NULL;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_CONFIG, "column_indices");
  x.column_indices = columns;
  x.data = NULL;
  CHECK_ERROR(mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error), MFL_BAD_CONFIG, "data is NULL");
  mfl_experiment_free(experiment);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  folder = argv[1];
  remove(store_path());
  make_data();
  CHECK(mfl_abi_version() == MFL_ABI_VERSION);
  CHECK(strlen(mfl_version()) > 0);
  train_and_predict();
  stop_and_resume();
  sweep_and_query();
  refuse_arguments();
  refuse_data();
  refuse_sparse();
  return 0;
}
