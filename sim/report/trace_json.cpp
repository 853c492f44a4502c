// Tracks: one per rank and stream. Ops that are grouped on a stream run side by side, so the second, third,
// ... of a group have a track of their own beside the stream's. Slices: one per op; before a transfer, one
// named "wait" from when its own side was ready until all were. Arrows: from a send to its receive, and from
// the lowest-ranked member of a collective to the others, found by counting (the n-th message between two
// ranks is the n-th on both sides; the n-th collective of a group on every member). Memory: live bytes change
// in host issue order, which has no time of its own; each change is shown when its op starts, never earlier
// than the change before it.
#include "sim/report/trace_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <tuple>
#include <vector>

#include "schedule/memory.h"

namespace orrery::sim {
namespace {

using schedule::Op;
using schedule::Program;

std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      quoted += c;
  }
  return quoted + "\"";
}

class TraceWriter {
 public:
  TraceWriter(std::ostream& out, const schedule::Schedule& schedule, const SimulationResult& simulation)
      : out_(out), schedule_(schedule), simulation_(simulation) {}

  void write(const TraceJsonOptions& options) {
    choose_ranks(options.all_ranks);
    for (const TraceRecord& r : simulation_.trace)
      if (ranks_.count(r.rank) != 0) origin_ps_ = std::min(origin_ps_, r.start.ps());
    out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    for (const std::int64_t rank : ranks_) write_names(rank);
    write_ops();
    for (const std::int64_t rank : ranks_) write_memory(rank);
    out_ << "\n]}\n";
  }

 private:
  // Records are ordered by (end, rank, op); the first rank of each program in rank order stands for it.
  void choose_ranks(bool all) {
    std::map<std::int64_t, std::int64_t> first_of_program;
    for (const TraceRecord& r : simulation_.trace) {
      if (all) {
        ranks_.insert(r.rank);
        continue;
      }
      const std::int64_t program = schedule_.program_group.index(r.rank);
      const auto known = first_of_program.emplace(program, r.rank).first;
      known->second = std::min(known->second, r.rank);
    }
    for (const auto& [program, rank] : first_of_program) ranks_.insert(rank);
  }

  void event(const std::string& text) {
    out_ << (first_ ? "" : ",\n") << text;
    first_ = false;
  }

  double us(std::int64_t ps) const { return static_cast<double>(ps - origin_ps_) * 1e-6; }

  void write_names(std::int64_t rank) {
    const Program& program = schedule_.program_of(rank);
    event(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", rank,
                      json_text(fmt::format("rank {} ({})", rank, program.name))));
    event(fmt::format(R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})", rank,
                      rank));
  }

  void write_track(std::int64_t rank, std::size_t track) {
    if (!tracks_.emplace(rank, track).second) return;
    const auto stream = static_cast<schedule::Stream>(track / kLanes);
    std::string text(schedule::name(stream));
    if (track % kLanes > 0) text += fmt::format(" (grouped {})", track % kLanes + 1);
    event(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})", rank,
                      track, json_text(text)));
    event(
        fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
                    rank, track, track));
  }

  // The track of the next op of a rank in host issue order: its stream's, or the one of its place in its
  // group.
  std::size_t track_of(const TraceRecord& r, const Op& op) {
    StreamPlace& place = places_[{r.rank, op.stream}];
    place.lane = place.grouped ? place.lane + 1 : 0;
    place.grouped = op.grouped;
    const std::size_t track = static_cast<std::size_t>(op.stream) * kLanes + std::min(place.lane, kLanes - 1);
    write_track(r.rank, track);
    return track;
  }

  // In host issue order per rank, so that messages can be counted.
  void write_ops() {
    std::vector<const TraceRecord*> records;
    for (const TraceRecord& r : simulation_.trace)
      if (ranks_.count(r.rank) != 0) records.push_back(&r);
    std::sort(records.begin(), records.end(), [](const TraceRecord* a, const TraceRecord* b) {
      return std::tie(a->rank, a->op) < std::tie(b->rank, b->op);
    });
    for (const TraceRecord* r : records) {
      const Program& program = schedule_.program_of(r->rank);
      const Op& op = program.ops[r->op_in_program];
      const std::size_t track = track_of(*r, op);
      write_slice(*r, program, op, track);
      if (schedule::is_communication(op.kind)) remember_side(*r, op, track);
      starts_[r->rank].emplace_back(r->op, r->start.ps());
    }
    write_arrows();
  }

  void write_slice(const TraceRecord& r, const Program& program, const Op& op, std::size_t tid) {
    const std::int64_t ready = std::max(r.ready.ps(), origin_ps_);
    if (schedule::is_communication(op.kind) && r.start.ps() > ready)
      event(
          fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{:.6f},"dur":{:.6f},"name":"wait","cat":"wait"}})",
                      r.rank, tid, us(ready), static_cast<double>(r.start.ps() - ready) * 1e-6));
    const schedule::Call& call = program.calls[r.call];
    event(fmt::format(
        R"({{"ph":"X","pid":{},"tid":{},"ts":{:.6f},"dur":{:.6f},"name":{},"cat":{},"args":{{"block":{},"unit":{},"microbatch":{},"op":{}}}}})",
        r.rank, tid, us(r.start.ps()), static_cast<double>((r.end - r.start).ps()) * 1e-6,
        json_text(schedule::name(op.kind)), json_text(schedule::name(op.phase)),
        json_text(program.block(call).name), call.unit, r.microbatch, r.op));
  }

  struct Side {
    std::int64_t rank;
    std::size_t tid;
    std::int64_t start, end;
    bool begins_arrow;
  };

  // Point to point: (from, to, group, site); collective: (first member, -1, group, 0).
  void remember_side(const TraceRecord& r, const Op& op, std::size_t track) {
    const schedule::Group& group = schedule_.groups[op.group];
    if (group.size < 2 || !group.contains(r.rank)) return;
    Key key{group.first(r.rank), -1, op.group, 0};
    bool begins = false;
    if (schedule::is_point_to_point(op.kind)) {
      begins = op.kind == schedule::OpKind::send;
      const std::int64_t peer =
          group.member(r.rank, ((group.index(r.rank) + op.peer) % group.size + group.size) % group.size);
      key = begins ? Key{r.rank, peer, op.group, op.site} : Key{peer, r.rank, op.group, op.site};
    } else {
      std::get<3>(key) = static_cast<int>(op.stream);
    }
    const std::int64_t n = counts_[{r.rank, key}]++;
    meetings_[{key, n}].push_back({r.rank, track, r.start.ps(), r.end.ps(), begins});
  }

  void write_arrows() {
    std::int64_t id = 0;
    for (auto& [key, sides] : meetings_) {
      if (sides.size() < 2) continue;
      std::stable_sort(sides.begin(), sides.end(),
                       [](const Side& a, const Side& b) { return a.begins_arrow > b.begins_arrow; });
      for (std::size_t i = 1; i < sides.size(); ++i, ++id) {
        write_arrow("s", "", id, sides[0], sides[0].start);
        write_arrow("f", R"("bp":"e",)", id, sides[i], sides[i].start + (sides[i].end - sides[i].start) / 2);
      }
    }
  }

  void write_arrow(const char* phase, const char* binding, std::int64_t id, const Side& side,
                   std::int64_t at) {
    event(fmt::format(
        R"({{"ph":"{}",{}"id":{},"pid":{},"tid":{},"ts":{:.6f},"name":"transfer","cat":"transfer"}})", phase,
        binding, id, side.rank, side.tid, us(at)));
  }

  void write_memory(std::int64_t rank) {
    const std::vector<std::pair<std::uint32_t, std::int64_t>>& starts = starts_[rank];
    std::size_t next = 0;
    std::int64_t now = origin_ps_;
    for (const schedule::MemoryStep& step :
         schedule::memory_timeline(schedule_.program_of(rank), ~std::uint32_t{0})) {
      for (; next < starts.size() && starts[next].first <= step.host_index; ++next)
        now = std::max(now, starts[next].second);
      event(fmt::format(R"({{"ph":"C","pid":{},"ts":{:.6f},"name":"live bytes","args":{{"bytes":{}}}}})",
                        rank, us(now), step.live));
    }
  }

  struct StreamPlace {
    std::size_t lane = 0;
    bool grouped = false;  // the next op of the stream belongs to the same group
  };
  static constexpr std::size_t kLanes = 16;  // tracks of one stream; what is beyond shares the last

  using Key = std::tuple<std::int64_t, std::int64_t, std::uint8_t, int>;
  std::ostream& out_;
  const schedule::Schedule& schedule_;
  const SimulationResult& simulation_;
  std::set<std::int64_t> ranks_;
  std::int64_t origin_ps_ = INT64_MAX;
  bool first_ = true;
  std::set<std::pair<std::int64_t, std::size_t>> tracks_;  // named already
  std::map<std::pair<std::int64_t, schedule::Stream>, StreamPlace> places_;
  std::map<std::pair<std::int64_t, Key>, std::int64_t> counts_;
  std::map<std::pair<Key, std::int64_t>, std::vector<Side>> meetings_;
  std::map<std::int64_t, std::vector<std::pair<std::uint32_t, std::int64_t>>>
      starts_;  // by rank: (op, start)
};

}  // namespace

void write_trace_json(std::ostream& out, const schedule::Schedule& schedule,
                      const SimulationResult& simulation, const TraceJsonOptions& options) {
  TraceWriter(out, schedule, simulation).write(options);
}

}  // namespace orrery::sim
