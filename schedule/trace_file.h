// A Trace as a file: one JSON document, "schema": "orrery-trace/1" (docs/reference/trace.md). The records of
// a rank are columns, each one string of integers, of differences where values grow, with runs written as
// value*count. So a record takes about 13 bytes, any JSON reader can read it, and ours keeps no value apart
// for each number.
//
// Cost: about 50 ns a record each way. A file holds at most kMostTraceRecords records and 64 MiB.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/diagnostics.h"
#include "schedule/trace.h"

namespace orrery::schedule {

inline constexpr std::int64_t kMostTraceRecords = std::int64_t{1} << 24;

std::string trace_text(const Trace& trace);

// What is wrong is reported at its place; the rest is then of no use.
Trace parse_trace(std::shared_ptr<const SourceFile> source, Diagnostics& diagnostics);

// Throws InputError: no such file, no trace, a damaged one.
Trace read_trace(const std::string& path);

// The file is either the old one or wholly the new one: it is written beside its name and renamed. What is no
// regular file (a pipe, /dev/null) is written in place. Throws WorldError, also for a trace that could not be
// read back for its size.
void write_trace(const std::string& path, const Trace& trace);

}  // namespace orrery::schedule
