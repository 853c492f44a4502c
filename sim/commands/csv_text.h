// Reads CSV (RFC 4180) as Orrery writes it: fields quoted where they must be, records ended by a newline. A
// text that stops in the middle of a record, as a killed program leaves it, is told from one that does not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::sim {

struct CsvText {
  std::vector<std::vector<std::string>> records;  // whole ones
  std::size_t whole = 0;  // bytes of the text that they fill; the rest is a torn record
};
CsvText parse_csv(std::string_view text);

// One record, with its newline.
std::string csv_record(const std::vector<std::string>& fields);

}  // namespace orrery::sim
