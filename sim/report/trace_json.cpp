// Tracks: one per rank and stream. Ops that are grouped on a stream run side by side, so the second, third,
// ... of a group have a track of their own beside the stream's. Slices: one per op; before a transfer, one
// named "wait" from when its own side was ready until all were. Arrows: from a send to its receive, and from
// the lowest-ranked member of a collective to the others (schedule/trace_meetings.h). Memory: live bytes
// change in host issue order, which has no time of its own; each change is shown when its op begins, never
// earlier than the change before it.
#include "sim/report/trace_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include "base/json.h"
#include "schedule/memory.h"
#include "schedule/trace_meetings.h"
#include "schedule/trace_ops.h"
#include "sim/metrics/simulated_trace.h"

namespace orrery::sim {
namespace {

using schedule::Op;
using schedule::Program;
using schedule::TraceRecord;

// One rank of one trace, as a process.
struct Process {
  std::int64_t id = 0, rank = 0;
  const schedule::RankTrace* records = nullptr;
  std::string name;
};

double us(std::int64_t ns) { return static_cast<double>(ns) * 1e-3; }

class Events {
 public:
  explicit Events(std::ostream& out) : out_(out) {
    out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  }
  void add(const std::string& text) {
    out_ << (first_ ? "" : ",\n") << text;
    first_ = false;
  }
  void end() { out_ << "\n]}\n"; }

 private:
  std::ostream& out_;
  bool first_ = true;
};

class ProcessWriter {
 public:
  ProcessWriter(Events& events, const schedule::Schedule& schedule, const Process& process)
      : events_(events),
        process_(process),
        program_(schedule.program_of(process.rank)),
        ops_(schedule::traced_ops(program_)) {}

  struct Side {
    std::int64_t process, rank;
    std::size_t track;
    std::int64_t begin, end;
    bool begins_arrow;
  };
  using Meetings = std::map<std::pair<std::int32_t, schedule::MeetingKey>, std::vector<Side>>;

  void write(const schedule::MeetingTable& table, Meetings& meetings) {
    write_name();
    for (const TraceRecord& r : process_.records->records) {
      const Op& op = program_.ops[ops_[r.op].op];
      const std::size_t track = track_of(op);
      write_slices(r, op, track);
      if (const auto key = table.find(process_.rank, r.op))
        meetings[{r.step, *key}].push_back(
            {process_.id, process_.rank, track, r.begin_ns, r.end_ns, op.kind == schedule::OpKind::send});
    }
    write_memory();
  }

 private:
  void write_name() {
    events_.add(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})",
                            process_.id, json_quoted(process_.name)));
    events_.add(fmt::format(R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})",
                            process_.id, process_.id));
  }

  // The track of the next op in host issue order: its stream's, or the one of its place in its group.
  std::size_t track_of(const Op& op) {
    StreamPlace& place = places_[op.stream];
    place.lane = place.grouped ? place.lane + 1 : 0;
    place.grouped = op.grouped;
    const std::size_t track = static_cast<std::size_t>(op.stream) * kLanes + std::min(place.lane, kLanes - 1);
    if (tracks_.insert(track).second) write_track(track);
    return track;
  }

  void write_track(std::size_t track) {
    std::string text(schedule::name(static_cast<schedule::Stream>(track / kLanes)));
    if (track % kLanes > 0) text += fmt::format(" (grouped {})", track % kLanes + 1);
    events_.add(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
                            process_.id, track, json_quoted(text)));
    events_.add(
        fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
                    process_.id, track, track));
  }

  void write_slices(const TraceRecord& r, const Op& op, std::size_t track) {
    const std::int64_t ready = std::max<std::int64_t>(r.ready_ns, 0);
    if (schedule::is_communication(op.kind) && r.begin_ns > ready)
      events_.add(
          fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"name":"wait","cat":"wait"}})",
                      process_.id, track, us(ready), us(r.begin_ns - ready)));
    const schedule::TracedOp& traced = ops_[r.op];
    const schedule::Call& call = program_.calls[traced.call];
    events_.add(fmt::format(
        R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"name":{},"cat":{},"args":{{"block":{},"unit":{},"microbatch":{},"op":{},"step":{}}}}})",
        process_.id, track, us(r.begin_ns), us(r.end_ns - r.begin_ns), json_quoted(schedule::name(op.kind)),
        json_quoted(schedule::name(op.phase)), json_quoted(program_.block(call).name), call.unit,
        traced.microbatch, r.op, r.step));
  }

  void write_memory() {
    const std::vector<schedule::MemoryStep> timeline = schedule::memory_timeline(program_, ~std::uint32_t{0});
    const std::vector<TraceRecord>& records = process_.records->records;
    std::int64_t now = 0;
    for (std::size_t next = 0; next < records.size();) {
      const std::int32_t step = records[next].step;
      for (const schedule::MemoryStep& change : timeline) {
        for (; next < records.size() && records[next].step == step && records[next].op <= change.host_index;
             ++next)
          now = std::max(now, records[next].begin_ns);
        events_.add(
            fmt::format(R"({{"ph":"C","pid":{},"ts":{:.3f},"name":"live bytes","args":{{"bytes":{}}}}})",
                        process_.id, us(now), change.live));
      }
      while (next < records.size() && records[next].step == step) ++next;
    }
  }

  struct StreamPlace {
    std::size_t lane = 0;
    bool grouped = false;  // the next op of the stream belongs to the same group
  };
  static constexpr std::size_t kLanes = 16;  // tracks of one stream; what is beyond shares the last

  Events& events_;
  const Process& process_;
  const Program& program_;
  std::vector<schedule::TracedOp> ops_;
  std::map<schedule::Stream, StreamPlace> places_;
  std::set<std::size_t> tracks_;  // named already
};

std::vector<Process> processes_of(const schedule::Schedule& schedule, const WrittenTrace& written,
                                  WrittenRanks ranks, std::int64_t first_id, std::int64_t id_step) {
  const schedule::Trace& trace = *written.trace;
  std::map<std::int64_t, const schedule::RankTrace*> by_rank;
  std::set<std::int64_t> programs;
  for (const schedule::RankTrace& rank : trace.ranks)  // ascending: the lowest rank stands for its program
    if (ranks != WrittenRanks::one_of_each_program ||
        programs.insert(schedule.program_group.index(rank.rank)).second)
      by_rank[rank.rank] = &rank;
  if (ranks == WrittenRanks::all)
    for (std::size_t rank = 0; rank < trace.representative.size(); ++rank)
      by_rank[static_cast<std::int64_t>(rank)] = by_rank.at(trace.representative[rank]);
  std::vector<Process> processes;
  for (const auto& [rank, records] : by_rank)
    processes.push_back({.id = first_id + rank * id_step,
                         .rank = rank,
                         .records = records,
                         .name = fmt::format("rank {}{}{} ({})", rank, written.word.empty() ? "" : " ",
                                             written.word, schedule.program_of(rank).name)});
  return processes;
}

class ArrowWriter {
 public:
  explicit ArrowWriter(Events& events) : events_(events) {}

  void write(ProcessWriter::Meetings& meetings) {
    for (auto& [key, sides] : meetings) {
      if (sides.size() < 2) continue;
      std::stable_sort(sides.begin(), sides.end(),
                       [](const ProcessWriter::Side& a, const ProcessWriter::Side& b) {
                         return a.begins_arrow > b.begins_arrow;
                       });
      for (std::size_t i = 1; i < sides.size(); ++i, ++id_) {
        write_end("s", "", sides[0], sides[0].begin);
        write_end("f", R"("bp":"e",)", sides[i], sides[i].begin + (sides[i].end - sides[i].begin) / 2);
      }
    }
  }

 private:
  void write_end(const char* phase, const char* binding, const ProcessWriter::Side& side, std::int64_t at) {
    events_.add(fmt::format(
        R"({{"ph":"{}",{}"id":{},"pid":{},"tid":{},"ts":{:.3f},"name":"transfer","cat":"transfer"}})", phase,
        binding, id_, side.process, side.track, us(at)));
  }

  Events& events_;
  std::int64_t id_ = 0;
};

}  // namespace

void write_trace_json(std::ostream& out, const schedule::Schedule& schedule,
                      std::span<const WrittenTrace> traces, WrittenRanks ranks) {
  const schedule::MeetingTable table(schedule);
  Events events(out);
  ArrowWriter arrows(events);
  const auto count = static_cast<std::int64_t>(traces.size());
  for (std::int64_t i = 0; i < count; ++i) {
    ProcessWriter::Meetings meetings;
    for (const Process& process :
         processes_of(schedule, traces[static_cast<std::size_t>(i)], ranks, i, count))
      ProcessWriter(events, schedule, process).write(table, meetings);
    arrows.write(meetings);
  }
  events.end();
}

void write_trace_json(std::ostream& out, const schedule::Schedule& schedule,
                      const SimulationResult& simulation, const TraceJsonOptions& options) {
  const schedule::Trace trace = to_trace(schedule, simulation);
  const WrittenTrace written{.trace = &trace, .word = {}};
  write_trace_json(out, schedule, {&written, 1},
                   options.all_ranks ? WrittenRanks::of_the_trace : WrittenRanks::one_of_each_program);
}

}  // namespace orrery::sim
