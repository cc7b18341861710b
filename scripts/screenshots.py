"""Screenshots of pages of the built site: desktop and phone, light and dark, as one sheet; and what is wrong with them.

    make docs && python scripts/screenshots.py build/site --out sheet.png

Says which pages load something from elsewhere, raise an error, or scroll sideways, and whether the search finds a page.
Needs the packages playwright and pillow and a Chromium (--browser), none of which the library needs.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import io
import sys
import threading
from pathlib import Path
from typing import Any

PAGES = (
    "", "start/", "tutorials/extraction/", "tutorials/faithful/", "explanation/masks/", "explanation/bending/",
    "howto/playground/", "howto/see/", "reference/generating/", "moving/outlines/",
)  # fmt: skip
SIZES = {"desktop": (1280, 900, 320), "phone": (390, 844, 160)}  # width and height of the window, width on the sheet


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and says nothing."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def shoot(page: Any, address: str, width: int, faults: list[str]) -> bytes:
    """The picture of a page; what is wrong goes to `faults`."""
    page.goto(address)
    page.wait_for_timeout(400)
    wide = page.evaluate("document.documentElement.scrollWidth")
    faults += [f"{address} scrolls sideways: {wide} > {width}"] * (wide > width)
    return page.screenshot()


def watch(page: Any, home: str, faults: list[str]) -> None:
    """Note what a page loads from elsewhere, what is missing, and what raises."""
    page.on("request", lambda r: r.url.startswith((home, "data:")) or faults.append(f"from elsewhere: {r.url}"))
    page.on("response", lambda r: r.status < 400 or faults.append(f"{r.status} {r.url}"))
    page.on("pageerror", lambda error: faults.append(str(error)))


def found(page: Any, home: str, word: str) -> str:
    """The first page that the search finds."""
    page.goto(home)
    page.click("input[name=query]")
    page.keyboard.type(word, delay=60)
    page.wait_for_selector(".md-search-result__item h1", state="attached", timeout=20_000)
    return page.evaluate("document.querySelector('.md-search-result__item h1').textContent")


def main() -> int:
    """1: something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--browser", default="/usr/bin/chromium", help="the program of a Chromium")
    options = parser.parse_args()
    from PIL import Image
    from playwright.sync_api import sync_playwright

    handler = functools.partial(Quiet, directory=str(options.site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home, faults, rows = f"http://127.0.0.1:{server.server_port}/", [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.browser, args=["--no-sandbox"])
        for kind, (width, height, small) in SIZES.items():
            for scheme in ("light", "dark"):
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                watch(page, home, faults)
                shots = [Image.open(io.BytesIO(shoot(page, home + each, width, faults))) for each in PAGES]
                half = len(shots) // 2 if kind == "desktop" else len(shots)
                rows += [(shots[i : i + half], small) for i in range(0, len(shots), half)]
                if (kind, scheme) == ("desktop", "light"):
                    first = found(page, home, "playground")
                    faults += [f"the search finds {first!r} first"] * (first != "The playground")
        browser.close()
    lines = [[shot.resize((small, shot.height * small // shot.width)) for shot in shots] for shots, small in rows]
    sheet = Image.new("RGB", (len(lines[0]) * 326, sum(line[0].height + 6 for line in lines)), "#888888")
    top = 0
    for line in lines:
        for i, shot in enumerate(line):
            sheet.paste(shot.convert("RGB"), (i * (shot.width + 3 * (shot.width < 200) + 6 * (shot.width > 200)), top))
        top += line[0].height + 6
    sheet.quantize(48).save(options.out, optimize=True)
    print("\n".join(faults) or f"{4 * len(PAGES)} pictures of {len(PAGES)} pages, nothing is wrong")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
