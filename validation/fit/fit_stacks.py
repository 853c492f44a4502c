#!/usr/bin/env python3
"""Fits the factors of software stacks (docs/models/stacks.md) to published runs, and writes hardware/stacks/*.json.

    orrery validate --output runs.csv
    python3 validation/fit/fit_stacks.py runs.csv

Twice, since scaled kernels hide transfers differently. Transfers get factors of their own in the fit, so that a slow network is not
blamed on kernels; they are printed and not written: a network belongs to the cluster. Also printed: errors before and after, and by how
much the median moves when a factor is 10 % larger. Needs numpy and scipy.
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
TRANSFERS = ("tensor-parallel", "data-parallel", "pipeline", "expert")
PENALTY = 0.0127  # of ln(factor), beside the root of the mean loss; more where runs are few: x sqrt(1 + FEW / runs)
FEW = 30
HUBER = 0.03      # errors beyond this count linearly
LAUNCH_BOUND = ("vtrain_single",)  # the host's time, not the kernels'


def architecture(scenario):
    hint = json.dumps(scenario["cluster"].get("gpu", "")) + scenario["cluster"].get("base", "") + scenario.get("base", "")
    for word, name in (("b200", "blackwell"), ("b300", "blackwell"), ("h100", "hopper"), ("h200", "hopper")):
        if word in hint:
            return name
    return "ampere"


def stacks():
    """run -> (path of its stack, architecture)"""
    out = {}
    for path in pathlib.Path("validation/runs").glob("*.json"):
        content = json.loads(path.read_text())
        for run in content["runs"] if isinstance(content, dict) else []:
            s = run["scenario"]
            if s.get("kernels", {}).get("stack"):
                out[s["name"]] = (s["kernels"]["stack"], architecture(s))
    return out


def parts_of(row):
    parts = dict(p.rsplit("=", 1) for p in row["parts"].split("; ") if p)
    words = list(CLASSES.values()) + list(TRANSFERS)
    return [sum(float(v) for k, v in parts.items() if k.startswith(word)) for word in words]


def fit(x, known):
    """Factors by which the parts (columns of x, shares of the measured step; the last is what stays) are longer."""
    n = x.shape[1] - 1

    def error(v):
        return x[:, :n] @ np.exp(v) + x[:, n] - 1.0

    def residuals(v):
        e = error(v)
        a = np.abs(e)
        huber = np.sign(e) * np.sqrt(np.where(a < HUBER, a * a, 2 * HUBER * a - HUBER * HUBER))
        return np.concatenate([huber / np.sqrt(len(x)), PENALTY * np.sqrt(1 + FEW / len(x)) * (v + known)])

    return least_squares(residuals, np.zeros(n)).x, error


def write(path, found):
    """A line an architecture; name and source stay."""
    old = json.loads(pathlib.Path(path).read_text())
    lines = ",\n".join(f"    {json.dumps(arch)}: {json.dumps(v)}" for arch, v in sorted(found.items()))
    pathlib.Path(path).write_text("{\n" + f'  "name": {json.dumps(old["name"])},\n  "source": {json.dumps(old["source"])},\n'
                                  + '  "kernels": {\n' + lines + "\n  }\n}\n")


def main():
    names, groups = stacks(), collections.defaultdict(list)
    for row in csv.DictReader(open(sys.argv[1])):
        if row["quantity"] != "step time" or row["source"] in LAUNCH_BOUND or row["run"] not in names:
            continue
        measured, parts = float(row["measured"]), parts_of(row)
        groups[names[row["run"]]].append([p / measured for p in parts] + [(float(row["predicted"]) - sum(parts)) / measured])
    found = collections.defaultdict(dict)
    for (path, arch), rows in sorted(groups.items()):
        x = np.array(rows)
        old = json.loads(pathlib.Path(path).read_text())["kernels"].get(arch, {})
        known = np.array([np.log(old.get(c, 1.0)) for c in CLASSES] + [0.0] * len(TRANSFERS))
        v, error = fit(x, known)
        found[path][arch] = {c: round(float(np.exp(v[i] + known[i])), 2) for i, c in enumerate(CLASSES)} | {"runs": len(x)}
        before, after = np.abs(error(np.zeros(len(v)))), np.abs(error(v))
        print(f"{path} {arch}: {len(x)} runs, median {100 * np.median(before):.1f} -> {100 * np.median(after):.1f} %, "
              f"p90 {100 * np.quantile(before, .9):.1f} -> {100 * np.quantile(after, .9):.1f} %")
        for i, name in enumerate(list(CLASSES) + list(TRANSFERS)):
            more = v.copy()
            more[i] += np.log(1.1)
            print(f"    {name:20} {np.exp(v[i] + known[i]):.2f}   +10 % moves the median by "
                  f"{100 * np.median(error(more) - error(v)):+.1f} %")
    for path, of in found.items():
        write(path, of)


if __name__ == "__main__":
    main()
