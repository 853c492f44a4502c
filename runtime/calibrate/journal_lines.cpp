#include "runtime/calibrate/journal_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "base/diagnostics.h"

namespace orrery::runtime {
namespace {

class Words {
 public:
  explicit Words(const std::string& line) : line_(line), stream_(line) { text(); }  // past the line's kind

  std::string text() {
    std::string word;
    if (!(stream_ >> word)) refuse();
    return word;
  }
  double number() {
    double value = 0.0;
    if (!(stream_ >> value)) refuse();
    return value;
  }
  std::int64_t integer() {
    std::int64_t value = 0;
    if (!(stream_ >> value)) refuse();
    return value;
  }
  std::vector<double> numbers() {
    std::vector<double> all;
    for (double value = 0.0; stream_ >> value;) all.push_back(value);
    if (!stream_.eof()) refuse();
    return all;
  }
  [[noreturn]] void refuse() const {
    throw InputError(
        fmt::format("error: the journal of the calibration has a line that says nothing: {}\n"
                    "  hint: remove the journal, and calibrate again\n",
                    line_.substr(0, 120)));
  }

 private:
  const std::string& line_;
  std::istringstream stream_;
};

Timings read_timings(Words& words) {
  Timings timings;
  timings.disturbed = words.integer();
  timings.seconds = words.numbers();
  if (timings.disturbed < 0 || timings.disturbed > static_cast<std::int64_t>(timings.seconds.size()))
    words.refuse();
  for (const double seconds : timings.seconds)
    if (!(seconds >= 0.0)) words.refuse();
  return timings;
}

std::string write_timings(const Timings& timings) {
  return fmt::format("{} {:.4g}", timings.disturbed, fmt::join(timings.seconds, " "));
}

}  // namespace

std::string write_line(const KernelLine& line) {
  const auto dims = line.key.dims.begin();
  return fmt::format("kernel {} {} {} {} {} {}", line.key.name,
                     fmt::join(dims, dims + static_cast<std::ptrdiff_t>(line.key.dim_count), ","),
                     line.key.flops, line.key.bytes, line.busy ? "busy" : "alone",
                     write_timings(line.timings));
}

KernelLine read_kernel_line(const std::string& line) {
  Words words(line);
  KernelLine read;
  read.key.name = words.text();
  std::istringstream dims(words.text());
  for (std::string dim; std::getline(dims, dim, ',');) {
    if (read.key.dim_count == schedule::kMaxKernelDims || dim.empty() ||
        dim.find_first_not_of("0123456789") != std::string::npos || dim.size() > 16)
      words.refuse();
    read.key.dims[read.key.dim_count++] = std::stoll(dim);
  }
  read.key.flops = words.number();
  read.key.bytes = words.number();
  const std::string how = words.text();
  if (how != "busy" && how != "alone") words.refuse();
  read.busy = how == "busy";
  read.timings = read_timings(words);
  return read;
}

std::string write_line(const TransferLine& line) {
  return fmt::format("transfer {} {} {} {}", hardware::name(line.operation), line.ranks, line.bytes,
                     write_timings(line.timings));
}

TransferLine read_transfer_line(const std::string& line) {
  Words words(line);
  TransferLine read;
  const std::string operation = words.text();
  bool known = false;
  for (std::size_t o = 0; o < hardware::kTransferOperations; ++o) {
    if (hardware::name(static_cast<hardware::TransferOperation>(o)) != operation) continue;
    read.operation = static_cast<hardware::TransferOperation>(o);
    known = true;
  }
  if (!known) words.refuse();
  read.ranks = words.integer();
  read.bytes = words.integer();
  read.timings = read_timings(words);
  return read;
}

std::string write_line(const NumberLine& line) { return fmt::format("number {} {}", line.name, line.value); }

NumberLine read_number_line(const std::string& line) {
  Words words(line);
  NumberLine read;
  read.name = words.text();
  read.value = words.number();
  return read;
}

bool is_line(const std::string& line, std::string_view word) {
  return line.size() > word.size() && line.starts_with(word) && line[word.size()] == ' ';
}

std::string rest_of_line(const std::string& line) {
  const std::size_t space = line.find(' ');
  return space == std::string::npos ? "" : line.substr(space + 1);
}

}  // namespace orrery::runtime
