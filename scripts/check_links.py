#!/usr/bin/env python3
"""Relative links in documents lead to files, and their #anchors to headings.

usage: check_links.py [--selftest]
"""
import re
import sys
from pathlib import Path

from check_layers import ROOT, tracked, verdict

LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
DOCUMENT = re.compile(r"(?<!nitrix/)\bdocs/[\w/-]+\.(?:md|json|png)\b")


def anchors(text: str) -> set[str]:
    """Anchors as GitHub makes them: lower case, punctuation dropped, blanks to hyphens."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def faults_of(path: Path, text: str) -> list[str]:
    found = []
    if path.suffix == ".md":
        for link in (a or b for a, b in LINK.findall(re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name) if name else path
            if not target.exists():
                found.append(f"{path.relative_to(ROOT)}: the link {link} leads nowhere")
            elif anchor and anchor not in anchors(target.read_text() if target != path else text):
                found.append(f"{path.relative_to(ROOT)}: {link} names a heading that does not exist")
    return found + [f"{path.relative_to(ROOT)}: {name} does not exist" for name in DOCUMENT.findall(text) if not (ROOT / name).exists()]


def selftest() -> int:
    page = ROOT / "docs" / "README.md"
    bad = ["[a](nowhere.md)", "[a](../README.md#no-such-heading)", "see docs/nowhere.md"]
    good = "[a](../README.md) [b](https://example.org/x.md) [c](#a-b)\n# A b\n```\n[a](nowhere.md)\n```\n"
    blind = [text for text in bad if len(faults_of(page, text)) != 1] + ([good] if faults_of(page, good) else [])
    return verdict([f"the check is wrong about: {text}" for text in blind])


def main() -> int:
    if "--selftest" in sys.argv:
        return selftest()
    wrong = []
    for name in tracked():
        path = ROOT / name
        if path.suffix in (".md", ".c", ".h", ".py", ".build") and "/fixtures/" not in name and name != "scripts/check_links.py":
            wrong += faults_of(path, path.read_text(errors="replace"))
    return verdict(wrong)


if __name__ == "__main__":
    sys.exit(main())
