"""Online learners side by side: what they predict before they learn, and what they know in the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.linear_model import SGDClassifier
from tqdm.auto import tqdm

from csf._common.files import replaced, write_figure
from csf._common.sklearn import clone
from csf._common.typing import PathLike
from csf.metrics import get_metric
from csf.online import FOFO, OFO, OMCSL, OnlineLogistic
from csf.streams import iter_arrays, prequential
from notebooks.experiments.report import markdown_table, mean_text, new_figure, write_rows

if TYPE_CHECKING:
    from notebooks.experiments.run import Plan


__all__ = ["LEARNERS", "run_streams"]

LEARNERS = {
    "logistic": OnlineLogistic(),
    "OFO": OFO(),
    "FOFO": FOFO(),
    "OMCSL": OMCSL(),
    "SGD": SGDClassifier(loss="log_loss", random_state=0),
}
# Examples that arrive together.
CHUNK = 100


def run_streams(
    plan: Plan, folder: PathLike, *, every: int = 1000, command: str = "", verbose: bool = False
) -> tuple[str, list[Path]]:
    """Send the training part of each split through all learners once; the methods are online learners."""
    data_sets = [data for data in plan.data if not data.is_multiclass]
    total = sum(plan.splits_of(data) for data in data_sets) * len(plan.methods)
    rows, records, paths = [], [], []
    with tqdm(total=total, disable=not verbose, desc="csf", unit="stream") as bar:
        for data in data_sets:
            for number in range(plan.splits_of(data)):
                results = {}
                for name, learner in plan.methods.items():
                    bar.set_postfix_str(f"{data.name}, {name}", refresh=False)
                    row, results[name] = _run_one(plan, data, number, learner, every)
                    rows.append({"data": data.name, "method": name, "split": number} | row)
                    bar.update()
                records += _records(data.name, number, results)
                if number == 0:
                    paths += _draw(results, data.name, Path(folder))
    paths += write_rows(rows, folder, "streams", ("data", "method", "split", "value", "prequential", "seconds"))
    columns = ("data", "method", "split", "examples", "seconds", plan.metric)
    paths += write_rows(records, folder, "stream_records", columns)
    text = _markdown(plan, rows, command)
    path = Path(folder) / "streams.md"
    with replaced(path) as file:
        file.write(text)
    return text, [path, *paths]


def _run_one(plan, data, number, learner, every):
    split = plan.protocol.split(data, number, seed=plan.seed)
    order = np.random.default_rng(split.seed).permutation(split.y.size)
    learner, metric = clone(learner), get_metric(plan.metric)
    chunks = iter_arrays(split.X[order], split.y[order], CHUNK)
    result = prequential(learner, chunks, metric=metric, every=min(every, split.y.size), classes=[0, 1])
    value = metric.score(split.y_test, learner.predict(split.X_test), pos_label=1)
    row = {"value": value, "prequential": float(result.values[-1]), "seconds": float(result.seconds[-1])}
    return row, result


def _records(name, number, results):
    return [
        {"data": name, "method": method, "split": number, "examples": int(n), "seconds": s, result.metric.name: value}
        for method, result in results.items()
        for n, s, value in zip(result.n_examples, result.seconds, result.values)
    ]


def _draw(results, name, folder):
    from csf.plots import StreamDisplay

    paths = []
    for against in ("examples", "seconds"):
        ax = new_figure(6.4, 4.0).subplots()
        display = StreamDisplay.from_results(results, against=against, ax=ax)
        ax.set_title(name)
        paths.append(folder / f"stream_{name}_{against}.png")
        write_figure(paths[-1], display.figure_)
    return paths


def _markdown(plan, rows, command):
    sets = list(dict.fromkeys(row["data"] for row in rows))
    lines = [f"# {plan.metric} x 100 of online learners after one pass", ""]
    lines += [f"    {command}", ""] if command else []
    body = []
    for name in plan.methods:
        cells = []
        for data in sets:
            own = [row for row in rows if (row["data"], row["method"]) == (data, name)]
            before, seconds = (np.mean([row[column] for row in own]) for column in ("prequential", "seconds"))
            cells.append(f"{mean_text([row['value'] for row in own])} ({100 * before:.1f}, {seconds:.2g} s)")
        body.append([name, *cells])
    note = "Test part: mean over splits ± standard error; in brackets predictions made before learning, and seconds."
    return "\n".join([*lines, markdown_table(["learner", *sets], body), "", note, ""])
