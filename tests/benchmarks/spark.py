"""SparkCostSearch beside Spark's own CrossValidator with as many trainings, in one warm session of two threads.

``python -m tests.benchmarks spark`` prints two lines for each number of rows: four trials on three folds (four costs,
or four values of ``regParam``), and one training on everything. Both have run once on 10 000 rows before. Processor
seconds are those of the JVM and of this process; a job of Spark is about a pass over the rows of a training. With
little ``--memory`` most rows are kept on the disk: what there is of them in either place is in the table.
"""

import argparse
import os
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

from tests.benchmarks.cluster import N_FEATURES, write_parquet
from tests.benchmarks.tables import print_table

__all__ = ["main", "spark_rows"]

FEW = 10_000
LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.log.level": "OFF",
}


def session(memory):
    """A session that listens on the loopback address alone."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", memory)
    for name, value in LOCAL.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def framed(spark, folder):
    """The rows of a folder as a frame."""
    from pyspark.ml.feature import VectorAssembler

    assembler = VectorAssembler(inputCols=[f"f{j}" for j in range(N_FEATURES)], outputCol="features")
    return assembler.transform(spark.read.parquet(str(folder))).select("features", "label")


def _cross_validated(base, rows, n_trials, n_folds):
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    maps = ParamGridBuilder().addGrid(base.regParam, [10.0**-k for k in range(n_trials)]).build()
    CrossValidator(
        estimator=base,
        estimatorParamMaps=maps,
        evaluator=MulticlassClassificationEvaluator(metricName="f1"),
        numFolds=n_folds,
        seed=0,
    ).fit(rows)


def _searched(base, rows, n_trials, n_folds):
    from csf.spark import SparkCostSearch

    SparkCostSearch(estimator=base, strategy="grid", nTrials=n_trials, numFolds=n_folds).fit(rows)


def _measured(spark, run, n_trials):
    import psutil

    def spent():
        every = [psutil.Process(), *psutil.Process().children(recursive=True)]
        return sum(sum(each.cpu_times()[:2]) for each in every)

    context = spark.sparkContext._jsc.sc()
    before, jobs, start = spent(), context.dagScheduler().numTotalJobs(), time.perf_counter()
    run()
    kept = context.getRDDStorageInfo()
    return {
        "CPU s / trial": (spent() - before) / n_trials,
        "wall s / trial": (time.perf_counter() - start) / n_trials,
        "jobs / trial": (context.dagScheduler().numTotalJobs() - jobs) / n_trials,
        "rows in memory, MB": sum(each.memSize() for each in kept) / 2**20,
        "on disk, MB": sum(each.diskSize() for each in kept) / 2**20,
    }


def spark_rows(sizes, *, base="LogisticRegression", memory="1g", n_trials=4, n_folds=3, alone=False):
    """Two lines for each number of rows, or that of the search ``alone``, which is not warm."""
    from pyspark.ml import classification

    runs = (
        {"SparkCostSearch": _searched} if alone else {"CrossValidator": _cross_validated, "SparkCostSearch": _searched}
    )
    spark = session(memory)
    warnings.simplefilter("ignore")
    try:
        for size in sizes if alone else [FEW, *sizes]:
            with tempfile.TemporaryDirectory() as where:
                write_parquet(Path(where) / "data", size)
                rows = framed(spark, Path(where) / "data").persist()
                rows.count()
                for name, run in runs.items():
                    given = getattr(classification, base)(), rows, n_trials, n_folds
                    row = {"rows": size, "": name, **_measured(spark, partial(run, *given), n_trials)}
                    if size != FEW:
                        yield row
                rows.unpersist()
    finally:
        spark.stop()


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks spark", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--base", default="LogisticRegression", help="classifier of pyspark.ml with regParam")
    parser.add_argument("--memory", default="1g", help="memory of the driver, which trains here")
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="without CrossValidator")
    options = parser.parse_args(arguments)
    more = {"n_trials": options.trials, "n_folds": options.folds, "alone": options.alone}
    print_table(spark_rows(options.rows, base=options.base, memory=options.memory, **more))


if __name__ == "__main__":
    main()
