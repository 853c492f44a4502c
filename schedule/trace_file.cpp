// Columns of a rank, in lockstep: step and op as differences, ready_ns as the difference to the record
// before, wait_ns = begin - ready, duration_ns = end - begin. "7 0*3" is 7 0 0 0. A column stands in one JSON
// string without escapes, so an error in it has a place: that of the string, and as many bytes further.
#include "schedule/trace_file.h"

#include <fmt/format.h>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>

#include "base/check.h"
#include "base/json.h"
#include "base/object_reader.h"
#include "schedule/trace_columns.h"

namespace orrery::schedule {
namespace {

constexpr std::string_view kSchema = "orrery-trace/1";
constexpr std::size_t kMostBytes = std::size_t{64} << 20;   // what read_source reads
constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;  // as scenarios may have
constexpr std::int64_t kLongest = std::int64_t{1} << 61;    // ns: sums of two times fit into 64 bits
constexpr std::array<std::string_view, 5> kColumns = {"step", "op", "ready_ns", "wait_ns", "duration_ns"};

const std::vector<std::pair<std::string, TraceOrigin>>& origins() {
  static const std::vector<std::pair<std::string, TraceOrigin>> words = {
      {"simulated", TraceOrigin::simulated},
      {"measured", TraceOrigin::measured},
      {"emulated", TraceOrigin::emulated}};
  return words;
}

std::string_view word_of(TraceOrigin origin) { return origins()[static_cast<std::size_t>(origin)].first; }

// --- writing
// ------------------------------------------------------------------------------------------------------

void put(std::string& text, std::string_view key, std::string_view value) {
  fmt::format_to(std::back_inserter(text), " \"{}\": {},\n", key, value);
}

std::string loss_text(double loss) {
  if (std::isnan(loss)) return "\"nan\"";
  if (std::isinf(loss)) return loss > 0 ? "\"inf\"" : "\"-inf\"";
  return fmt::format("{}", loss + 0.0);  // -0, which JSON readers take for an integer, is 0
}

void put_rank(std::string& text, const RankTrace& rank) {
  std::array<ColumnWriter, kColumns.size()> columns;
  TraceRecord before{.step = 0, .op = 0};
  for (const TraceRecord& r : rank.records) {
    CHECK(r.begin_ns >= r.ready_ns && r.end_ns >= r.begin_ns, rank.rank, r.step, r.op);
    columns[0].add(r.step - before.step);
    columns[1].add(std::int64_t{r.op} - before.op);
    columns[2].add(r.ready_ns - before.ready_ns);
    columns[3].add(r.begin_ns - r.ready_ns);
    columns[4].add(r.end_ns - r.begin_ns);
    before = r;
  }
  fmt::format_to(std::back_inserter(text),
                 "  {{\"rank\": {}, \"peak_live_bytes\": {}, \"peak_host_bytes\": {}, \"arena_bytes\": {}, "
                 "\"records\": {}",
                 rank.rank, rank.peak_live_bytes, rank.peak_host_bytes, rank.arena_bytes,
                 rank.records.size());
  for (std::size_t c = 0; c < columns.size(); ++c)
    fmt::format_to(std::back_inserter(text), ",\n   \"{}\": \"{}\"", kColumns[c], columns[c].text());
  text += '}';
}

std::int64_t record_count(const Trace& trace) {
  std::int64_t records = 0;
  for (const RankTrace& rank : trace.ranks) records += static_cast<std::int64_t>(rank.records.size());
  return records;
}

// --- reading
// ------------------------------------------------------------------------------------------------------

class TraceReader {
 public:
  TraceReader(const Json& json, Diagnostics& diagnostics)
      : r_(json, diagnostics, "the trace"), diagnostics_(diagnostics) {}

  Trace trace() {
    if (!schema_is_known()) return {};
    Trace t;
    t.origin = r_.choice<TraceOrigin>("origin", std::nullopt, origins());
    t.scenario = r_.text("scenario", std::nullopt);
    t.scenario_path = r_.text("scenario_path", "");
    t.machine = r_.text("machine", "");
    t.fingerprint = fingerprint();
    t.world = r_.integer("world", {.min = 1, .max = kMostRanks});
    t.first_step = static_cast<std::int32_t>(r_.integer("first_step", {.min = 0, .max = 1'000'000'000}));
    t.steps = static_cast<std::int32_t>(r_.integer("steps", {.min = 0, .max = 1'000'000'000}));
    t.complete = r_.boolean("complete", true);
    read_losses(t);
    if (!diagnostics_.has_errors()) read_ranks(t);
    if (!diagnostics_.has_errors()) read_representatives(t);
    r_.finish();
    return t;
  }

 private:
  bool schema_is_known() {
    const std::string schema = r_.text("schema", std::nullopt);
    if (schema == kSchema) return true;
    if (!diagnostics_.has_errors())
      diagnostics_.error(r_.place("schema"),
                         fmt::format("this is no trace, or one of another version: \"{}\"", schema),
                         fmt::format("this program reads \"{}\"", kSchema));
    return false;
  }

  std::uint64_t fingerprint() {
    const std::string text = r_.text("fingerprint", std::nullopt);
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    if (const auto [at, error] = std::from_chars(text.data(), end, value, 16);
        text.size() == 16 && error == std::errc() && at == end)
      return value;
    if (!diagnostics_.has_errors())
      diagnostics_.error(r_.place("fingerprint"), "the fingerprint must be 16 hexadecimal digits");
    return 0;
  }

  void read_losses(Trace& t) {
    const Json* losses = r_.child("losses");
    if (losses == nullptr) return;
    if (!losses->is_array()) return diagnostics_.error(losses->place, "losses must be an array of numbers");
    for (const Json& loss : losses->items) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      if (loss.is_number())
        t.losses.push_back(loss.number);
      else if (loss.is_string() && loss.string == "nan")
        t.losses.push_back(std::numeric_limits<double>::quiet_NaN());
      else if (loss.is_string() && loss.string == "inf")
        t.losses.push_back(kInfinity);
      else if (loss.is_string() && loss.string == "-inf")
        t.losses.push_back(-kInfinity);
      else
        diagnostics_.error(loss.place, fmt::format("a loss must be a number, found {}", kind_name(loss.kind)),
                           "or \"nan\", \"inf\", \"-inf\"");
    }
  }

  void read_ranks(Trace& t) {
    const Json& ranks = r_.required("ranks");
    if (ranks.is_null()) return;
    if (!ranks.is_array()) return diagnostics_.error(ranks.place, "ranks must be an array of objects");
    for (const Json& json : ranks.items) {
      ObjectReader r(json, diagnostics_, "a rank");
      RankTrace rank;
      rank.rank = r.integer("rank", {.min = 0, .max = t.world - 1});
      if (!t.ranks.empty() && rank.rank <= t.ranks.back().rank)
        diagnostics_.error(r.place("rank"),
                           fmt::format("rank {} follows rank {}", rank.rank, t.ranks.back().rank),
                           "ranks must ascend");
      rank.peak_live_bytes = r.integer("peak_live_bytes", {});
      rank.peak_host_bytes = r.integer("peak_host_bytes", {});
      rank.arena_bytes = r.integer("arena_bytes", {});
      read_records(t, r, rank);
      r.finish();
      if (diagnostics_.has_errors()) return;
      t.ranks.push_back(std::move(rank));
    }
  }

  void read_records(const Trace& t, ObjectReader& r, RankTrace& rank) {
    const std::int64_t left = kMostTraceRecords - record_count(t);
    const std::int64_t records = r.integer("records", {.min = 0, .max = left});
    std::array<ColumnReader, kColumns.size()> columns;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const Json& column = r.required(kColumns[c]);
      if (column.is_string())
        columns[c] = ColumnReader(column, kColumns[c], diagnostics_);
      else if (!column.is_null())
        diagnostics_.error(column.place, fmt::format("{} must be a string of integers, found {}", kColumns[c],
                                                     kind_name(column.kind)));
    }
    TraceRecord record;
    for (std::int64_t i = 0; i < records && !diagnostics_.has_errors(); ++i)
      if (read_record(t, i == 0, columns, record)) rank.records.push_back(record);
    for (ColumnReader& column : columns)
      if (!diagnostics_.has_errors()) column.finish(records);
  }

  // The record behind `record`.
  bool read_record(const Trace& t, bool is_first, std::array<ColumnReader, kColumns.size()>& columns,
                   TraceRecord& record) {
    std::int64_t step = 0, op = 0, ready = 0, wait = 0, duration = 0;
    if (!columns[0].next(step) || !columns[1].next(op) || !columns[2].next(ready) || !columns[3].next(wait) ||
        !columns[4].next(duration))
      return false;
    if (__builtin_add_overflow(step, record.step, &step))
      return columns[0].refuse("a step beyond 2^63", "a step that is kept");
    if (__builtin_add_overflow(op, record.op, &op)) return columns[1].refuse("an op id beyond 2^63");
    if (__builtin_add_overflow(ready, record.ready_ns, &ready)) return columns[2].refuse("a time beyond 2^63 ns");
    if (step < t.first_step || step >= std::int64_t{t.first_step} + t.steps)
      return columns[0].refuse(fmt::format("step {} is not among the steps that are kept", step),
                               fmt::format("{} steps from step {}", t.steps, t.first_step));
    if (op < 0 || op > std::numeric_limits<std::uint32_t>::max())
      return columns[1].refuse(fmt::format("{} is no op id", op));
    if (!is_first && (step < record.step || (step == record.step && op <= record.op)))
      return columns[1].refuse(
          fmt::format("op {} of step {} follows op {} of step {}", op, step, record.op, record.step),
          "records must be ordered by step, then op");
    if (ready < -kLongest || ready > kLongest) return columns[2].refuse("this time is out of range");
    if (wait < 0) return columns[3].refuse("an op began before it was ready");
    if (duration < 0) return columns[4].refuse("an op ended before it began");
    if (wait > kLongest - std::max<std::int64_t>(ready, 0))
      return columns[3].refuse("this time is out of range");
    const std::int64_t begin = ready + wait;
    if (duration > kLongest - std::max<std::int64_t>(begin, 0))
      return columns[4].refuse("this time is out of range");
    record = {static_cast<std::int32_t>(step), static_cast<std::uint32_t>(op), ready, begin,
              begin + duration};
    return true;
  }

  bool has_rank(const Trace& t, std::int64_t rank) const {
    const auto at = std::lower_bound(t.ranks.begin(), t.ranks.end(), rank,
                                     [](const RankTrace& r, std::int64_t wanted) { return r.rank < wanted; });
    return at != t.ranks.end() && at->rank == rank;
  }

  void read_representatives(Trace& t) {
    const Json* json = r_.child("representative");
    if (json == nullptr) {
      if (t.complete && static_cast<std::int64_t>(t.ranks.size()) != t.world)
        diagnostics_.error(
            r_.place("ranks"), fmt::format("{} of {} ranks are here", t.ranks.size(), t.world),
            "\"representative\" says who stands for the others; \"complete\": false, that some are lost");
      return;
    }
    if (!json->is_string())
      return diagnostics_.error(json->place, "representative must be a string of integers");
    ColumnReader column(*json, "representative", diagnostics_);
    std::int64_t rank = 0, difference = 0;
    for (std::int64_t i = 0; i < t.world; ++i) {
      if (!column.next(difference)) return;
      if (__builtin_add_overflow(rank, difference, &rank)) {
        static_cast<void>(column.refuse("a rank beyond 2^63"));
        return;
      }
      if (!has_rank(t, rank)) {
        static_cast<void>(column.refuse(fmt::format("rank {} stands for rank {}, and is not here", rank, i)));
        return;
      }
      t.representative.push_back(rank);
    }
    column.finish(t.world);
  }

  ObjectReader r_;
  Diagnostics& diagnostics_;
};

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw WorldError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

// `named`: as the user knows it.
void write_whole(const std::string& path, const std::string& text, const std::string& named) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) fail(named, "cannot be opened for writing");
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) fail(named, "writing it failed");
}

}  // namespace

std::string trace_text(const Trace& trace) {
  std::string text = "{\n";
  put(text, "schema", json_quoted(kSchema));
  put(text, "origin", json_quoted(word_of(trace.origin)));
  put(text, "scenario", json_quoted(trace.scenario));
  put(text, "scenario_path", json_quoted(trace.scenario_path));
  put(text, "machine", json_quoted(trace.machine));
  put(text, "fingerprint", fmt::format("\"{:016x}\"", trace.fingerprint));
  put(text, "world", fmt::format("{}", trace.world));
  put(text, "first_step", fmt::format("{}", trace.first_step));
  put(text, "steps", fmt::format("{}", trace.steps));
  put(text, "complete", trace.complete ? "true" : "false");
  if (!trace.losses.empty()) {
    std::string losses;
    for (const double loss : trace.losses) losses += (losses.empty() ? "" : ", ") + loss_text(loss);
    put(text, "losses", "[" + losses + "]");
  }
  if (!trace.representative.empty()) {
    ColumnWriter column;
    std::int64_t before = 0;
    for (const std::int64_t rank : trace.representative) {
      column.add(rank - before);
      before = rank;
    }
    put(text, "representative", "\"" + column.text() + "\"");
  }
  text += " \"ranks\": [";
  for (std::size_t i = 0; i < trace.ranks.size(); ++i) {
    text += i == 0 ? "\n" : ",\n";
    put_rank(text, trace.ranks[i]);
  }
  return text + "\n ]\n}\n";
}

Trace parse_trace(std::shared_ptr<const SourceFile> source, Diagnostics& diagnostics) {
  const Json json = parse_json(std::move(source), diagnostics);
  if (!diagnostics.has_errors() && json.find("traceEvents") != nullptr)
    diagnostics.error(json.place, "this is a trace for Perfetto, which shows a run and does not hold all of it",
                      "the file that `--save-trace` wrote: orrery execute SCENARIO --save-trace FILE");
  return diagnostics.has_errors() ? Trace{} : TraceReader(json, diagnostics).trace();
}

Trace read_trace(const std::string& path) {
  Diagnostics diagnostics;
  Trace trace = parse_trace(read_source(path), diagnostics);
  diagnostics.throw_if_errors();
  return trace;
}

void write_trace(const std::string& path, const Trace& trace) {
  const std::string text = record_count(trace) > kMostTraceRecords ? std::string() : trace_text(trace);
  if (text.empty() || text.size() > kMostBytes)
    throw WorldError(
        fmt::format("{}: a trace of {} records is larger than a trace file may be; keep fewer steps", path,
                    record_count(trace)));
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return write_whole(path, text, path);
  // A link keeps pointing where it did.
  const std::string target =
      std::filesystem::exists(status) ? std::filesystem::canonical(path, unknown).string() : path;
  const std::string beside = fmt::format("{}.{}.tmp", target, ::getpid());
  try {
    write_whole(beside, text, path);
    if (std::rename(beside.c_str(), target.c_str()) != 0) fail(path, "renaming the finished file failed");
  } catch (const WorldError&) {
    std::remove(beside.c_str());
    throw;
  }
}

}  // namespace orrery::schedule
