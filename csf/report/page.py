"""Pages of templates: each carries all it needs, style, script and figures, and lets the browser load nothing else."""

from __future__ import annotations

import base64
import hashlib
import os
from functools import cache
from importlib.resources import files
from typing import Any

from csf._common import __version__
from csf._common.files import replaced
from csf._common.typing import PathLike
from csf.report.facts import base_name, digits, parameters_of, short, spread, strategy_name, target_name

__all__ = ["check_page", "templates", "write_page"]


@cache
def templates() -> Any:
    """The pages of ``templates/``; what they are given is escaped, and what they are not given is an error."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError("reports are made with jinja2, which is not installed: pip install jinja2") from error

    made = Environment(
        loader=PackageLoader("csf.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"digits": digits, "short": short, "spread": spread, "base_name": base_name}
    made.filters |= {"strategy_name": strategy_name, "parameters_of": parameters_of, "target_name": target_name}
    return made


def check_page(path: PathLike) -> None:
    """Refuse a file whose name promises another format."""
    suffix = os.path.splitext(os.fspath(path))[1]
    if suffix.lower() not in ("", ".html", ".htm"):
        raise ValueError(
            f"a report is a page of HTML, and {os.fspath(path)!r} ends in {suffix!r}; give a name such as "
            "'report.html' (a browser prints it as PDF)"
        )


def write_page(path: PathLike, template: str, *, title: str, lead: str, **data: Any) -> None:
    """Write the page of a template to a file, which is replaced as a whole or stays as it is."""
    from markupsafe import Markup

    check_page(path)
    style, script = ((files("csf.report") / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    page = templates().get_template(template)
    text = page.render(
        # A title may come as markup of somebody else's, which is a text here.
        title=str(title),
        lead=lead,
        version=__version__,
        policy=_policy(script),
        style=Markup(style),
        script=Markup(script),
        **data,
    )
    # Labels may hold half of a surrogate pair, which no file can.
    with replaced(path, errors="replace") as file:
        file.write(text)


def _policy(script: str) -> str:
    """What the browser is allowed to do: this script, styles and pictures of the page itself, and no request."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
