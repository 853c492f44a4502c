#include "hardware/provenance.h"

#include <fmt/format.h>

#include "base/object_reader.h"

namespace orrery::hardware {

Provenance read_provenance(const Json& json, Diagnostics& diagnostics) {
  ObjectReader reader(json, diagnostics, "provenance");
  Provenance provenance;
  provenance.machine = reader.text("machine", std::nullopt);
  provenance.date = reader.text("date", std::nullopt);
  provenance.program = reader.text("program", std::nullopt);
  provenance.options = reader.text("options", "");
  if (const Json* notes = reader.child("notes"); notes != nullptr) {
    if (!notes->is_array())
      diagnostics.error(notes->place, "notes is no list", R"(a list of texts: ["..."])");
    for (const Json& note : notes->items) {
      if (note.is_string())
        provenance.notes.push_back(note.string);
      else
        diagnostics.error(note.place, "a note is no text", R"(write it as "...")");
    }
  }
  reader.finish();
  return provenance;
}

std::string provenance_json(const Provenance& p) {
  std::string text =
      fmt::format(R"({{"machine": {}, "date": {}, "program": {}, "options": {})", json_quoted(p.machine),
                  json_quoted(p.date), json_quoted(p.program), json_quoted(p.options));
  if (!p.notes.empty()) {
    text += ", \"notes\": [";
    for (std::size_t i = 0; i < p.notes.size(); ++i) text += (i == 0 ? "" : ", ") + json_quoted(p.notes[i]);
    text += "]";
  }
  return text + "}";
}

std::string words(const Provenance& p) {
  return fmt::format("{}; {}; {}{}{}", p.machine, p.date, p.program, p.options.empty() ? "" : " ", p.options);
}

}  // namespace orrery::hardware
