/* The C interface of mfl, for programs in other languages: train on arrays in memory or on files, read the run store, predict.
 *
 *   mfl_experiment* experiment = NULL;
 *   mfl_model* model = NULL;
 *   char *error = NULL, *result = NULL;
 *   mfl_array x = {.type = MFL_F32, .data = numbers, .rows = 1000, .columns = 20, .row_stride = 80, .column_stride = 4};
 *   mfl_array y = {.type = MFL_I64, .data = classes, .rows = 1000, .columns = 1, .row_stride = 8, .column_stride = 8};
 *   if (mfl_experiment_new("", &experiment, &error) != MFL_OK ||
 *       mfl_experiment_set(experiment, "algorithm.name", "mfl", &error) != MFL_OK ||
 *       mfl_experiment_data(experiment, MFL_TRAIN, &x, &y, &error) != MFL_OK ||
 *       mfl_experiment_run(experiment, "{\"store\": \"runs.db\"}", &result, &error) != MFL_OK ||
 *       mfl_model_open("latest", "runs.db", &model, &error) != MFL_OK ||
 *       mfl_model_predict(model, &x, labels, 1000, NULL, 0, &error) != MFL_OK)
 *     fprintf(stderr, "%s\n", error);
 *   mfl_free(error);
 *   mfl_free(result);
 *   mfl_model_free(model);
 *   mfl_experiment_free(experiment);
 *
 * Errors. A function that can fail returns MFL_OK or one of the codes below, which are the exit codes of the program mfl. If `error` is
 * not NULL, it is set to NULL on success and else to a JSON object {"code", "message", "hint"}, which the caller releases with mfl_free.
 * After an error the other results are NULL and a handle is as it was before the call. A NULL that is not allowed is MFL_BAD_CONFIG.
 * Nothing is printed, no signal handler is installed, and the process does not exit.
 *
 * Text is UTF-8 that ends in a zero byte. Text that a function gives is the caller's and is released with mfl_free, except for a
 * `const char*`, which is never released.
 *
 * Threads. A handle is used by one thread at a time, except for mfl_experiment_stop; different handles may be used at the same time. A
 * const mfl_model* may be shared among threads. Callbacks are called on the thread that called run or sweep.
 *
 * The interface only grows: functions, codes, element types and JSON members are added, and those that exist keep their meaning, as long
 * as mfl_abi_version() is the MFL_ABI_VERSION that a program was compiled with. Readers of JSON ignore members that they do not know. */
#ifndef MFL_CAPI_MFL_H
#define MFL_CAPI_MFL_H

#include <stdint.h>

#if defined(__GNUC__)
#define MFL_API __attribute__((visibility("default")))
#else
#define MFL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MFL_ABI_VERSION 1

enum {
  MFL_OK = 0,
  MFL_RUN_FAILED = 1, /* the run itself, or a store or file that cannot be written; also out of memory */
  MFL_BAD_CONFIG = 2, /* arguments and configuration */
  MFL_BAD_DATA = 3,   /* arrays and contents of files */
  MFL_NETWORK = 4,
  MFL_BUG = 5 /* of mfl: please report it */
};

MFL_API int32_t mfl_abi_version(void);
/* "0.1.0" */
MFL_API const char* mfl_version(void);
/* Takes NULL too. */
MFL_API void mfl_free(char* text);

/* --- Arrays --- */

/* Element types. */
enum {
  MFL_U8 = 1,
  MFL_I8 = 2,
  MFL_U16 = 3,
  MFL_I16 = 4,
  MFL_U32 = 5,
  MFL_I32 = 6,
  MFL_U64 = 7,
  MFL_I64 = 8,
  MFL_F32 = 9,
  MFL_F64 = 10
};

/* A matrix, or a vector with one column, in the caller's memory, which mfl never writes to. Elements are in the byte order of the
 * machine and need not be aligned. Fields that are not used are zero.
 *
 * Dense, where row_starts is NULL: element (i, j) is at (const char*)data + i * row_stride + j * column_stride. Strides are in bytes
 * and may be zero or negative; row-major order, Fortran order and slices are all possible.
 *
 * Compressed sparse rows, where row_starts is not NULL: row i has the elements row_starts[i] to row_starts[i + 1] - 1 of data, and
 * column_indices are their columns, counted from 0 and ascending without repetition inside a row. The strides are not used. */
typedef struct mfl_array {
  int32_t type;       /* of the elements */
  int32_t index_type; /* of column_indices and row_starts: MFL_I32 or MFL_I64; 0 for a dense array */
  const void* data;
  uint64_t rows;
  uint64_t columns;
  int64_t row_stride;
  int64_t column_stride;
  const void* column_indices;
  const void* row_starts; /* rows + 1 of them */
} mfl_array;

/* --- Experiments --- */

/* A configuration, and the data if it is in memory. Can be run any number of times. */
typedef struct mfl_experiment mfl_experiment;

/* From the text of an experiment file (docs/config.md), "" for the defaults. */
MFL_API int32_t mfl_experiment_new(const char* toml, mfl_experiment** experiment, char** error);
/* Takes NULL too. */
MFL_API void mfl_experiment_free(mfl_experiment* experiment);

/* Sets one key, "algorithm.gamma" for example, from text as a flag of the program takes it: "0.5". */
MFL_API int32_t mfl_experiment_set(mfl_experiment* experiment, const char* key, const char* text,
                                   char** error);
/* All keys as an experiment file, in a fixed order: mfl_experiment_new takes it back. */
MFL_API int32_t mfl_experiment_config(const mfl_experiment* experiment, char** toml, char** error);

enum { MFL_TRAIN = 0, MFL_TEST = 1 };

/* Data in memory instead of data.source, which becomes "memory". `x` has one row per sample; `y`, of one column, has its label: a class
 * as a number, or the target of a regression. Both must be finite. MFL_TEST needs the columns of MFL_TRAIN. A NULL `x` removes the part;
 * without a test part there is none unless data.test or data.folds divides the rows.
 *
 * The numbers of a dense `x` of MFL_U8, MFL_F32 and MFL_F64 are not copied, in whatever strides, partition and preprocessing: they must
 * remain where they are, unchanged, until the part is replaced or the handle is freed; other threads may read them meanwhile. A run
 * copies them only if they are small (the option copy_limit) and where federation.feature_skew changes them. Other element types, sparse
 * arrays and `y` are copied here. As in an NPY file, bytes have the scale
 * 1/255 unless data.scale says otherwise; other numbers have the scale 1. The digests of a run are those of npy: files of the same
 * numbers; other element types count as MFL_F64, also the bytes of a sparse array. A run needs about 50 bytes per row beside the arrays. */
MFL_API int32_t mfl_experiment_data(mfl_experiment* experiment, int32_t part, const mfl_array* x,
                                    const mfl_array* y, char** error);

/* What columns and labels in memory are called: {"features": [one per column], "label": text, "classes": [text, ...]}; each may be left
 * out. With classes, a label k of `y` means classes[k]. Replaces what was said before; "{}" is the beginning. */
MFL_API int32_t mfl_experiment_names(mfl_experiment* experiment, const char* json, char** error);

/* After a round. Of a sweep: of all its settings together, and of the first that is still training. */
typedef struct mfl_progress {
  uint64_t step, steps;
  uint64_t round;
  uint64_t settings, settings_done; /* of a sweep; 1 and 0 or 1 for a run */
  double train_loss; /* F(w) over all samples, as it was last measured; NaN: not yet. May be not finite */
  double seconds;    /* since the training began */
  double batch_loss; /* the mean over the batches of the last round; NaN: not measured */
  double start_loss; /* of where the nodes start, if that is not w; NaN: not measured */
} mfl_progress;

/* Non-zero stops the run at the end of this round. */
typedef int32_t (*mfl_progress_callback)(const mfl_progress* progress, void* user);
/* `json` is {"id", "step", "message", "hint"}, and is valid during the call. Only runs with the option monitor warn. */
typedef void (*mfl_warning_callback)(const char* json, void* user);

/* Both may be NULL. A callback must return: it must neither jump out nor use the handle, except for mfl_experiment_stop. */
MFL_API int32_t mfl_experiment_hooks(mfl_experiment* experiment, mfl_progress_callback progress,
                                     mfl_warning_callback warning, void* user, char** error);
/* Ends the current run or sweep at the end of its round; without one it has no effect. Callable from any thread and from a signal
 * handler, as long as the handle is not being freed. Takes NULL too. */
MFL_API void mfl_experiment_stop(mfl_experiment* experiment);

/* Trains, records the run in the store and waits for its end. `options` is a JSON object or NULL:
 *
 *   "store"    path of the run store; "" or absent: that of the program (MFL_STORE, else its data folder)
 *   "resume"   id, name or "latest" of a stopped run to continue. Its configuration is that of the store, except for engine and threads; the data
 *              in memory must be the same
 *   "reuse"    true: give an equal finished run of the store instead of training
 *   "monitor"  true: watch for signs of a bad setting
 *   "copy_limit"  a run prepares arrays of up to this many bytes once, in a copy, and reads larger ones again whenever it needs them, which is
 *              slower and has the same result; absent: 67108864
 *   "trainer"  a command, or "unix:PATH": a program of the caller's that trains a model of its own (docs/trainer.md). The key model.name
 *              must be "external"; the data is the trainer's own
 *   "trainer_processes", "trainer_deadline"  how many trainers a command starts, and the seconds that a call may take; absent: 1 and 600
 *
 * The name of a run is the key run.name. `result` is the object "data" of `mfl run --json` (docs/output.md): {"run_id", "status", "final",
 * "best", "digest", ...}. A run that was stopped ("interrupted") or diverged is a result and MFL_OK: look at "status". A store is a file
 * that other processes may use at the same time; for a run that leaves nothing behind name a temporary one and delete it. */
MFL_API int32_t mfl_experiment_run(mfl_experiment* experiment, const char* options, char** result,
                                   char** error);

/* Trains every combination of the arrays in `grid`, {"algorithm.eta": [0.01, 0.1], "algorithm.name": ["fl", "mfl"]}, the last one varying
 * fastest; settings with the same data share each pass over it. The options are "store", "reuse" and "copy_limit"; with "reuse" a sweep
 * that was stopped continues. Cross-validation is a sweep over data.fold. `result` is an array with the result of each run, in the order of the grid; stopped sweeps may have fewer. */
MFL_API int32_t mfl_experiment_sweep(mfl_experiment* experiment, const char* grid, const char* options,
                                     char** result, char** error);

/* --- Trained models --- */

typedef struct mfl_model mfl_model;

/* `what` is a run that is done (its id, the beginning of it, its name, "latest" or "latest~N"), or a model file (.npz). A NULL or empty
 * `store` is that of the program. */
MFL_API int32_t mfl_model_open(const char* what, const char* store, mfl_model** model, char** error);
/* Takes NULL too. */
MFL_API void mfl_model_free(mfl_model* model);

/* The object "data" of `mfl model show --json`: {"model", "precision", "tensors", "schema", "digest", "run", "parameters", ...}, and
 * "classes", empty for a regression, and "value_names", which mfl_model_predict gives. */
MFL_API int32_t mfl_model_json(const mfl_model* model, char** json, char** error);
/* All weights as a vector of MFL_F32 or MFL_F64, tensor after tensor in the order of "tensors". Valid until the model is freed. */
MFL_API int32_t mfl_model_weights(const mfl_model* model, mfl_array* weights, char** error);

/* Of each row of `x`, with the columns that the model was trained on and in the same order:
 *   labels[i]                    the position of its class in "classes"; not for a regression
 *   values[i * value_names + k]  the number that value_names[k] is
 * Each may be NULL; `label_count` and `value_count` are their lengths, which must be x->rows and x->rows times the number of value_names.
 * Reads `x` block by block. After an error the contents of both are undefined. MFL_BAD_CONFIG for a model that a trainer has trained
 * (docs/trainer.md), of which mfl knows the weights alone. */
MFL_API int32_t mfl_model_predict(const mfl_model* model, const mfl_array* x, uint32_t* labels,
                                  uint64_t label_count, double* values, uint64_t value_count, char** error);

/* Writes a file as a whole or not at all. `format` is "npz", the model file of mfl, "onnx" or "safetensors", the weights alone. */
MFL_API int32_t mfl_model_export(const mfl_model* model, const char* path, const char* format, char** error);

/* --- The run store --- */

/* Reads a store; one that does not exist has no runs. A NULL or empty `store` is that of the program. `request` is one of
 *
 *   {"what": "runs", "status": text, "name": text, "model": text, "algorithm": text, "limit": number}   newest first; all but "what" are
 *                                                           optional. As `mfl runs list --json`: {"runs": [...]}
 *   {"what": "run", "run": "latest", "rounds": true, "nodes": true}   one run with its records and, if true, its rounds, and the nodes of
 *                                                           a federation. As `mfl runs show --json`: {"run", "records", "rounds", "nodes",
 *                                                           "participation"}
 *   {"what": "compare", "runs": ["latest~1", "latest"], "baseline": "fl", "target": number}   as `mfl runs compare --json`
 *
 * and `json` is what the program prints as "data". */
MFL_API int32_t mfl_store_query(const char* store, const char* request, char** json, char** error);

#ifdef __cplusplus
}
#endif

#endif
