#!/usr/bin/env python3
"""Makes validation/runs/*.json: published measurements of training as Orrery scenarios.

    python3 validation/import/import_runs.py DATA/training_runs

DATA is a directory of published measurements, one JSON list per source: a row has its configuration (layers, hidden, tp,
pp, ..., recompute, precision, framework) and what was measured. Numbers are carried over, prose is not.

What a source says of all its rows (its machine, its framework's settings) is in validation/import/sources.py, one function a source,
so that every assumption has one place. A row that cannot be a scenario is listed in validation/runs/left-out.json with the reason.
"""
import json
import pathlib
import sys

import sources

HERE = pathlib.Path(__file__).resolve().parent


def measured(row):
    m, out = row["measured"], {}
    if m["step_time_s"]:
        out["step_time"] = f"{m['step_time_s']:.6g} s"
    elif m["tokens_per_s_per_gpu"]:
        out["tokens_per_s_per_gpu"] = m["tokens_per_s_per_gpu"]
    if m["peak_memory_gib"]:
        out["peak_memory"] = f"{m['peak_memory_gib']:.6g} GiB"
    out["source"] = row["source"]
    return out


def model(row):
    """The architecture that the row states, and what its family says of the rest."""
    name = row["model_name"]
    m = {"name": name, "source": row["source"], "layers": row["layers"], "hidden": row["hidden"],
         "heads": row["heads"], "kv_heads": row["kv_heads"] or row["heads"], "ffn_hidden": row["ffn_hidden"],
         "vocab": row["vocab"]}
    moe = row["moe"] or {}
    if moe.get("head_dim"):
        m["head_dim"] = moe["head_dim"]
    elif row["hidden"] % row["heads"] != 0:
        m["head_dim"] = -(-row["hidden"] // row["heads"])
    if row["gated_mlp"]:
        m.update(position="rotary", norm="rms_norm", activation="swiglu", qkv_bias=False, attention_out_bias=False,
                 mlp_bias=False, tied_embeddings=False)
    elif "nemotron" in name.lower():
        m.update(position="rotary", norm="layer_norm", activation="squared_relu", qkv_bias=False,
                 attention_out_bias=False, mlp_bias=False, tied_embeddings=False)
    else:
        m.update(position="learned", max_positions=row["seq_len"], dropout=0.0)
    return m


def scenario(row):
    parallel = {k: row[k] for k in ("tp", "pp", "vpp", "cp") if (row[k] or 1) > 1}
    if row["dp"]:
        parallel["dp"] = row["dp"]
    if row["sequence_parallel"] and row["tp"] > 1:
        parallel["sp"] = True
    training = {"global_batch": row["global_batch"], "micro_batch": row["micro_batch"],
                "sequence_length": row["seq_len"],
                "precision": "bf16" if "bf16" in row["precision"] else
                             "fp8" if "fp8" in row["precision"] else
                             "fp4" if "fp4" in row["precision"] else "fp16"}
    recompute = (row["recompute"] or "none").split(":")[0].split(" ")[0]
    if recompute != "none":
        training["recompute"] = recompute
    nodes = max(1, -(-row["gpus_total"] // row["gpus_per_node"]))
    cluster = {"nodes": nodes}
    if row["gpus_total"] < row["gpus_per_node"]:
        gpus = row["gpus_total"]
        cluster["node"] = {"gpus": gpus, "pcie_switches": max(1, gpus // 2), "sockets": 1, "socket_link": None}
    return {"name": row["id"], "model": model(row), "cluster": cluster, "parallel": parallel,
            "training": training, "measured": measured(row)}


def missing(row):
    """Why a row cannot be a scenario, or None."""
    for key in ("layers", "hidden", "heads", "ffn_hidden", "vocab", "seq_len", "tp", "pp", "dp", "micro_batch", "global_batch"):
        if not row[key]:
            return f"{key} is not stated"
    if row["vpp"] is None:
        return "the number of pipeline chunks is not stated"
    if row["recompute"] is None:
        return "what is recomputed is not stated"
    m = row["measured"]
    if not (m["step_time_s"] or m["tokens_per_s_per_gpu"]):
        return "no step time is stated"
    return None


def main():
    data, runs = pathlib.Path(sys.argv[1]), HERE.parent / "runs"
    left_out, count = [], 0
    for path in sorted(data.glob("*.json")):
        content = json.loads(path.read_text())
        rows = content if isinstance(content, list) else content["rows"]
        adapt = getattr(sources, path.stem, None)
        entries = []
        for row in rows:
            why = missing(row)
            entry = scenario(row) if why is None else None
            if entry is not None:
                why = adapt(row, entry) if adapt else "no function of this source"
            if why is not None:
                left_out.append({"id": row["id"], "level": row["config_completeness"]["level"], "why": why})
                continue
            entries.append({"level": row["config_completeness"]["level"], "framework": row["framework"],
                            "date": row["source_date"], "scenario": entry})
        count += len(entries)
        if entries:
            lines = ",\n".join(" " + json.dumps(e) for e in entries)
            (runs / f"{path.stem}.json").write_text('{"runs": [\n' + lines + "\n]}\n")
    (runs / "left-out.json").write_text("[\n" + ",\n".join(" " + json.dumps(l) for l in left_out) + "\n]\n")
    full = sum(1 for l in left_out if l["level"] == "full")
    print(f"{count} runs; {len(left_out)} left out, {full} of them full")


if __name__ == "__main__":
    main()
