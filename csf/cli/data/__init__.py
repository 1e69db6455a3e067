"""Reading data: tables, LIBSVM files, sets that come with scikit-learn and sets in the folder of ``CSF_DATA``."""

from csf.cli.data.dataset import Dataset, Features, ReadOptions, densified
from csf.cli.data.reading import read_dataset, read_samples

__all__ = ["Dataset", "Features", "ReadOptions", "densified", "read_dataset", "read_samples"]
