// Each rule reports into diagnostics of its own, which tells whether it holds.
#include "scenarios/rules.h"

#include "base/inherit.h"

namespace orrery::scenarios {

void apply(const std::vector<Rule>& rules, Draft& draft, Diagnostics& diagnostics) {
  for (const Rule& rule : rules) {
    if (!draft.knows(rule.needs)) continue;
    Diagnostics found;
    rule.check(draft, found);
    forward(found, diagnostics);
    if (!found.has_errors()) draft.known |= rule.gives;
  }
}

}  // namespace orrery::scenarios
