#!/usr/bin/env python3
"""Refuses the words of the house glossary that are not plain English: in string literals, comments, documents and identifiers.

usage: check_words.py [FOLDER|FILE]...        hits, each with its place and the better word; exit 1 if there is one (default: all but tests/)
       check_words.py --count FOLDER...       hits of each folder
       check_words.py --selftest              planted faults are seen, and harmless look-alikes are not

Prose is comments, string literals and documents; identifiers are what is left of a source file, split at `_` and at capitals.
A word that belongs there (a quotation, a field of a foreign format) is excused by `words:ok` on its line.
"""
import re
import sys

from check_layers import ROOT, tracked

SUFFIXES = (".c", ".h", ".py", ".sh", ".md", ".js", ".pyi", ".build", "Makefile")
LEFT_OUT = re.compile(r"(^|/)(fixtures|corpus)/|_answers\.h$|^reports/|^scripts/check_words\.py$|^LICENSE$|\.svg$")

# (pattern, better words); upper and lower case alike, blanks also match a line's end
PROSE = [
    (r"\b(is|are|was|were|be|been|being) (not |never )?told\b", "is reported, is passed, receives"),
    (r"\btells? (apart|which|what|how|whether|that|of|the|a|an|its|all|only|nothing|it|them|him|why|where|when|more)\b", "reports, returns, distinguishes"),
    (r"\btold (apart|by|what|that|of|which|how)\b", "distinguished, reported"),
    (r"\bsays? (so|what|that|which|how|whether|why|where|when|nothing|of|no|it|the|a|an|in words)\b", "states, reports"),
    (r"\b(is|was|are|were) said\b", "is stated, is reported"),
    (r"\bsay (1|one|0|how|which|what)\b", "must be at least 1, specify"),
    (r"\bstands? (there|twice|in|at|on|alone|beside|behind|above|below|here|as|still)\b", "is, is listed, represents"),
    (r"\b(gives?|gave|given) away\b", "reveals"),
    (r"\banew\b", "again"),
    (r"\bonce more\b", "again"),
    (r"\bat the least\b", "at least"),
    (r"\bwhole numbers?\b", "integer"),
    (r"\bpass(es|ed)? over\b", "ignore, skip"),
    (r"\bturn(s|ed) over\b", "inverted, reversed"),
    (r"\bis (?-i:none)\b", "is invalid, is empty, is not one"),
    (r"\bthat (is|are) none\b", "not a number"),
    (r"\bnobody\b", "no one, unknown, none"),
    (r"\bsomebody\b", "someone, a user"),
    (r"\bdecides? nothing\b", "too few to decide"),
    (r"\bwhat (a|the) [a-z]+ takes\b", "the time and resources it uses"),
    (r"\bhow surely\b", "with confidence"),
    (r"\bbears? (it |them )?(out|witness)\b", "support, confirm"),
    (r"\b(knows|knew) (of|nothing|how|what|which|its|the|no|about)\b", "has, supports, records"),
    (r"\bwants? (to|it|a|an|the|no|its|one|only|them)\b", "needs, requires, expects"),
    (r"\bhears? (of|from|about|nothing|it)\b", "is notified, receives"),
    (r"\bmends?\b|\bmended\b", "repair"),
    (r"\bhas no room\b|\broom (left|for)\b", "capacity, space"),
    (r"\bslopes\b", "gradients"),
    (r"\bis due\b|\bare due\b", "is pending"),
    (r"\bsettles?\b|\bsettled\b", "check, resolve"),
    (r"\bset aside\b|\bput aside\b|\blaid aside\b", "excluded, separated"),
    (r"\bit is not there\b|\bis not there\b", "is missing, does not exist"),
    (r"\bcomes? to its end\b", "ends, finishes"),
    (r"\bof (an)?other age\b", "of another version"),
    (r"\bhas (its|their) say\b", "applies"),
    (r"\bmost of all\b", "above all"),
    (r"\bby heart\b", "from memory"),
    (r"\bby hand of\b", "by"),
    (r"\bin words\b", "as text"),
]
# the same, in string literals and documents alone: comments may still have them
MESSAGES = [
    (r"\ball the same\b", "anyway"),
    (r"\bcannot be had\b", "is not available"),
    (r"\b(larger|longer) than memory can be\b", "larger than the address space"),
    (r"\bbeginnings? of (ids|one|an id)\b", "unique prefix"),
    (r"\b(is|are) wanted\b", "is required, is requested"),
    (r"\bspeaks? (version|interface|protocol)\b", "has, uses"),
    (r"\bcut short\b", "truncated"),
    (r"\b(means|proves) nothing\b", "is meaningless, is no evidence"),
    (r"\bfor want of\b", "for lack of"),
    (r"\bfor ever\b", "forever"),
    (r"\bheld against\b", "compared with"),
    (r"\bdoes not know (why|what|how)\b", "reports an unknown cause"),
    (r"(?<!there) is no (regular|HDF5|object|array|group|text|number|name|list|file|folder|dtype|state|day)\b", "is not a"),
    (r"\ball (when|if) left out\b", "default: all"),
    (r"\bof the order and the\b", "seed of the order"),
    (r"\b(of|by) that is none\b", "invalid"),
    (r"\b(\w+ \w+),? \1\b", "the phrase once"),
    (r"\b(a|an|and|of|that|the|this|to|with) \1\b", "the word once"),
]
# a part of an identifier, whole
PARTS = {
    "told": "reported", "tells": "reports", "anew": "again", "least": "min", "most": "max", "room": "capacity", "slopes": "gradients",
    "pulled": "vjp", "pushed": "jvp", "mend": "repair", "hears": "receives", "nobody": "no_one", "things": "objects", "thing": "object", "said": "reported",
    "stands": "is", "surely": "confidence",
}
PARTS_OK = re.compile(r"^(at_least|at_most|most_common)$|least_squares|leastsq|mostly|almost|linear_least|utmost|foremost|topmost|bottommost|leftmost|rightmost|innermost|outermost|__ATOMIC|isleast")
COMPILED, IN_MESSAGES = ([(re.compile(pattern.replace(" ", r"[\s*#/]+"), re.IGNORECASE), better) for pattern, better in rows]
                         for rows in (PROSE, PROSE + MESSAGES))
C_TOKENS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
HASH_TOKENS = re.compile(r'"""(?:.|\n)*?"""|\'\'\'(?:.|\n)*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(?<![\w$&])#[^\n]*')
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")


def split(path: str, text: str) -> tuple[list[tuple[int, str]], str]:
    """Prose with its places, and the text in which prose is blank."""
    if path.endswith(".md"):
        blank = re.sub(r"^```.*?^```|`[^`\n]*`", lambda m: re.sub(r"[^\n]", "`", m[0]), text, flags=re.S | re.M)
        return [(0, blank)], ""
    tokens = C_TOKENS if path.endswith((".c", ".h", ".js")) else HASH_TOKENS
    prose = [(m.start(), m[0]) for m in tokens.finditer(text) if not re.match(r'\s*#\s*include', text[text.rfind("\n", 0, m.start()) + 1:m.start()])]
    return join(prose, text), tokens.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def join(prose: list[tuple[int, str]], text: str) -> list[tuple[int, str]]:
    """Lines of one comment as one text."""
    joined: list[tuple[int, str]] = []
    for at, part in prose:
        if joined and part[:1] == "#" and joined[-1][1][:1] == "#":
            before, last = joined[-1]
            gap = text[before + len(last):at]
            if gap.strip() == "" and gap.count("\n") == 1:
                joined[-1] = (before, last + gap + part)
                continue
        joined.append((at, part))
    return joined


def hits_of(path: str, text: str) -> list[str]:
    found = []
    lines = text.splitlines()

    def add(at: int, word: str, better: str) -> None:
        number = text.count("\n", 0, at) + 1
        if "words:ok" not in lines[number - 1]:
            found.append(f"{path}:{number}: '{' '.join(word.split())}': {better}")

    prose, code = split(path, text)
    for start, part in prose:
        for pattern, better in COMPILED if part[:1] in "/#" else IN_MESSAGES:
            for match in pattern.finditer(part):
                add(start + match.start(), match[0], better)
    for match in IDENTIFIER.finditer(code):
        name = match[0]
        if PARTS_OK.search(name.lower()):
            continue
        for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name):
            if part.lower() in PARTS:
                add(match.start(), name, f"'{part.lower()}' as a part of a name: {PARTS[part.lower()]}")
    return found


def files_below(names: list[str]) -> list[str]:
    return [f for f in tracked(*names) if f.endswith(SUFFIXES) and not LEFT_OUT.search(f)]


def hits_below(names: list[str]) -> list[str]:
    return [hit for path in files_below(names) for hit in hits_of(path, (ROOT / path).read_text(encoding="utf-8"))]


def selftest() -> int:
    planted = {
        "a comment": ("a.c", "/* The caller is told the size. */\n"),
        "a comment over two lines": ("a.c", "/* The caller is\n * told the size. */\n"),
        "a string": ("a.c", 'f("say 1 or more");\n'),
        "a document": ("a.md", "# Title\n\nEach key stands twice.\n"),
        "a docstring": ("a.py", '"""Measures anew."""\n'),
        "a comment of a script": ("a.sh", "echo x # once more\n"),
        "two lines of a script": ("a.sh", "# measures once\n# more\n"),
        "an identifier": ("a.c", "int cbx_test_told(void);\n"),
        "a macro": ("a.c", "#define FILES_MOST 3\n"),
        "camel case": ("a.js", "let pointsTold = 3;\n"),
        "an integer": ("a.c", 'f("must be a whole number");\n'),
        "upper case": ("a.md", "Anew.\n"),
        "a build file": ("meson.build", "# what is told\n"),
        "a phrase twice": ("a.c", 'f("number of number of launches");\n'),
        "a missing article": ("a.c", 'f("\'x\' is no object");\n'),
        "a prefix": ("a.c", 'f("the beginning of one, or latest");\n'),
        "a cut file": ("a.md", "The file was cut short.\n"),
        "a wish": ("a.c", 'f("a GPU is wanted");\n'),
    }
    harmless = {
        "at least": ("a.c", "/* at least 1, at most 2, the least squares fit, most runs */\n"),
        "a block of code": ("a.md", "```c\nint x; /* anew */\n```\n"),
        "None": ("a.md", "A missing value is None.\n"),
        "git push": ("a.md", "Run `git push`, and look up the answer in the table.\n"),
        "look up": ("a.c", "static int look_up(void);\n"),
        "least squares": ("a.c", "int cbx_least_squares(void);\nint leftmost_bit;\n"),
        "almost": ("a.c", "int almost_equal; /* almost all */\n"),
        "an include": ("a.c", '#include "told.h"\n'),
        "excused": ("a.c", 'f("anew"); /* words:ok */\n'),
        "code in a string of code": ("a.py", "x = understand\n"),
        "outstanding": ("a.md", "Outstanding work; the standard stands.\n"),
        "push and pull": ("a.c", "queue_push(q); /* a pull request */\n"),
        "there is no": ("a.c", '/* there is no object; it is no longer needed, and of no use */\n'),
        "a comment of a message's phrase": ("a.c", "/* the file is cut short */\n"),
        "a shell variable": ("a.sh", 'echo "$#" "${x#y}"\n'),
    }
    wrong = [f"not seen: {name}" for name, (path, text) in planted.items() if len(hits_of(path, text)) != 1]
    wrong += [f"seen: {name}: {hits_of(path, text)}" for name, (path, text) in harmless.items() if hits_of(path, text)]
    print("\n".join(wrong) or f"{len(planted)} planted faults seen, {len(harmless)} look-alikes passed")
    return 1 if wrong else 0


def main() -> int:
    words = sys.argv[1:]
    if words == ["--selftest"]:
        return selftest()
    if words[:1] == ["--count"]:
        for folder in words[1:] or ["."]:
            print(f"{len(hits_below([folder])):6} {folder}")
        return 0
    hits = hits_below(words or [".", ":!tests"])
    print("\n".join(hits) if hits else "no hits")
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main())
