#include "sim/commands/csv_text.h"

#include <utility>

#include "sim/report/csv_result.h"

namespace orrery::sim {

CsvText parse_csv(std::string_view text) {
  CsvText csv;
  std::vector<std::string> record;
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',' || c == '\n') {
      record.push_back(std::exchange(field, {}));
      if (c == ',') continue;
      csv.records.push_back(std::exchange(record, {}));
      csv.whole = i + 1;
    } else if (c != '\r') {
      field += c;
    }
  }
  return csv;
}

std::string csv_record(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) line += (i == 0 ? "" : ",") + csv_field(fields[i]);
  return line + "\n";
}

}  // namespace orrery::sim
