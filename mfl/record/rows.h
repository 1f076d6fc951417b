// Internal to mfl/record: conversion between table rows and structs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/record/run.h"
#include "mfl/record/sqlite.h"

namespace mfl {

// In the order in which read_run reads them; test_metrics, or NULL in its place, follows.
inline constexpr std::string_view kRunColumns =
    "id, created, status, message, name, config, config_digest, data_digest, problem, mfl_version, data, "
    "model, algorithm, precision, nodes, eta, gamma, tau, planned_steps, load_seconds, host, pid, "
    "process_start, wall_seconds, warnings, sampled, data_schema, (SELECT "
    "json_group_array(json_object('created', created, 'first', first_round, 'last', last_round, 'reason', "
    "reason)) FROM drops WHERE run = runs.number), final_step, final_train_loss, final_test_loss, "
    "final_test_accuracy, best_step, best_train_loss, rounds, bytes_up, bytes_down, digest, virtual_seconds";
inline constexpr std::string_view kRoundColumns =
    "round, step, train_loss, batch_loss, start_loss, bytes_up, bytes_down, digest, virtual_seconds, "
    "round_seconds, slowest_seconds, idle_share, chosen, missed, abandoned";
inline constexpr std::string_view kRecordColumns =
    "step, round, train_loss, batch_loss, start_loss, test_loss, test_accuracy, bytes_up, bytes_down, "
    "wall_seconds, digest, virtual_seconds";

inline constexpr std::string_view kNodeColumns =
    "round, node, weight, train_loss, batch_loss, start_loss, seconds, digest, metrics, committed";

Result<RunRow> read_run(const Database& database, Statement& row);
RoundRow read_round(Statement& row);
RecordRow read_record(Statement& row);
NodeRow read_node(Statement& row);

// The column `warnings`: a JSON array. What cannot be read as one counts as none.
std::string warnings_json_text(std::span<const RunWarning> warnings);
std::vector<RunWarning> read_warnings(std::string_view text);

std::vector<RoundDrop> read_drops(std::string_view text);

std::string to_hex(std::string_view bytes);
// 32 bytes from 64 hexadecimal digits, or no bytes from an empty string; anything else is kInternal.
Result<std::string> digest_bytes(std::string_view hex);

// SHA-256 as 32 raw bytes.
std::string sha256_bytes(std::string_view bytes);

}  // namespace mfl
