"""Docstrings of everything public: numpydoc's rules, parameters as in the signature, an example for each class."""

import importlib
import inspect
import pkgutil

import pytest
from numpydoc.validate import validate

import csf

# Layout (GL), summary (SS), parameters as in the signature (PR), returns (RT), yields (YD). Left out: ES01, EX01 and
# SA01 (not every property needs a discussion, an example and cross-references), SS03 and SS05 (summaries are noun
# phrases and may end in code), PR01 and RT01 (checked below where there is a section), PR04 ("as for `other`"),
# PR08 and RT04 (descriptions may begin with code).
CODES = [
    *("GL01", "GL02", "GL03", "GL05", "GL06", "GL07", "GL08", "GL09", "GL10", "SS01", "SS02", "SS04", "SS06"),
    *("PR02", "PR03", "PR05", "PR06", "PR07", "PR09", "PR10", "RT02", "RT03", "RT05", "YD01"),
]
PACKAGES = ["csf", "csf.metrics", "csf.strategies", "csf.bounds", "csf.thresholding", "csf.fenchel", "csf.plots"]
PACKAGES += ["csf.online", "csf.structural", "csf.streams", "csf.linear"]


def public_modules():
    names = (module.name for module in pkgutil.walk_packages(csf.__path__, "csf."))
    return [name for name in names if not any(part.startswith("_") for part in name.split("."))]


def public_objects():
    """Dotted names of public classes, functions, methods and properties, each where it is defined."""
    for module in map(importlib.import_module, public_modules()):
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if getattr(thing, "__module__", None) != module.__name__ or not callable(thing):
                continue
            yield f"{module.__name__}.{name}", thing
            if inspect.isclass(thing):
                for member, value in vars(thing).items():
                    if not member.startswith("_") and (callable(value) or isinstance(value, property | classmethod)):
                        yield f"{module.__name__}.{name}.{member}", value


OBJECTS = dict(public_objects())


@pytest.mark.parametrize("name", OBJECTS)
def test_docstrings_follow_numpydoc(name):
    errors = [error for error in validate(name)["errors"] if error[0] in CODES]
    assert not errors


@pytest.mark.parametrize("name", OBJECTS)
def test_a_section_of_parameters_is_complete(name):
    result = validate(name)
    if "Parameters\n" in result["docstring"]:
        assert not [error for error in result["errors"] if error[0] == "PR01"]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_class_people_use_shows_an_example(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing) and not inspect.isabstract(thing) and not issubclass(thing, tuple):
            assert ">>>" in (thing.__doc__ or ""), f"{package}.{name} has no example"


@pytest.mark.parametrize("name", public_modules())
def test_modules_say_what_they_are(name):
    assert (importlib.import_module(name).__doc__ or "").strip()
