// One function per section of the file. Numbers are bounded here, so that what follows can multiply them.
#include "scenarios/reader.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "hardware/cluster_reader.h"
#include "models/zoo_reader.h"
#include "scenarios/section.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

// Bounds that keep every product downstream far from overflow; legality bounds the products themselves.
constexpr std::int64_t kWaysMax = 1'000'000;  // tp, pp, dp, vpp
constexpr std::int64_t kChunksMax = 127;      // chunks of a rank: messages are tagged with them
constexpr std::int64_t kGlobalBatchMax = 1'000'000'000;
constexpr std::int64_t kMicroBatchMax = 1'000'000;
constexpr std::int64_t kMicrobatchesMax = 1'000'000;
constexpr std::int64_t kSequenceMax = 16'777'216;
constexpr std::int64_t kTokensMax = 1'000'000'000'000'000;

bool is_auto(const Json* value) { return value != nullptr && value->is_string() && value->string == "auto"; }

// A number, or nothing where the file says "auto" or nothing.
std::optional<std::int64_t> number_or_auto(ObjectReader& r, std::string_view key, std::int64_t max) {
  const Json* value = r.child(key);
  if (value == nullptr || is_auto(value)) return std::nullopt;
  return r.integer(key, {.fallback = 1, .min = 1, .max = max});
}

void read_layers_per_stage(Draft& d, ObjectReader& r) {
  const Json* value = r.child("layers_per_stage");
  if (value == nullptr) return;
  if (value->is_string()) {
    d.split = r.choice<LayerSplit>(
        "layers_per_stage", LayerSplit::even,
        {{"even", LayerSplit::even},
         {"even_with_embedding", LayerSplit::even_with_embedding},
         {"balanced", LayerSplit::balanced},
         {"balanced_memory", LayerSplit::balanced_memory}});
    return;
  }
  if (!value->is_array()) {
    r.diagnostics().error(value->place, fmt::format("layers_per_stage is {}", kind_name(value->kind)),
                          "\"even\", \"even_with_embedding\", \"balanced\", \"balanced_memory\", or a list of one number "
                          "per virtual stage");
    return;
  }
  d.split = LayerSplit::listed;
  for (std::size_t i = 0; i < value->items.size(); ++i) {
    const Json& item = value->items[i];
    const std::int64_t least = i == 0 || i + 1 == value->items.size() ? 0 : 1;
    const bool good = item.kind == Json::Kind::integer && item.integer >= least && item.integer <= kWaysMax;
    if (!good)
      r.diagnostics().error(item.place, "a stage needs a whole number of layers",
                            "at least 1; the first and the last, which hold embedding and head, may have 0");
    d.layers_listed.push_back(good ? item.integer : 1);
  }
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == '-')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

// A permutation of tp, cp, dp, pp. Without cp, it stands in front of dp; ep, which re-cuts the others, may stand anywhere.
void read_order(Draft& d, ObjectReader& r) {
  const std::string text = r.text("order", "tp-cp-ep-dp-pp");
  std::vector<std::string> order;
  std::vector<std::string> seen;
  bool good = true;
  for (const std::string& word : split_words(text)) {
    const bool placed = word == "tp" || word == "cp" || word == "dp" || word == "pp";
    good = good && (placed || word == "ep") &&
           std::find(seen.begin(), seen.end(), word) == seen.end();
    seen.push_back(word);
    if (placed) order.push_back(word);
  }
  if (std::find(order.begin(), order.end(), "cp") == order.end())
    order.insert(std::find(order.begin(), order.end(), "dp"), "cp");
  if (good && order.size() == 4)
    d.order = order;
  else
    r.diagnostics().error(r.place("order"),
                          "order must name each of tp, dp and pp once, fastest-varying first",
                          "such as \"tp-cp-ep-dp-pp\" (the default) or \"tp-pp-dp\"");
}

void read_parallel(Draft& d, ObjectReader& r) {
  Parallel& p = d.scenario.parallel;
  p.tp = r.integer("tp", {.fallback = 1, .min = 1, .max = kWaysMax});
  p.pp = r.integer("pp", {.fallback = 1, .min = 1, .max = kWaysMax});
  p.cp = r.integer("cp", {.fallback = 1, .min = 1, .max = kWaysMax});
  p.context_method = r.choice<ContextMethod>("cp_method", policy_of(d.scenario.framework).context_method, context_words());
  p.ulysses = r.integer("ulysses", {.fallback = 1, .min = 1, .max = kWaysMax});
  p.ep = r.integer("ep", {.fallback = 1, .min = 1, .max = kWaysMax});
  p.etp = r.integer("etp", {.fallback = p.tp, .min = 1, .max = kWaysMax});
  p.sequence_parallel = r.boolean("sp", false);
  // Fully sharded is what FSDP is there for, unless its strategy says otherwise.
  const bool sharded = d.scenario.framework == Framework::fsdp || d.scenario.framework == Framework::fsdp1;
  const Json* sharding = d.json.find("sharding");
  const Json* strategy = sharding == nullptr ? nullptr : sharding->find("strategy");
  const bool whole = strategy != nullptr && strategy->is_string() && strategy->string == "no_shard";
  const int usual_zero = sharded && !whole ? 3 : 0;
  p.zero = static_cast<int>(r.integer("zero", {.fallback = usual_zero, .min = 0, .max = 3}));
  d.dp = number_or_auto(r, "dp", kWaysMax);
  if (d.dp) {
    d.scenario.parallel.dp = *d.dp;
    d.known |= kDpKnown;
  }
  d.vpp = number_or_auto(r, "vpp", kChunksMax);
  d.layers_per_virtual_stage = number_or_auto(r, "layers_per_virtual_stage", kWaysMax);
  if (r.has("schedule") && !is_auto(r.child("schedule")))
    d.schedule = r.choice<PipelineSchedule>("schedule", PipelineSchedule::one_f_one_b, schedule_words());
  if (r.has("in_flight")) p.in_flight = r.integer("in_flight", {.fallback = 0, .min = 1, .max = kWaysMax});
  read_layers_per_stage(d, r);
  read_order(d, r);
}

// "accumulation" and "microbatches" are two names of one number: microbatches of a data-parallel rank and
// step.
void read_batches(Draft& d, ObjectReader& r) {
  d.global_batch = number_or_auto(r, "global_batch", kGlobalBatchMax);
  d.micro_batch = number_or_auto(r, "micro_batch", kMicroBatchMax);
  d.accumulation = number_or_auto(r, "accumulation", kMicrobatchesMax);
  const std::optional<std::int64_t> same = number_or_auto(r, "microbatches", kMicrobatchesMax);
  if (same && d.accumulation && *same != *d.accumulation)
    r.diagnostics().error(r.place("microbatches"),
                          fmt::format("microbatches={} contradicts accumulation={}: they are one number",
                                      *same, *d.accumulation),
                          "leave one of them out");
  if (same && !d.accumulation) d.accumulation = same;
}

void read_precision(Draft& d, ObjectReader& r) {
  const char* one = "one of \"fp32\", \"tf32\", \"fp16\", \"bf16\", \"fp8\", \"fp4\"";
  const Json* value = r.child("precision");
  if (value != nullptr && value->is_array())
    r.diagnostics().error(value->place, "a run has one precision: fp16 and bf16 exclude each other", one);
  else
    d.scenario.training.precision =
        r.choice<hardware::Precision>("precision", hardware::Precision::bf16, precision_words());
  for (const char* flag : {"fp16", "bf16"})
    if (r.has(flag))
      r.diagnostics().error(r.place(flag),
                            fmt::format("\"{}\" is no field: the precision is one choice", flag),
                            fmt::format("write \"precision\": \"{}\"", flag));
}

constexpr double kLeastEpsilon = 1e-37;  // a normal number in fp32

// Of a running average, of which 1 - decay^step corrects the start: kernels have it in fp32, where 1 is no decay.
double decay(ObjectReader& r, const char* key, double fallback) {
  const double value = r.number(key, {.fallback = fallback, .min = 0.0, .max = 1.0});
  if (static_cast<float>(value) < 1.0F) return value;
  r.diagnostics().error(r.place(key), fmt::format("\"{}\" in training is {:.7g}: the average would never leave its start of 0", key, value),
                        "allowed: a number from 0 to 0.9999999");
  return fallback;
}

void read_optimizer_numbers(Training& t, ObjectReader& r) {
  t.optimizer = r.choice<Optimizer>("optimizer", Optimizer::adam, optimizer_words());
  t.clip_gradient_norm =
      r.number("clip_gradient_norm", {.fallback = t.clip_gradient_norm, .min = 0.0, .max = 1e30});
  t.learning_rate = r.number("learning_rate", {.fallback = t.learning_rate, .min = 0.0, .max = 1e6});
  t.weight_decay = r.number("weight_decay", {.fallback = t.weight_decay, .min = 0.0, .max = 1e6});
  t.beta1 = decay(r, "beta1", t.beta1);
  t.beta2 = decay(r, "beta2", t.beta2);
  // 0 / (sqrt(0) + 0) of a weight that has no gradient yet is no number.
  t.epsilon = r.number("epsilon", {.fallback = t.epsilon, .min = kLeastEpsilon, .max = 1.0});
}

// A number of layers of each virtual stage, or a list of one number per virtual stage.
void read_recompute_layers(Draft& d, ObjectReader& r) {
  const Json* value = r.child("recompute_layers");
  if (value == nullptr) return;
  if (!value->is_array()) {
    d.recompute_layers = r.integer("recompute_layers", {.fallback = 0, .min = 0, .max = kWaysMax});
    return;
  }
  for (const Json& item : value->items) {
    const bool good = item.kind == Json::Kind::integer && item.integer >= 0 && item.integer <= kWaysMax;
    if (!good)
      r.diagnostics().error(item.place, "a stage recomputes a whole number of layers", "0 or more, as many as it has at most");
    d.scenario.training.recompute_layers.push_back(good ? item.integer : 0);
  }
}

void read_training(Draft& d, ObjectReader& r) {
  Training& t = d.scenario.training;
  const Policy& policy = policy_of(d.scenario.framework);
  read_batches(d, r);
  t.sequence_length = r.integer("sequence_length", {.fallback = std::nullopt, .min = 1, .max = kSequenceMax});
  read_precision(d, r);
  read_optimizer_numbers(t, r);
  t.recompute = r.choice<Recompute>("recompute", Recompute::none, recompute_words());
  t.recompute_every = r.integer("recompute_every", {.fallback = 1, .min = 1, .max = kWaysMax});
  read_recompute_layers(d, r);
  t.dropout = r.number("dropout", {.fallback = d.scenario.model.dropout, .min = 0.0, .max = 0.999});
  t.attention_flops_causal = r.choice<bool>("attention_flops", false, {{"full", false}, {"causal", true}});
  t.tokens = r.integer("tokens", {.fallback = 0, .min = 0, .max = kTokensMax});
  t.vocab_divisible_by =
      r.integer("vocab_divisible_by", {.fallback = policy.vocab_divisible_by, .min = 1, .max = kWaysMax});
  t.seed = r.integer("seed", {.fallback = 1});
}

void read_expert_counts(ExpertLoad& e, ObjectReader& r) {
  const Json* value = r.child("counts");
  if (value == nullptr) return;
  bool good = value->is_array() && !value->items.empty();
  for (std::size_t i = 0; good && i < value->items.size(); ++i) {
    good = value->items[i].is_number() && value->items[i].number > 0.0;
    if (good) e.counts.push_back(value->items[i].number);
  }
  if (!good) r.diagnostics().error(value->place, "counts is no list of numbers above 0", "tokens of each expert, in proportion");
}

void read_experts(Draft& d, ObjectReader& r) {
  ExpertLoad& e = d.scenario.experts;
  e.balance = r.choice<Balance>("balance", Balance::balanced, balance_words());
  e.zipf_exponent = r.number("zipf_exponent", {.fallback = 1.0, .min = 0.0, .max = 10.0});
  read_expert_counts(e, r);
  e.capacity_factor =
      r.number("capacity_factor", {.fallback = d.scenario.model.experts.capacity_factor, .min = 0.0, .max = 1e6});
  e.dispatch = r.choice<Dispatch>("dispatch", Dispatch::pairs, dispatch_words());
  if ((e.balance == Balance::counts) != r.has("counts"))
    r.diagnostics().error(r.place("counts"), "counts and \"balance\": \"counts\" belong together", "give both or neither");
}

std::optional<double> number_if_there(ObjectReader& r, const char* key, double max) {
  if (!r.has(key)) return std::nullopt;
  return r.number(key, {.fallback = 0.0, .min = 0.0, .max = max});
}

void read_measured(Draft& d, ObjectReader& r) {
  Measured m;
  if (r.has("step_time")) m.step_time_s = r.duration("step_time", Duration{}).seconds();
  if (r.has("peak_memory"))
    m.peak_memory_bytes = static_cast<double>(r.bytes("peak_memory", Bytes{}).count());
  m.samples_per_s = number_if_there(r, "samples_per_s", 1e15);
  m.tokens_per_s_per_gpu = number_if_there(r, "tokens_per_s_per_gpu", 1e15);
  m.tflops_per_gpu = number_if_there(r, "tflops_per_gpu", 1e9);
  m.comm_fraction = number_if_there(r, "comm_fraction", 1.0);
  m.source = r.text("source", "");
  if (!m.step_time_s && !m.peak_memory_bytes && !m.samples_per_s && !m.tokens_per_s_per_gpu &&
      !m.tflops_per_gpu && !m.comm_fraction)
    r.diagnostics().error(
        r.place(), "measured holds no measurement",
        "state step_time, samples_per_s, tokens_per_s_per_gpu, tflops_per_gpu, peak_memory or "
        "comm_fraction, or leave it out");
  d.scenario.measured = m;
}

// Parts of the design that this version cannot simulate: silence would be a wrong answer.
void refuse_later_parts(ObjectReader& root) {
  for (const char* key : {"data", "checkpoint", "failures", "price"})
    if (root.has(key))
      root.diagnostics().error(root.place(key), fmt::format("\"{}\" is not supported yet", key),
                               "leave it out");
}

Framework read_framework(ObjectReader& root) {
  return root.choice<Framework>("framework", Framework::orrery, framework_words());
}

void read_model(Draft& d, ObjectReader& root, Diagnostics& diagnostics) {
  Diagnostics found;
  const Json& value = root.required("model");
  if (value.is_null()) return;
  const Json object = object_or_file(value, "model", found);
  if (object.is_object()) d.scenario.model = models::read_architecture(object, found);
  forward(found, diagnostics);
  if (!found.has_errors()) d.known |= kModelKnown;
}

void read_cluster(Draft& d, ObjectReader& root, Diagnostics& diagnostics) {
  Diagnostics found;
  const Json& value = root.required("cluster");
  if (value.is_null()) return;
  const Json object = object_or_file(value, "cluster", found);
  if (object.is_object()) d.scenario.cluster = hardware::read_cluster(object, found);
  forward(found, diagnostics);
  if (!found.has_errors()) d.known |= kClusterKnown;
}

void set_origins(Draft& d) {
  Origins& o = d.scenario.origins;
  o.scenario = d.json.place;
  o.model = d.at("model");
  o.cluster = d.at("cluster");
  o.parallel = d.at("parallel");
  o.training = d.at("training");
  o.tp = d.at("parallel.tp");
  o.cp = d.at("parallel.cp");
  o.ep = d.at("parallel.ep");
  o.pp = d.at("parallel.pp");
  o.dp = d.at("parallel.dp");
  o.vpp = d.at("parallel.vpp");
  o.zero = d.at("parallel.zero");
  o.schedule = d.at("parallel.schedule");
  o.global_batch = d.at("training.global_batch");
  o.micro_batch = d.at("training.micro_batch");
  o.recompute = d.at("training.recompute");
  o.measured = d.at("measured");
}

std::string default_name(const Json& json) {
  return json.place.source ? std::filesystem::path(json.place.source->path).stem().string() : "scenario";
}

}  // namespace

Draft read_draft(Json merged, Diagnostics& diagnostics) {
  Draft d;
  d.json = std::move(merged);
  ObjectReader root(d.json, diagnostics, "the scenario");
  if (!d.json.is_object()) return d;
  d.scenario.name = root.text("name", default_name(d.json));
  d.scenario.path = d.json.place.source ? d.json.place.source->path : "";
  d.scenario.framework = read_framework(root);
  read_model(d, root, diagnostics);
  read_cluster(d, root, diagnostics);
  if (read_section(d.json, "parallel", diagnostics, [&](ObjectReader& r) { read_parallel(d, r); }))
    d.known |= kParallelKnown;
  if (read_section(d.json, "training", diagnostics, [&](ObjectReader& r) { read_training(d, r); }))
    d.known |= kTrainingKnown;
  if (root.has("measured"))
    read_section(d.json, "measured", diagnostics, [&](ObjectReader& r) { read_measured(d, r); });
  d.scenario.experts.capacity_factor = d.scenario.model.experts.capacity_factor;
  if (root.has("experts"))
    read_section(d.json, "experts", diagnostics, [&](ObjectReader& r) { read_experts(d, r); });
  for (const char* key :
       {"parallel", "training", "recipe", "overlap", "sharding", "kernels", "offload", "compression", "network"})
    root.has(key);
  refuse_later_parts(root);
  root.finish();
  set_origins(d);
  return d;
}

}  // namespace orrery::scenarios
