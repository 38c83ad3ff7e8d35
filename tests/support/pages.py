"""Finds in pages (*.md) what a machine can find.

    pages.py TOP links     every link leads to a file or folder that is there, and to a heading in it
    pages.py TOP names     every path of the tree and every source file that a page names in `code` is there,
                           and every name_of_the_code in the pages ABOUT_CODE

Prints one line for each place to be mended and ends with 1; else prints how many places it has looked at. TOP is a
checkout, or what `make install` left.
"""

import itertools
import re
import subprocess
import sys
from pathlib import Path

ROOMS = ("kernels", "comm", "io", "miniapp", "inputs", "jobs", "tests", "docs")
SOURCES = (".c", ".h", ".cu", ".cuh")
ABOUT_CODE = ("docs/architecture.md", "docs/how-it-works.md")
CODE = re.compile(r"`((?:[^`\n]|\n(?!\n))+)`") # may go on in the next line
RENDERED = re.compile(r"^<!-- (?!end)[^\n]* -->\n.*?^<!-- end -->$", re.M | re.S)


def files_of(top):
    """Paths of the tree: those that git knows or would; where there is no checkout all but what was built."""
    if not (top / ".git").exists():
        return sorted(f for f in (str(p.relative_to(top)) for p in top.rglob("*") if p.is_file()) if not f.startswith("build"))
    command = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=top, check=True, capture_output=True, text=True).stdout.splitlines()
    return sorted(f for f in listed if (top / f).exists())


def blank(text):
    """The same number of lines, all empty."""
    return "\n" * text.count("\n")


def without_blocks(text):
    """A page without what no person typed as prose: blocks of code and rendered tables. Lines stay."""
    text = RENDERED.sub(lambda m: blank(m.group()), text)
    text = re.sub(r"^```.*?^```$", lambda m: blank(m.group()), text, flags=re.M | re.S)
    return re.sub(r"^(?: {4}|\t).*$", "", text, flags=re.M)


def without_code(text):
    return CODE.sub(lambda m: "`" + blank(m.group()), without_blocks(text))


def numbered(text):
    return enumerate(text.split("\n"), 1)


# ---- links ----


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them: of equal ones the second ends with -1."""
    found = {}
    for heading in re.findall(r"^#{1,6} +(.*?) *$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return {a + ("-%d" % n if n else "") for a, times in found.items() for n in range(times + 1)}


def links(top):
    for page in (f for f in files_of(top) if f.endswith(".md")):
        here = top / page
        for number, line in numbered(without_code(here.read_text())):
            for link in re.findall(r"\]\(([^)\s]+)\)", line) + re.findall(r'(?:src|href)="([^"]+)"', line):
                if re.match(r"[a-z]+:", link):
                    continue
                path, _, anchor = link.partition("#")
                target = (here.parent / path) if path else here
                wrong = None
                if not target.exists():
                    wrong = "no such file"
                elif anchor and anchor not in anchors(target.read_text()):
                    wrong = "no such heading"
                yield page, number, wrong and "%s: %s" % (link, wrong)


# ---- names in `code` ----


def is_there(name, files, folders):
    """A path, from the top or from some folder, of a file (its ending may be left out) or a folder; * as in a shell."""
    pattern = "".join(".*" if c == "*" else re.escape(c) for c in name.rstrip("/"))
    wanted = re.compile(r"(?:.*/)?%s" % pattern + ("" if name.endswith("/") else r"(?:\.\w+)?"))
    return any(wanted.fullmatch(known) for known in (folders if name.endswith("/") else itertools.chain(files, folders)))


def names(top):
    files = files_of(top)
    folders = {str(p) for f in files for p in Path(f).parents} - {"."}
    sources = [f for f in files if f.endswith(SOURCES)]
    words = {word for f in sources for word in re.findall(r"\w+", Path(f).stem + " " + (top / f).read_text())}
    for page in (f for f in files if f.endswith(".md")):
        for number, line in numbered(without_blocks((top / page).read_text())):
            for name in CODE.findall(line):
                is_path = re.fullmatch(r"(?:%s)/[\w.*/-]*" % "|".join(ROOMS), name)
                is_source = re.fullmatch(r"[\w*/]+\.(?:c|h|cu|cuh|bats|py)", name) or re.fullmatch(r"test_\w+\*?", name)
                if page in ABOUT_CODE and re.fullmatch(r"[a-z0-9]+(?:_[a-z0-9]+)+", name):
                    yield page, number, None if name in words else "`%s`: not in the code" % name
                elif (is_path or is_source) and not re.search(r"[A-Z]{2}", name):
                    yield page, number, None if is_there(name, files, folders) else "`%s`: no such file" % name


def main():
    top, check = Path(sys.argv[1]).resolve(), {"links": links, "names": names}[sys.argv[2]]
    looked, wrong = 0, 0
    for page, number, complaint in check(top):
        looked += 1
        if complaint:
            wrong += 1
            print("%s:%d: %s" % (page, number, complaint))
    if not wrong:
        print(looked)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
