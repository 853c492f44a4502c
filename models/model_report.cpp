// Sums over the parameter lists of architecture.h, and their FLOPs divided by the sequence length.
#include "models/model_report.h"

#include <string_view>
#include <utility>

#include "base/check.h"

namespace orrery::models {
namespace {

constexpr std::int64_t weight_bytes_per_parameter = 2;
constexpr std::int64_t state_bytes_per_parameter = 18;

UnitReport unit_report(std::string unit, std::int64_t copies, std::vector<Parameter> parameters) {
  UnitReport report;
  report.unit = std::move(unit);
  report.copies = copies;
  report.count = count(parameters);
  report.parameters = std::move(parameters);
  report.weight_bytes_16bit = report.count * weight_bytes_per_parameter;
  report.state_bytes = report.count * state_bytes_per_parameter;
  return report;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The kind follows from the name that architecture.h gives the tensor.
std::int64_t& kind_of(ParametersByKind& kinds, std::string_view name) {
  if (name == "token") return kinds.token_embedding;
  if (name == "position") return kinds.position_embedding;
  if (contains(name, "norm")) return kinds.norms;
  if (name.starts_with("attention.")) return kinds.attention;
  if (name.starts_with("mlp.")) return kinds.mlp;
  if (name.starts_with("expert.")) return kinds.experts;
  if (name.starts_with("router") || name == "shared_gate") return kinds.routers;
  CHECK(name.starts_with("output"), name);
  return kinds.output;
}

ParametersByKind by_kind(const std::vector<UnitReport>& units) {
  ParametersByKind kinds;
  for (const UnitReport& unit : units)
    for (const Parameter& p : unit.parameters) kind_of(kinds, p.name) += unit.copies * p.count();
  return kinds;
}

TokenFlops token_flops(const Architecture& a, std::int64_t s) {
  const FlopsOfSequence sequence = forward_flops_by_part(a, s, a.vocab);
  const double per_token = 1.0 / static_cast<double>(s);
  TokenFlops f;
  f.projections = sequence.projections * per_token;
  f.mlp = sequence.mlp * per_token;
  f.head = sequence.head * per_token;
  f.attention_full = sequence.attention_square * per_token;
  f.attention_causal = 0.5 * f.attention_full;
  f.forward_full = f.projections + f.mlp + f.head + f.attention_full;
  f.forward_causal = f.projections + f.mlp + f.head + f.attention_causal;
  f.training_full = 3.0 * f.forward_full;
  f.training_causal = 3.0 * f.forward_causal;
  return f;
}

}  // namespace

std::int64_t ParametersByKind::total() const {
  return token_embedding + position_embedding + attention + mlp + experts + routers + norms + output;
}

ModelReport report_model(const Architecture& a, std::int64_t sequence_length) {
  CHECK(sequence_length >= 1, sequence_length);
  ModelReport report;
  report.architecture = a;
  report.units.push_back(unit_report("embedding", 1, embedding_parameters(a, a.vocab)));
  const std::int64_t sparse = expert_layers(a);
  if (a.layers > sparse) report.units.push_back(unit_report("layer", a.layers - sparse, layer_parameters(a)));
  if (sparse > 0) {
    report.units.push_back(unit_report("layer with experts", sparse, expert_layer_parameters(a)));
    std::vector<Parameter> one = expert_parameters(a);
    for (Parameter& p : one) p.name = "expert." + p.name;
    report.units.push_back(unit_report("expert", sparse * a.experts.count, std::move(one)));
  }
  report.units.push_back(unit_report("head", 1, head_parameters(a, a.vocab)));
  report.by_kind = by_kind(report.units);
  report.parameters = parameter_count(a);
  report.active_parameters = active_parameter_count(a);
  report.prediction_parameters = prediction_parameter_count(a);
  report.sequence_length = sequence_length;
  report.flops_per_token = token_flops(a, sequence_length);
  return report;
}

}  // namespace orrery::models
