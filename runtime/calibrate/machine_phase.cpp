#include "runtime/calibrate/machine_phase.h"

#include <array>
#include <map>
#include <string>

#include "runtime/calibrate/journal_lines.h"
#include "runtime/calibrate/lane_costs.h"

namespace orrery::runtime {
namespace {

struct Named {
  const char* name;
  double* value;
};

std::array<Named, 8> named(MachineNumbers& n) {
  return {{{"product.fp32", &n.ceilings.fp32_flops},
           {"product.bf16", &n.ceilings.bf16_flops},
           {"product.fp16", &n.ceilings.fp16_flops},
           {"copy.alone", &n.ceilings.copy_alone},
           {"copy.together", &n.ceilings.copy_together},
           {"op_overhead", &n.op_overhead_s},
           {"beside.product", &n.product_beside},
           {"beside.addition", &n.addition_beside}}};
}

bool take_over(const Journal& journal, MachineNumbers& numbers) {
  std::map<std::string, double> known;
  for (const Journal::Block& block : journal.earlier())
    for (const std::string& line : block)
      if (is_line(line, "number")) {
        const NumberLine read = read_number_line(line);
        known[read.name] = read.value;
      }
  for (const Named& n : named(numbers)) {
    if (!known.contains(n.name)) return false;
    *n.value = known[n.name];
  }
  return true;
}

}  // namespace

MachineNumbers machine_numbers(std::int64_t ranks, double seconds, Journal& journal,
                               const std::atomic<bool>& stop, Progress& progress) {
  MachineNumbers numbers;
  if (take_over(journal, numbers)) return numbers;
  progress.show("machine", 0.0, "products and copies");
  numbers.ceilings = measure_ceilings(ranks, 0.5 * seconds, stop);
  progress.show("machine", 0.5, "what an op costs");
  numbers.op_overhead_s = measure_op_overhead(0.2 * seconds);
  if (ranks > 1) {
    progress.show("machine", 0.7, "kernels beside transfers");
    const Interferences beside = measure_interference(ranks, 0.3 * seconds);
    numbers.product_beside = beside.product.factor();
    numbers.addition_beside = beside.addition.factor();
  }
  if (stop.load()) return numbers;  // cut short: measured again next time
  Journal::Block block;
  for (const Named& n : named(numbers)) block.push_back(write_line(NumberLine{n.name, *n.value}));
  journal.append(block);
  return numbers;
}

}  // namespace orrery::runtime
