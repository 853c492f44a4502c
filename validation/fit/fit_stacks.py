#!/usr/bin/env python3
"""Fits the factors of software stacks (docs/models/stacks.md) to published runs.

    orrery validate --output runs.csv
    python3 validation/fit/fit_stacks.py runs.csv [validation/runs]

Prints, for each stack and architecture that the runs name, the factors by which the current ones are to be multiplied, the errors before
and after, and how much the median moves when each factor is 10 % larger. Needs numpy and scipy.
"""
import collections
import csv
import json
import pathlib
import sys

import numpy as np
from scipy.optimize import least_squares

CLASSES = {"gemm": "matrix products", "attention_forward": "attention, forward",
           "attention_backward": "attention, backward", "memory_bound": "memory-bound kernels"}
PENALTY = 0.02      # of ln(factor)^2, beside the mean loss of a run
HUBER = 0.03        # errors beyond this count linearly


def stacks(directory):
    """run -> (stack, base of its cluster, its GPU)"""
    out = {}
    for path in pathlib.Path(directory).glob("*.json"):
        content = json.loads(path.read_text())
        for run in content["runs"] if isinstance(content, dict) and "runs" in content else []:
            s = run["scenario"]
            cluster = s["cluster"]
            hint = json.dumps(cluster.get("gpu", "")) + cluster.get("base", "") + s.get("base", "")
            arch = "blackwell" if any(g in hint for g in ("b200", "b300", "gb200", "gb300")) else "hopper" if "h100" in hint or "h200" in hint else "ampere"
            out[s["name"]] = (str(s.get("kernels", {}).get("stack", "none")), arch)
    return out


def main():
    names = stacks(sys.argv[2] if len(sys.argv) > 2 else "validation/runs")
    groups = collections.defaultdict(list)
    for row in csv.DictReader(open(sys.argv[1])):
        if row["quantity"] != "step time":
            continue
        measured, predicted = float(row["measured"]), float(row["predicted"])
        parts = dict(p.rsplit("=", 1) for p in row["parts"].split("; ") if p)
        kernels = [sum(float(v) for k, v in parts.items() if k.startswith(word)) for word in CLASSES.values()]
        groups[names[row["run"]]].append([k / measured for k in kernels] + [(predicted - sum(kernels)) / measured])
    for (stack, arch), rows in sorted(groups.items()):
        x = np.array(rows)
        if len(x) < 3:
            continue

        def error(log_factors):
            return x[:, :4] @ np.exp(log_factors) + x[:, 4] - 1.0

        def residuals(v):
            e = error(v)
            a = np.abs(e)
            huber = np.sign(e) * np.sqrt(np.where(a < HUBER, a * a, 2 * HUBER * a - HUBER * HUBER))
            return np.concatenate([huber / np.sqrt(len(x)), np.sqrt(PENALTY) * HUBER * v * 3])

        fit = least_squares(residuals, np.zeros(4))
        before, after = np.abs(error(np.zeros(4))), np.abs(error(fit.x))
        print(f"{stack} {arch}: {len(x)} runs, median {100 * np.median(before):.1f} -> {100 * np.median(after):.1f} %, "
              f"p90 {100 * np.quantile(before, .9):.1f} -> {100 * np.quantile(after, .9):.1f} %")
        for c, name in enumerate(CLASSES):
            more = fit.x.copy()
            more[c] += np.log(1.1)
            print(f"    {name:20} {np.exp(fit.x[c]):.3f}   share {np.median(x[:, c]):.2f}   "
                  f"+10 % moves the median by {100 * np.median(error(more) - error(fit.x)):+.1f} %")


if __name__ == "__main__":
    main()
