"""Spark for all tests of this folder: one session of two threads, on the loopback address alone, without a web page."""

import os
import shutil

import numpy as np
import pytest

pytest.importorskip("pyspark.ml", reason="needs PySpark: pip install 'csf-search[spark]'")

LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "OFF",
    # Small jobs: what takes longest is to compile them.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@pytest.fixture(scope="session")
def local():
    """Settings of the session."""
    return LOCAL


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """The session."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java 17 or later for Spark: no java on the path, and JAVA_HOME is not set")
    from pyspark.sql import SparkSession

    # Else Spark would name this machine by an address that others see.
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[2]").appName("csf")
    for name, value in (LOCAL | {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def framed(spark, tmp_path_factory):
    """Function that makes a Spark frame of arrays: ``framed(X, n_parts, label=y, ...)``."""
    import pyarrow as pa
    from pyarrow import parquet
    from pyspark.ml.functions import array_to_vector

    def make(X, n_parts=2, **columns):
        folder = tmp_path_factory.mktemp("frame")
        for k, rows in enumerate(np.array_split(np.arange(len(X)), n_parts)):
            table = {"values": list(X[rows])} | {name: values[rows] for name, values in columns.items()}
            parquet.write_table(pa.table(table), folder / f"part-{k:03d}.parquet")
        read = spark.read.parquet(str(folder))
        return read.withColumn("features", array_to_vector("values")).drop("values").persist()

    return make


@pytest.fixture(scope="session")
def data():
    """Samples, targets with 12 % positives, and weights that are multiples of a half."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    y = (X @ np.array([1.0, -0.5, 0.3, 0.2]) + 0.8 * rng.normal(size=1200) > 1.7).astype(int)
    return X, y, rng.integers(1, 5, 1200) / 2
