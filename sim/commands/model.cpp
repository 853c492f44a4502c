// `model`: what there is to say about a model before there is a plan.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/quantities.h"
#include "models/model_report.h"
#include "models/zoo_reader.h"
#include "sim/commands/command.h"
#include "sim/commands/layer_activations.h"
#include "sim/commands/scenario_files.h"
#include "sim/report/text_layout.h"

namespace orrery::sim {
namespace {

using models::Architecture;
using models::ModelReport;
using Out = nlohmann::ordered_json;

struct ModelOptions {
  std::string file;
  std::int64_t sequence = 0, micro_batch = 1;
  bool json = false;
};

Architecture read_model(const std::string& path) {
  const Json json = scenarios::read_shipped_json(path);
  Diagnostics diagnostics;
  Architecture model = models::read_architecture(json, diagnostics);
  diagnostics.throw_if_errors();
  return model;
}

std::string grouped(std::int64_t number) {
  std::string text = fmt::format("{}", number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string attention_words(const Architecture& a) {
  if (a.latent.kv_rank > 0)
    return fmt::format("latent attention of rank {}, {} heads of {} + {}, values of {}", a.latent.kv_rank, a.heads,
                       a.latent.nope_dim, a.latent.rope_dim, a.latent.value_dim);
  const char* kind = a.kv_heads == a.heads ? "multi-head" : a.kv_heads == 1 ? "multi-query" : "grouped-query";
  return fmt::format("{} attention, {} heads of {}{}", kind, a.heads, a.head_dim,
                     a.kv_heads == a.heads ? "" : fmt::format(", {} key-value heads", a.kv_heads));
}

std::string expert_words(const Architecture& a) {
  const models::Experts& e = a.experts;
  if (e.count == 0) return "";
  return fmt::format("  {} layers with {} experts of {}, {} a token{}\n", models::expert_layers(a), e.count, e.ffn_hidden,
                     e.top_k,
                     e.shared_ffn_hidden > 0 ? fmt::format(", and shared ones of {}", e.shared_ffn_hidden) : "");
}

std::vector<std::vector<std::string>> kind_rows(const ModelReport& r) {
  const models::ParametersByKind& k = r.by_kind;
  std::vector<std::vector<std::string>> rows = {{"parameters", grouped(r.parameters), ""}};
  if (r.active_parameters != r.parameters) rows.push_back({"active", grouped(r.active_parameters), ""});
  const auto add = [&](const char* what, std::int64_t count) {
    if (count > 0)
      rows.push_back({fmt::format("  {}", what), grouped(count),
                      percent_text(static_cast<double>(count) / static_cast<double>(r.parameters))});
  };
  add("token embedding", k.token_embedding);
  add("position embedding", k.position_embedding);
  add("attention", k.attention);
  add("MLP", k.mlp);
  add("experts", k.experts);
  add("routers", k.routers);
  add("norms", k.norms);
  add("output", k.output);
  if (r.prediction_parameters > 0)
    rows.push_back({"prediction modules, besides", grouped(r.prediction_parameters), ""});
  return rows;
}

std::vector<std::vector<std::string>> flop_rows(const ModelReport& r) {
  const models::TokenFlops& f = r.flops_per_token;
  const auto row = [](const char* what, double flops) {
    return std::vector<std::string>{what, fmt::format("{} FLOP", human_count(flops))};
  };
  return {row("forward", f.forward_full),
          row("  projections", f.projections),
          row("  attention, whole square", f.attention_full),
          row("  MLP", f.mlp),
          row("  output", f.head),
          row("training (x 3)", f.training_full),
          row("training, causal attention", f.training_causal)};
}

std::vector<std::vector<std::string>> memory_rows(const ModelReport& r) {
  std::vector<std::vector<std::string>> rows = {{"of one", "copies", "parameters", "weights", "states"}};
  for (const models::UnitReport& unit : r.units)
    rows.push_back({unit.unit, grouped(unit.copies), grouped(unit.count),
                    human_bytes(Bytes(unit.weight_bytes_16bit)), human_bytes(Bytes(unit.state_bytes))});
  return rows;
}

struct Activations {
  std::optional<LayerActivations> known;
  std::string why_not;  // a model of which there is no legal plan, say for its odd dimensions
};

Activations activations_of(const Architecture& a, const ActivationQuestion& question) {
  try {
    return {layer_activations(a, question), ""};
  } catch (const InputError& error) {
    return {std::nullopt, error.what()};
  }
}

std::string activation_text(const Activations& activations) {
  if (!activations.known)
    return "  not known, because it cannot be trained as it is:\n" + activations.why_not;
  return table_text({{"fused attention", human_bytes(activations.known->kept)},
                     {"separate attention kernels", human_bytes(activations.known->kept_separate)}});
}

std::string text_of(const ModelReport& r, const ModelOptions& o, const Activations& activations) {
  const Architecture& a = r.architecture;
  std::string text =
      fmt::format("{}\n  {} layers of {}, {}\n", a.name, a.layers, a.hidden, attention_words(a));
  text += fmt::format("  MLP of {}{}, vocabulary {}{}\n{}\nParameters\n", a.ffn_hidden,
                      models::gated(a.activation) ? ", gated" : "", grouped(a.vocab),
                      a.tied_embeddings ? ", output tied to the embedding" : "", expert_words(a));
  text += table_text(kind_rows(r));
  text += fmt::format("\nModel FLOPs of a token in a sequence of {}\n", r.sequence_length);
  text += table_text(flop_rows(r));
  text += "\nMemory, unsharded: weights at 2 B, states at 18 B a parameter (weights, fp32 gradients, Adam)\n";
  text += table_text(memory_rows(r));
  text += fmt::format(
      "\nActivations that one layer keeps for its backward, micro-batch {} x {} tokens, no recomputation\n",
      o.micro_batch, r.sequence_length);
  text += activation_text(activations);
  return text;
}

Out flops_json(const models::TokenFlops& f) {
  return {{"forward", f.forward_full},
          {"forward_causal", f.forward_causal},
          {"training", f.training_full},
          {"training_causal", f.training_causal},
          {"projections", f.projections},
          {"attention", f.attention_full},
          {"mlp", f.mlp},
          {"output", f.head}};
}

Out json_of(const ModelReport& r, const ModelOptions& o, const Activations& activations) {
  const models::ParametersByKind& k = r.by_kind;
  Out out = {{"schema_version", 1},
             {"name", r.architecture.name},
             {"parameters", r.parameters},
             {"active_parameters", r.active_parameters},
             {"prediction_parameters", r.prediction_parameters}};
  out["parameters_by_kind"] = {{"token_embedding", k.token_embedding},
                               {"position_embedding", k.position_embedding},
                               {"attention", k.attention},
                               {"mlp", k.mlp},
                               {"experts", k.experts},
                               {"routers", k.routers},
                               {"norms", k.norms},
                               {"output", k.output}};
  out["units"] = Out::array();
  for (const models::UnitReport& unit : r.units) {
    Out each = {{"unit", unit.unit},
                {"copies", unit.copies},
                {"parameters", unit.count},
                {"weight_bytes", unit.weight_bytes_16bit},
                {"state_bytes", unit.state_bytes},
                {"tensors", Out::array()}};
    for (const models::Parameter& p : unit.parameters)
      each["tensors"].push_back({{"name", p.name}, {"rows", p.rows}, {"columns", p.columns}});
    out["units"].push_back(std::move(each));
  }
  out["sequence_length"] = r.sequence_length;
  out["micro_batch"] = o.micro_batch;
  out["flops_per_token"] = flops_json(r.flops_per_token);
  out["activation_bytes_per_layer"] = nullptr;
  if (activations.known)
    out["activation_bytes_per_layer"] = {{"fused_attention", activations.known->kept.count()},
                                         {"separate_attention", activations.known->kept_separate.count()}};
  return out;
}

// A learned position table is the longest sequence there can be.
std::int64_t sequence_of(const ModelOptions& o, const Architecture& a) {
  constexpr std::int64_t kUsual = 2048;
  const std::int64_t longest = a.max_positions > 0 ? a.max_positions : std::int64_t{1} << 40;
  if (o.sequence > longest)
    throw InputError(
        fmt::format("error: --sequence {} is longer than the model's {} positions\n  hint: at most {}\n",
                    o.sequence, longest, longest));
  return o.sequence > 0 ? o.sequence : std::min(kUsual, longest);
}

int model(const ModelOptions& o, Output& out) {
  const Architecture a = read_model(o.file);
  const ModelReport report = models::report_model(a, sequence_of(o, a));
  const Activations activations = activations_of(a, {report.sequence_length, o.micro_batch});
  if (o.json)
    out.write(json_of(report, o, activations).dump(2, ' ', false, Out::error_handler_t::replace) + "\n");
  else
    out.write(text_of(report, o, activations));
  return kFine;
}

}  // namespace

Action declare_model(CLI::App& app) {
  const auto o = std::make_shared<ModelOptions>();
  app.add_option("FILE", o->file, "A model file, or a Hugging Face config.json")->type_name("")->required();
  app.add_option("--sequence", o->sequence,
                 "Tokens of a sequence; by default 2048, or the model's positions if fewer")
      ->type_name("TOKENS")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24));
  app.add_option("--micro-batch", o->micro_batch, "Sequences at once, for activations; by default 1")
      ->type_name("SEQUENCES")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  app.add_flag("--json", o->json, "One JSON document, nothing else");
  return [o](Output& out) { return model(*o, out); };
}

}  // namespace orrery::sim
