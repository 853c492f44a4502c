#include "scenarios/copies.h"

#include <fmt/format.h>

namespace orrery::scenarios {

std::string why_copies_drift(const Scenario& s) {
  const Parallel& p = s.parallel;
  if (p.replicas() == 1 || s.compression.top_k <= 0.0 || s.compression.top_k >= 1.0) return {};
  if (p.tp > 1)
    return fmt::format("the tp={} ranks that share norms and biases each select their own top_k={} of the gradients", p.tp,
                       s.compression.top_k);
  const bool first_has_more = models::embedding_parameters(s.model, s.vocab_rows()).size() > 1;
  if (s.model.tied_embeddings && p.pp > 1 && first_has_more)
    return fmt::format("the first and the last of pp={} stages share the tied embedding, and the first selects its "
                       "top_k={} of the gradients among positions or norms, too", p.pp, s.compression.top_k);
  return {};
}

}  // namespace orrery::scenarios
