"""What each source says of all its rows: machine, framework and its settings. One function a source; it completes the
scenario, or returns why the row is left out. Each assumption names where it comes from."""

CLUSTERS = "hardware/clusters/"


def _cluster(s, base, **changes):
    node = {**s["cluster"].get("node", {}), **changes.pop("node", {})}
    s["cluster"] = {"base": CLUSTERS + base, **s["cluster"], **changes, **({"node": node} if node else {})}


def _set(s, section, **values):
    s.setdefault(section, {}).update(values)


def _stack(s, name):
    _set(s, "kernels", stack=f"hardware/stacks/{name}.json")


def _uneven(layers, stages):
    """DeepSpeed's partition_balanced over equal layers: what is over goes to the first stages."""
    each, over = divmod(layers, stages)
    return [each + (1 if i < over else 0) for i in range(stages)]


def _megatron(s, era):
    """Megatron-LM before flash attention: validation/bases hold what a year's code does."""
    s["base"] = f"scenarios/bases/megatron-{era}.json"


def _nvl72(row, s):
    """Machines of several racks: 64 GPUs of each are used; smaller runs are in one rack."""
    for gpu, base in (("GB200", "gb200-nvl72.json"), ("GB300", "gb300-nvl72.json")):
        if not row["gpu"].startswith(gpu):
            continue
        gpus = row["gpus_total"]
        used = min(gpus, 64)
        s["cluster"] = {"base": CLUSTERS + base, "nodes": gpus // used}
        if used < 64:
            s["cluster"]["node"] = {"gpus": used, "pcie_switches": used, "nics": {"count": used, "line": "400 Gbit/s" if gpu == "GB200" else "800 Gbit/s"}}


ZOO = {"DeepSeek-V3": "deepseek-v3", "DeepSeek-V2": "deepseek-v2", "Qwen3-235B": "qwen3-235b-a22b", "Qwen3-30B": "qwen3-30b-a3b",
       "Mixtral-8x7B": "mixtral-8x7b", "Mixtral-8x22B": "mixtral-8x22b", "Grok1": "grok-1", "GPT-OSS-120B": "gpt-oss-120b"}


def _experts(row, s):
    """The model of the zoo with the row's layers, and experts' ranks."""
    if s["training"]["precision"] not in ("bf16", "fp16"):
        return "products of experts in 8 or 4 bits are not modelled yet"
    if row["model_name"].startswith("GPT-OSS"):
        return "attention sinks and biases of experts are not modelled yet"
    for start, zoo in ZOO.items():
        if row["model_name"].startswith(start):
            s["model"] = {"base": f"models/zoo/{zoo}.json", "name": row["model_name"], "layers": row["layers"]}
            break
    else:
        return f"{row['model_name']}: no such model in the zoo"
    dense = row["moe"].get("dense_layers")
    if dense is not None and row["layers"] < 60:
        s["model"]["experts"] = {"dense_layers": dense}
    else:
        s["model"].setdefault("experts", {})
    virtual = row["pp"] * (row["vpp"] or 1)
    if row["layers"] % virtual != 0:
        _set(s, "parallel", layers_per_stage="even_with_embedding" if (row["layers"] + 2) % virtual == 0 else "balanced")
    _set(s, "parallel", etp=1)
    if row["ep"] > 1:
        _set(s, "parallel", ep=row["ep"])
    return None


def megatron_bridge(row, s):
    """Megatron-Bridge's recipes on Megatron-Core: everything overlaps that can, routing is forced to be balanced."""
    _stack(s, "megatron-core-2026")
    s["framework"] = "megatron"
    gpu = row["gpu"]
    _cluster(s, "dgx-b300.json" if gpu.startswith("B300") else "b200-16x8.json" if gpu.startswith("B200") else "h100-128x8.json")
    _nvl72(row, s)
    precision = row["precision"]
    if precision.startswith("mxfp8"):
        _set(s, "recipe", scaling="mx")
    elif precision.startswith("fp8-cs"):
        _set(s, "recipe", scaling="current")
    elif precision.startswith("nvfp4"):
        _set(s, "training", precision="fp4")
    if row["zero_or_fsdp"].startswith("fsdp"):
        s["framework"] = "orrery"
        _set(s, "parallel", zero=3)
        group = int(row["zero_or_fsdp"].split("group ")[1].rstrip(")"))
        if group < row["dp"]:
            _set(s, "sharding", group=group)
    else:
        _set(s, "parallel", zero=1)
        _set(s, "overlap", gradient_reduce=True, parameter_gather=True)
    if row["moe"]:
        why = _experts(row, s)
        if why:
            return why
    elif (row["layers"] + 2) % (row["pp"] * row["vpp"]) == 0 and row["layers"] % (row["pp"] * row["vpp"]) != 0:
        _set(s, "parallel", layers_per_stage="even_with_embedding")
    graphs = "cuda_graph=" in row["notes"] and "cuda_graph=None" not in row["notes"]
    if graphs and row["recompute"] != "full" and s["framework"] == "megatron" and "full_iteration" in row["notes"]:
        _set(s, "kernels", cuda_graphs=True)
    if s["training"].get("recompute") == "selective":
        s["training"].pop("recompute")  # norms, activations or a projection: a few percent of a layer


def megatron_moe_recipes(row, s):
    return megatron_bridge(row, s)


def korthikanti2022(row, s):
    if "layer22B" in row["id"]:
        return "forward and backward of one layer, without head and optimizer; in tests/ as a layer"
    _megatron(s, 2022)
    s["model"]["dropout"] = 0.1


def megatron_lm(row, s):
    if row["id"].startswith("mlm-h100"):
        return "microbatch, chunks and recomputation are not stated"
    if "zero3" in row["zero_or_fsdp"]:
        s["framework"] = "deepspeed"
        _cluster(s, "selene.json")
        _set(s, "parallel", zero=3)
        _set(s, "kernels", fused_attention=False)
        return None
    _megatron(s, 2021)
    s["model"]["dropout"] = 0.1
    if row["gpu"].startswith("V100"):
        return "DGX-2: 16 V100 behind NVSwitches; no cluster file yet"
    if row["gpu"].startswith("A100-SXM-40GB"):
        _cluster(s, "a100-80g-16x8.json", gpu="hardware/gpus/a100-sxm4-40gb.json")


def mtnlg(row, s):
    _stack(s, "megatron-deepspeed-2021")
    _megatron(s, 2021)
    s["model"]["dropout"] = 0.1


def bigscience_bloom(row, s):
    """Megatron-DeepSpeed on Jean Zay, nothing overlapped, separate attention with the fused softmax, ALiBi."""
    _stack(s, "megatron-deepspeed-2022")
    s["framework"] = "megatron"
    _cluster(s, "jean-zay-a100-48x8.json")
    s["model"].update(embedding_norm=True)
    if row["precision"] == "bf16":
        s["model"].update(position="alibi")
        s["model"].pop("max_positions", None)
    _set(s, "parallel", zero=1)
    if (row["layers"] + 2) % row["pp"] == 0 and row["layers"] % row["pp"] != 0:
        _set(s, "parallel", layers_per_stage="even_with_embedding")
    elif row["layers"] % row["pp"] != 0:
        _set(s, "parallel", layers_per_stage=_uneven(row["layers"], row["pp"]))
    _set(s, "kernels", fused_attention=False)
    _set(s, "overlap", pipeline=False, tensor_backward=False)


def zero_bubble(row, s):
    _stack(s, "megatron-2023")
    s["framework"] = "orrery"
    _cluster(s, "a100-80g-16x8.json")
    schedule = row["notes"].split("schedule ")[1].split(";")[0]
    words = {"1F1B": "1f1b", "1F1B-I": "interleaved", "ZB-1p": "zb-1p", "ZB-2p": "zb-2p"}
    if schedule not in words:
        return f"schedule {schedule}"
    if schedule != "1F1B-I":
        s["parallel"].pop("vpp", None)
    _set(s, "parallel", schedule=words[schedule], layers_per_stage="even_with_embedding")
    s["model"]["dropout"] = 0.1
    _set(s, "training", precision="bf16", clip_gradient_norm=0)
    _set(s, "kernels", fused_attention=False)


def llm_foundry(row, s):
    """Composer with FSDP1: weights gathered again and gradients reduced for every microbatch."""
    _stack(s, "composer-2023")
    s["framework"] = "fsdp1"
    if row["gpu"] == "H100-SXM-80GB":
        _cluster(s, "h100-16x8.json")
    else:
        _cluster(s, "a100-80g-16x8.json")
        if row["gpu"] == "A100-SXM-40GB":
            s["cluster"]["gpu"] = "hardware/gpus/a100-sxm4-40gb.json"
    _set(s, "recipe", reduce_bytes=2 if "PURE" in row["precision"] else 4)
    if "zero2" in row["zero_or_fsdp"]:
        _set(s, "sharding", reshard_after_forward=False)


def torchtitan(row, s):
    """FSDP2 with torch.compile, which fuses what is elementwise."""
    _stack(s, "torchtitan-2024")
    s["framework"] = "fsdp"
    if row["gpu"].startswith("A100"):
        _cluster(s, "a100-80g-16x8.json")
    elif row["gpu"].startswith("H200"):
        _cluster(s, "h100-16x8.json", gpu="hardware/gpus/h200-sxm.json")
    else:
        _cluster(s, "h100-16x8.json",
                 gpu={"base": "hardware/gpus/h100-sxm5-80gb.json", "memory": "94.5 GiB", "memory_bandwidth": "2400 GB/s"})
    _set(s, "kernels", fused_elementwise=True)
    if row["cp"] > 1:
        _set(s, "parallel", cp_method="ring")
    if row["precision"].startswith("fp8"):
        _set(s, "recipe", scaling="current")


def fms_fsdp(row, s):
    s["framework"] = "fsdp"
    if row["gpu"].startswith("A100"):
        _cluster(s, "a100-80g-16x8-4x100g.json")
    else:
        _cluster(s, "h100-16x8.json", node={"nics": {"count": 8, "line": "100 Gbit/s"}})
    if row["zero_or_fsdp"] == "hsdp":
        _set(s, "sharding", group=8)
    if row["recompute"] == "selective":
        return "which fraction of the layers is recomputed is not stated"
    _set(s, "kernels", fused_elementwise=True)


def internevo(row, s):
    _stack(s, "internevo-2023")
    s["framework"] = "orrery"
    _cluster(s, "a100-80g-16x8-4x100g.json")
    _set(s, "parallel", zero=1)
    group = {"zero1 (group 4)": 4, "zero1 (group 8, within node)": 8}.get(row["zero_or_fsdp"])
    if group and group < row["dp"]:
        _set(s, "sharding", group=group)
    _set(s, "recipe", gradient_bytes=2)
    _set(s, "overlap", gradient_reduce=True, parameter_gather=False, bucket_elements=536870912)


def flash_attention_training(row, s):
    _stack(s, "flash-attention-2022")
    s["framework"] = "ddp"
    _cluster(s, "dgx-a100-80g.json")
    if row["zero_or_fsdp"] == "zero1":
        _set(s, "parallel", zero=1)
    _set(s, "kernels", fused_elementwise=True)
    s["model"]["dropout"] = 0.1


def vtrain_multi(row, s):
    """Megatron-DeepSpeed on four 200 Gbit/s NICs a node; gradients reduced in one bucket at the end."""
    _stack(s, "megatron-deepspeed-2023")
    s["framework"] = "megatron"
    _cluster(s, "a100-80g-16x8.json", node={"nics": {"count": 4, "line": "200 Gbit/s"}})
    s["model"]["dropout"] = 0.1
    _set(s, "kernels", fused_attention=False)
    _set(s, "overlap", pipeline=False, tensor_backward=False)


vtrain_single = vtrain_multi


def dgxc_benchmarking(row, s):
    """NeMo on Megatron-Core with its recipes: distributed optimizer, gradients and parameters overlapped, gradients reduced in bf16."""
    _stack(s, "megatron-core-2024")
    if not row["framework"].startswith("NeMo/Megatron-Core"):
        return f"{row['framework']}: its rematerialisation is not stated"
    s["framework"] = "megatron"
    _cluster(s, "h100-128x8.json")
    _nvl72(row, s)
    _set(s, "parallel", zero=1)
    if row["moe"]:  # capacity factor 1, padded, products of experts one by one
        why = _experts(row, s)
        if why:
            return why
        s["model"]["experts"]["capacity_factor"] = 1.0
    _set(s, "overlap", gradient_reduce=True, parameter_gather=True)
    if (row["layers"] + 2) % (row["pp"] * row["vpp"]) == 0 and row["layers"] % (row["pp"] * row["vpp"]) != 0:
        _set(s, "parallel", layers_per_stage="even_with_embedding")
    if row["vpp"] > 1:
        _set(s, "overlap", pipeline=True)
    if "TP comm overlap" in row["notes"] and row["tp"] > 1 and row["precision"] == "bf16":  # user buffers: rings of as many parts as ranks
        _set(s, "overlap", tensor_chunks=row["tp"])


def simumax_b200(row, s):
    """Megatron-LM with Transformer Engine; nothing overlaps by contract."""
    _stack(s, "megatron-core-2025")
    s["framework"] = "megatron"
    _cluster(s, "dgx-b200.json")
    _set(s, "parallel", zero=1)
    if row["moe"]:
        why = _experts(row, s)
        if why:
            return why
        s["model"]["experts"]["capacity_factor"] = 1.0
    if row["cp"] > 1:
        _set(s, "parallel", cp_method="ulysses")
    _set(s, "overlap", gradient_reduce=False, parameter_gather=False, pipeline=False, tensor_backward=False)


def simumax_a100pcie(row, s):
    return "digitized"


def nanotron_bench(row, s):
    return "times predate a correction of the benchmark (source's own note)"
