// Vector clocks, one component a stream (Lamport; Mattern 1989): an op that starts with clock c comes after
// the n-th op of stream t exactly if c[t] >= n. Every atom of a buffer instance (verify/regions.h) keeps its
// last write and the last read of every stream. The step is walked twice, as a step follows the last one
// without a barrier. A member of a group starts with the clock of the group's beginning and the events
// awaited so far; this leaves out only order that later members' events would add. A transfer counts as done
// when it ended on this rank. Cost: O(accesses x atoms of a view), 52 bytes an atom and instance.
#include "schedule/verify/races.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "schedule/text/op.h"
#include "schedule/verify/regions.h"

namespace orrery::schedule {
namespace {

using Clock = std::array<std::uint32_t, kStreams>;

void join(Clock& into, const Clock& other) {
  for (std::size_t s = 0; s < kStreams; ++s) into[s] = std::max(into[s], other[s]);
}

struct Atom {
  std::uint32_t write = 0;    // its number on its stream, from 1; 0: none
  std::uint16_t readers = 0;  // streams that read it since, a bit each
  std::uint8_t write_stream = 0;
  bool written = false;  // since the allocation
  Clock reads;           // the last read of each of them
};
static_assert(kStreams <= 16, "a bit a stream");

// One op on its way through the check.
struct Current {
  std::uint32_t step = 0;
  std::size_t stream = 0;
  std::uint32_t number = 0;  // on its stream
  const Clock& clock;        // what is surely before it
  bool after(std::size_t other_stream, std::uint32_t other_number) const {
    const bool itself = other_stream == stream && other_number == number;
    return itself || clock[other_stream] >= other_number;
  }
};

class RaceChecker {
 public:
  RaceChecker(const Schedule& schedule, std::size_t index, std::int64_t rank, const Walk& walk,
              std::uint64_t most_atoms, Findings& findings)
      : p_(*walk.program),
        index_(index),
        walk_(walk),
        most_atoms_(most_atoms),
        findings_(findings),
        regions_(cut_regions(schedule, p_, rank)) {}

  void run() {
    if (!prepare()) return;
    pass();
    check_nothing_left();
    if (!found_) pass();
  }

 private:
  bool prepare() {
    std::uint64_t atoms = 0;
    if (regions_.complete)
      for (const InstanceName& n : walk_.instances) {
        first_atom_.push_back(static_cast<std::uint32_t>(atoms));
        atoms += regions_.atoms_of_buffer[n.buffer];
        if (atoms > most_atoms_) break;
      }
    if (!regions_.complete || atoms > most_atoms_) {
      findings_.add_unchecked(fmt::format(
          "program {} has too many distinct views or buffer instances to check for races", as_name(p_.name)));
      return false;
    }
    atoms_.resize(atoms);
    events_.resize(walk_.instances.size());
    alive_.assign(walk_.instances.size(), 0);
    for (std::uint32_t id = 0; id < walk_.instances.size(); ++id) {
      if (!p_.buffers[walk_.instances[id].buffer].persistent) continue;
      alive_[id] = 1;
      for (Atom& atom : atoms_of(id)) atom.written = true;
    }
    return true;
  }

  std::span<Atom> atoms_of(std::uint32_t id) {
    return {atoms_.data() + first_atom_[id], regions_.atoms_of_buffer[walk_.instances[id].buffer]};
  }

  void pass() {
    for (std::uint32_t step = 0; step < walk_.steps.size(); ++step) visit(step);
  }

  void visit(std::uint32_t step) {
    const Op& op = walk_.op(step);
    const auto stream = static_cast<std::size_t>(op.stream);
    Clock& clock = clocks_[stream];  // in a group: as it began, and the events awaited since
    for (const std::uint16_t wait : p_.waits_of(op)) join(clock, events_[walk_.id(step, wait)]);
    const Current now{step, stream, ++issued_[stream], clock};
    touch(op, now);
    if (!op.grouped) clock[now.stream] = now.number;
    if (op.record != kNoFormal) {
      Clock& event = events_[walk_.id(step, op.record)];
      event = clock;
      event[now.stream] = now.number;
    }
    if (op.kind == OpKind::host_wait)
      for (Clock& other : clocks_) join(other, clock);
  }

  void touch(const Op& op, const Current& now) {
    const auto views = p_.views_of(op);
    for (const View& v : views)
      if (v.allocates) allocate(v, now);
    for (const View& v : views)
      if (v.count() > 0) access(v, now);
    for (const View& v : views)
      if (v.frees) free(v, now);
  }

  void allocate(const View& v, const Current& now) {
    const std::uint32_t id = walk_.id(now.step, v.formal);
    if (alive_[id] != 0) fault("allocated twice", v, now, "allocates {}, which is allocated already");
    alive_[id] = 1;
    for (Atom& atom : atoms_of(id)) atom.written = false;
  }

  void access(const View& v, const Current& now) {
    const std::uint32_t id = walk_.id(now.step, v.formal);
    if (alive_[id] == 0) fault("used without memory", v, now, "uses {}, which is not allocated");
    const std::span<Atom> atoms = atoms_of(id);
    for (const std::uint32_t a : regions_.of(static_cast<std::size_t>(&v - p_.views.data()))) {
      Atom& atom = atoms[a];
      if (v.access != Access::write) read(atom, v, now);
      if (v.access != Access::read) write(atom, v, now);
    }
  }

  void read(Atom& atom, const View& v, const Current& now) {
    if (!atom.written)
      fault("read before written", v, now, "reads {}, of which that part is not written yet");
    if (!now.after(atom.write_stream, atom.write))
      race("read races with write", v, now, "reads {} while {} may still be writing it", atom.write_stream,
           atom.write);
    atom.reads[now.stream] = now.number;
    atom.readers = static_cast<std::uint16_t>(atom.readers | (1U << now.stream));
  }

  // The streams of which a read of the atom may not be over.
  template <typename Visit>
  static void each_open_read(const Atom& atom, const Current& now, Visit&& visit) {
    for (unsigned left = atom.readers; left != 0; left &= left - 1) {
      const auto stream = static_cast<std::size_t>(std::countr_zero(left));
      if (!now.after(stream, atom.reads[stream])) visit(stream, atom.reads[stream]);
    }
  }

  void write(Atom& atom, const View& v, const Current& now) {
    if (!now.after(atom.write_stream, atom.write))
      race("two writes race", v, now, "writes {} while {} may still be writing it", atom.write_stream,
           atom.write);
    each_open_read(atom, now, [&](std::size_t stream, std::uint32_t number) {
      race("write races with read", v, now, "writes {} while {} may still be reading it", stream, number);
    });
    atom.readers = 0;
    atom.write = now.number;
    atom.write_stream = static_cast<std::uint8_t>(now.stream);
    atom.written = true;
  }

  void free(const View& v, const Current& now) {
    const std::uint32_t id = walk_.id(now.step, v.formal);
    if (alive_[id] == 0) fault("freed without memory", v, now, "frees {}, which is not allocated");
    alive_[id] = 0;
    for (const Atom& atom : atoms_of(id)) {
      if (!now.after(atom.write_stream, atom.write))
        race("freed in use", v, now, "frees {} while {} may still be writing it", atom.write_stream,
             atom.write);
      each_open_read(atom, now, [&](std::size_t stream, std::uint32_t number) {
        race("freed in use", v, now, "frees {} while {} may still be reading it", stream, number);
      });
    }
  }

  void check_nothing_left() {
    for (std::uint32_t id = 0; id < walk_.instances.size(); ++id) {
      const std::uint32_t buffer = walk_.instances[id].buffer;
      if (alive_[id] == 0 || p_.buffers[buffer].persistent) continue;
      found("left allocated", p_.views.size() + buffer,
            fmt::format("leaves {} allocated at the end of the step", walk_.instance_text(id)));
    }
  }

  void found(std::string_view kind, std::size_t place, const std::string& text) {
    found_ = true;
    if (findings_.is_new(kind, index_, place))
      findings_.add(fmt::format("program {} {}", as_name(p_.name), text));
  }

  void fault(std::string_view kind, const View& v, const Current& now, std::string_view text) {
    found_ = true;
    if (!findings_.is_new(kind, index_, static_cast<std::size_t>(&v - p_.views.data()))) return;
    findings_.add(
        fmt::format("program {}: {} {}", as_name(p_.name), walk_.describe(now.step),
                    fmt::format(fmt::runtime(text), walk_.instance_text(walk_.id(now.step, v.formal)))));
  }

  void race(std::string_view kind, const View& v, const Current& now, std::string_view text,
            std::size_t stream, std::uint32_t number) {
    found_ = true;
    if (!findings_.is_new(kind, index_, static_cast<std::size_t>(&v - p_.views.data()))) return;
    const std::vector<std::uint32_t>& others = walk_.streams[stream];
    const std::uint32_t other = others[(number - 1) % others.size()];
    const bool last_step = number <= others.size() && now.number > walk_.streams[now.stream].size();
    findings_.add(
        fmt::format("program {}: {} {}", as_name(p_.name), walk_.describe(now.step),
                    fmt::format(fmt::runtime(text), walk_.instance_text(walk_.id(now.step, v.formal)),
                                walk_.describe(other))),
        {fmt::format("{} on stream {}", walk_.describe(now.step), name(static_cast<Stream>(now.stream))),
         fmt::format("{} on stream {}{}: no event orders them", walk_.describe(other),
                     name(static_cast<Stream>(stream)), last_step ? ", in the step before" : "")});
  }

  const Program& p_;
  std::size_t index_;
  const Walk& walk_;
  std::uint64_t most_atoms_;
  Findings& findings_;
  Regions regions_;
  std::vector<std::uint32_t> first_atom_;
  std::vector<Atom> atoms_;
  std::vector<Clock> events_;
  std::vector<char> alive_;
  std::array<Clock, kStreams> clocks_{};
  Clock issued_{};
  bool found_ = false;
};

}  // namespace

void check_races(const Schedule& schedule, std::size_t program, std::int64_t rank, const Walk& walk,
                 std::uint64_t most_atoms, Findings& findings) {
  RaceChecker(schedule, program, rank, walk, most_atoms, findings).run();
}

}  // namespace orrery::schedule
