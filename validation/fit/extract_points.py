#!/usr/bin/env python3
"""Kernel measurements to one flat table of points, for fit_kernels.

    extract_points.py DATA_DIRECTORY > points.csv

Columns: class,gpu,source,d1,d2,d3,d4,d5,d6,time_us with
    gemm                 m, n, k, accumulate (0, 1), sustained (0: timed alone; 1: under continuous load), 0
    attention_*          batch, sequence, heads, kv_heads, head_dim, causal (0, 1)
    memory_bound         bytes, reduces (0, 1), HBM bandwidth of the GPU it ran on (B/s), 0, 0, 0
`gpu` is the profile that the point belongs to (or "check:<profile>": never fitted, only compared). Every selection is
stated where it is made; nothing is selected by how well it fits. Standard library only.
"""

import csv
import gzip
import json
import pathlib
import sys

# A training step multiplies nothing narrower: every dimension of a GEMM at least this.
MIN_GEMM = 128

# file, kernel source in it, profile. Plain library GEMM in bf16; quantised kernels are another class.
GEMM_TABLES = [
    ("gemm_a100-sxm4-80gb.csv.gz", "torch_flow", "a100-sxm4-80gb"),
    ("gemm_a100-sxm4-80gb.csv.gz", "sglang", "a100-sxm4-80gb"),
    ("gemm_h100-sxm5-80gb.csv.gz", "torch_flow", "h100-sxm5-80gb"),
    ("gemm_h100-sxm5-80gb.csv.gz", "torch.nn.functional.linear", "h100-sxm5-80gb"),
    ("gemm_b200-sxm.csv.gz", "torch_flow", "b200-sxm"),
    ("gemm_l40s.csv.gz", "sglang_torch_linear", "l40s"),
]

# GPU as the source names it -> profile, timed under continuous load. SimuMax times operators of a running training
# iteration, Vidur profiles a model's operators back to back; DeepBench times one shape alone.
GEMM_OTHER = {
    ("A100-PCIe-80GB", "SimuMax"): ("a100-pcie-80gb", 1),
    ("B200-SXM", "SimuMax"): ("check:b200-sxm", 1),
    ("A100-80GB(SXM/PCIe not stated)", "vidur"): ("check:a100-sxm4-80gb", 1),
    ("H100-SXM", "vidur"): ("check:h100-sxm5-80gb", 1),
    ("V100", "DeepBench"): ("v100-sxm2", 0),
}

# GPU and implementation -> profile. One flash-attention implementation a GPU: the newest that the data has for it.
ATTENTION_FORWARD = {
    ("NVIDIA A100-SXM4-80GB", "vllm_flash_attn"): "a100-sxm4-80gb",
    ("NVIDIA H100 80GB HBM3", "vllm_flash_attn_fa3"): "h100-sxm5-80gb",
    ("NVIDIA L40S", "vllm_flash_attn_fa2"): "l40s",
    ("NVIDIA B200", "torch_flow"): "b200-sxm",
}
SIMUMAX = {"A100-PCIe-80GB": "a100-pcie-80gb", "B200-SXM": "b200-sxm"}

# Kernels of PyTorch itself. Vidur's rms_norm and silu_and_mul are an inference engine's: not used. The bandwidth is
# the data sheet's of the GPU that ran them.
MEMORY = {
    ("NVIDIA A100 80GB PCIe", "NeuSight"): (["a100-sxm4-80gb", "a100-pcie-80gb"], 1935e9),
    ("NVIDIA A100-PCIE-40GB", "NeuSight"): (["a100-sxm4-80gb", "a100-pcie-80gb"], 1555e9),
    ("A100-80GB(SXM/PCIe not stated)", "vidur"): (["a100-sxm4-80gb", "a100-pcie-80gb"], 2039e9),
    ("A100-SXM4-40/80GB", "Azure"): (["a100-sxm4-80gb", "a100-pcie-80gb"], 2039e9),
    ("Tesla V100-PCIE-32GB", "NeuSight"): (["v100-sxm2"], 900e9),
    ("H100-SXM", "vidur"): (["h100-sxm5-80gb"], 3350e9),
    ("H100-SXM5-80GB", "Azure"): (["h100-sxm5-80gb"], 3350e9),
    ("B200-SXM", "SimuMax"): (["b200-sxm"], 8000e9),
}
MEMORY_KINDS = {  # operation -> does it reduce rows
    "add": 0, "gelu": 0, "stream_copy": 0, "stream_add": 0, "membound_default": 0, "ln": 1, "softmax": 1,
}
AGGREGATE_BYTES = 256e6  # a rate measured on large tensors stands for one kernel of this size


def publisher(row):
    for name in ("SimuMax", "vidur", "DeepBench", "NeuSight", "Azure", "aiconfigurator", "flash-attention"):
        if name in row["source"]:
            return name
    return ""


def emit(out, kernel_class, profile, source, values, time_us):
    padded = list(values) + [0] * (6 - len(values))
    out.writerow([kernel_class, profile, source] + ["%.12g" % v for v in padded] + ["%.6g" % time_us])


def gemm_tables(directory, out):
    for file, kernel_source, profile in GEMM_TABLES:
        with gzip.open(directory / file, "rt", newline="") as stream:
            for row in csv.DictReader(stream):
                shape = [int(row[key]) for key in ("m", "n", "k")]
                if row["kernel_source"] != kernel_source or row["dtype"] != "bfloat16" or min(shape) < MIN_GEMM:
                    continue
                emit(out, "gemm", profile, kernel_source, shape + [0, 0], float(row["time_us"]))


def gemm_other(directory, out):
    for row in json.loads((directory / "gemm_other.json").read_text()):
        target = GEMM_OTHER.get((row["gpu"], publisher(row)))
        shape = [row["m"], row["n"], row["k"]]
        if target is None or row["op"] != "gemm" or row["dtype"] not in ("bf16", "fp16") or min(shape) < MIN_GEMM:
            continue
        accumulate = 1 if "accumulate=True" in row.get("note", "") else 0
        source = f'{publisher(row)} {row["layout"]}'
        emit(out, "gemm", target[0], source, shape + [accumulate, target[1]], row["time_us"])


def attention_forward(rows, out):
    for row in rows:
        profile = ATTENTION_FORWARD.get((row["gpu"], row.get("impl")))
        if profile is None:
            continue
        shape = [row["batch"], row["seqlen"], row["heads"], row["kv_heads"], row["head_dim"], 1 if row["causal"] else 0]
        emit(out, "attention_forward", profile, row["impl"], shape, row["time_us"])


def attention_simumax(rows, out):
    """Rates count the full square, causal or not (10 FLOPs a pair and head_dim element backward, 4 forward). Rows
    whose query and value heads differ in size are another kernel."""
    for row in rows:
        profile = SIMUMAX.get(row["gpu"])
        if profile is None or publisher(row) != "SimuMax" or row["head_dim"] != row["v_head_dim"]:
            continue
        backward = row["op"] == "attention_bwd"
        pairs = row["batch"] * row["heads"] * row["seqlen"] ** 2
        time_us = (10 if backward else 4) * pairs * row["head_dim"] / (row["tflops"] * 1e6)
        shape = [row["batch"], row["seqlen"], row["heads"], row["kv_heads"], row["head_dim"], 1 if row["causal"] else 0]
        name = "attention_backward" if backward else "attention_forward"
        # On the B200 the large table above is what the forward is fitted on.
        target = "check:" + profile if profile == "b200-sxm" and not backward else profile
        emit(out, name, target, "SimuMax", shape, time_us)


def plot_time(row, flops_per_pair):
    """Dao's plots: 16,384 tokens, 2048 / head_dim heads; causal rates count half of the square."""
    square = row["tokens_total"] * row["seqlen"] * row["hidden"] * (0.5 if row["causal"] else 1.0)
    return flops_per_pair * square / (row["tflops"] * 1e6)


def attention_backward_from_plots(rows, out):
    """The plots have forward + backward of FlashAttention-2. On the H100 its forward was plotted too, for six of the
    shapes: the backward is the difference. On the A100 it was not: the forward is taken to have the same share of the
    time as on the H100 (median of the six)."""
    plots = [row for row in rows if publisher(row) == "flash-attention" and row["impl"] == "FA2"]
    key = lambda row: (row["gpu"], row["causal"], row["head_dim"], row["seqlen"])
    forward = {key(row): plot_time(row, 4) for row in plots if row["op"] == "attention_fwd"}
    both = {key(row): (row, plot_time(row, 14)) for row in plots if row["op"] == "attention_fwd_bwd"}
    shares = sorted(forward[k] / both[k][1] for k in both if k in forward)
    share = shares[len(shares) // 2]
    for k, (row, total) in both.items():
        is_a100 = "A100" in row["gpu"]
        if not is_a100 and k not in forward:
            continue
        time_us = total * (1 - share) if is_a100 else total - forward[k]
        heads = row["hidden"] // row["head_dim"]
        shape = [row["tokens_total"] // row["seqlen"], row["seqlen"], heads, heads, row["head_dim"], int(row["causal"])]
        profile = "a100-sxm4-80gb" if is_a100 else "h100-sxm5-80gb"
        emit(out, "attention_backward", profile, "FlashAttention-2 plots", shape, time_us)


def memory_bound(directory, out):
    for row in json.loads((directory / "membound.json").read_text()):
        profiles, bandwidth = MEMORY.get((row["gpu"], publisher(row)), ([], 0))
        reduces = MEMORY_KINDS.get(row["op"])
        if reduces is None:
            continue
        # An aggregate stands as its 10th, 50th and 90th percentile.
        rates = [row[key] for key in ("gbps_p10", "gbps", "gbps_p90") if key in row]
        for profile in profiles:
            source = f'{publisher(row)} {row["op"]}'
            if "time_us" in row:
                emit(out, "memory_bound", profile, source, [rates[0] * row["time_us"] * 1e3, reduces, bandwidth],
                     row["time_us"])
                continue
            for rate in rates:
                emit(out, "memory_bound", profile, source, [AGGREGATE_BYTES, reduces, bandwidth],
                     AGGREGATE_BYTES / rate / 1e3)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("class gpu source d1 d2 d3 d4 d5 d6 time_us".split())
    gemm_tables(directory, out)
    gemm_other(directory, out)
    attention = json.loads((directory / "attention.json").read_text())
    attention_forward(attention, out)
    attention_simumax(attention, out)
    attention_backward_from_plots(attention, out)
    memory_bound(directory, out)


if __name__ == "__main__":
    main()
