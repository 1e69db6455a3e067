"""Checks a built site: `python site.py FOLDER`. Every link within it leads somewhere, every picture is there, every
public name has a page, and no page fetches anything from elsewhere."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "notebooks/_ext"))
from reference import public

FOLDER = Path(sys.argv[1]).resolve()


class Page(HTMLParser):
    """Anchors, links and what a browser loads by itself."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded, self.pictures = set(), [], [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {attrs[name] for name in ("id", "name") if attrs.get(name)}
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag in ("img", "script", "iframe", "source") and attrs.get("src"):
            self.loaded.append(attrs["src"])
        if tag == "link" and attrs.get("href") and "canonical" not in attrs.get("rel", ""):
            self.loaded.append(attrs["href"])
        if tag == "img":
            self.pictures.append(attrs)


pages = {path: Page(path) for path in FOLDER.rglob("*.html") if "_static" not in path.parts}
faults = []
for path, page in pages.items():
    where = path.relative_to(FOLDER)
    for address in [*page.links, *page.loaded]:
        parts = urlsplit(address)
        if parts.scheme in ("data", "mailto"):
            continue
        if parts.scheme or parts.netloc:
            if address in page.loaded:
                faults.append(f"{where} fetches {address}")
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        if not target.exists():
            faults.append(f"{where} links to {address}, which is not there")
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            faults.append(f"{where} links to {address}, which has no such place")

for path, page in pages.items():
    own = [picture for picture in page.pictures if "_images" in picture.get("src", "")]
    others = len(list(path.parent.glob("*.html"))) - 1
    wanted = 0 if path.parent.name != "gallery" else others if path.stem == "index" else 1
    if len(own) < wanted:
        faults.append(f"{path.relative_to(FOLDER)} shows {len(own)} pictures, not {wanted}")

documented = {anchor for page in pages.values() for anchor in page.anchors if anchor.startswith("csf.")}
faults += [f"{name} has no page" for name in public() if name not in documented]

print("\n".join(dict.fromkeys(faults)) or f"{len(pages)} pages, {len(documented)} names, no fault")
sys.exit(bool(faults))
