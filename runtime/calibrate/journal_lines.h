// The lines of a journal's blocks: what they say, and back. A line that cannot be read is InputError: the
// file was changed by hand.
#pragma once

#include <string>
#include <vector>

#include "hardware/transfer_table.h"
#include "schedule/kernel_key.h"

namespace orrery::runtime {

struct Timings {
  std::vector<double> seconds;
  std::int64_t disturbed = 0;  // the last so many of them
};

// "kernel NAME DIMS FLOPS BYTES busy|alone DISTURBED SECONDS ..."
struct KernelLine {
  schedule::KernelKey key;
  bool busy = false;
  Timings timings;
};
std::string write_line(const KernelLine& line);
KernelLine read_kernel_line(const std::string& line);

// "transfer OPERATION RANKS BYTES SECONDS ..."
struct TransferLine {
  hardware::TransferOperation operation = hardware::TransferOperation::all_reduce;
  std::int64_t ranks = 2, bytes = 0;
  Timings timings;
};
std::string write_line(const TransferLine& line);
TransferLine read_transfer_line(const std::string& line);

// "number NAME VALUE": one that is no median of many; the last one of a name counts.
struct NumberLine {
  std::string name;
  double value = 0.0;
};
std::string write_line(const NumberLine& line);
NumberLine read_number_line(const std::string& line);

bool is_line(const std::string& line, std::string_view word);  // "kernel", "transfer", "number", "visit"
std::string rest_of_line(const std::string& line);             // behind the first word

}  // namespace orrery::runtime
