"""Finds in pages (*.md) what a machine can find.

    pages.py TOP links     every link leads to a file or folder that is there, and to a heading in it
    pages.py TOP names     every path of the tree and every source file that a page names in `code` is there,
                           every name_of_the_code in the pages ABOUT_CODE, and every docs/PAGE.md, "HEADING"
                           that code cites

Prints what is to be mended and ends with 1; else prints how many places it has looked at. TOP is a checkout,
or what `make install` left.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOMS = "(?:kernels|comm|io|miniapp|inputs|jobs|tests|docs)/"
SOURCES = (".c", ".h", ".cu", ".cuh")
ABOUT_CODE = ("docs/architecture.md", "docs/how-it-works.md")
CODE = r"`((?:[^`\n]|\n(?!\n))+)`"  # may go on in the next line


def files_of(top):
    """Paths of the tree: those that git knows or would; where there is no checkout all but what was built."""
    if not (top / ".git").exists():
        found = (str(path.relative_to(top)) for path in top.rglob("*") if path.is_file())
        return sorted(path for path in found if not path.startswith("build"))
    command = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=top, check=True, capture_output=True, text=True).stdout.splitlines()
    return sorted(path for path in listed if (top / path).exists())


def without_blocks(text):
    """A page without what no person typed as prose: rendered tables and blocks of code."""
    text = re.sub(r"^<!-- (?!end)[^\n]* -->\n.*?^<!-- end -->$|^```.*?^```$", "", text, flags=re.M | re.S)
    return re.sub(r"^(?: {4}|\t).*$", "", text, flags=re.M)


def headings(text):
    return re.findall(r"^#{1,6} +(.*?) *$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them; no page links one of two equal headings."""
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings(text)]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def links(top):
    for page in (path for path in files_of(top) if path.endswith(".md")):
        text = re.sub(CODE, "", without_blocks((top / page).read_text()))
        for link in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text):
            path, _, anchor = link.partition("#")
            target = (top / page).parent / path if path else top / page
            if not re.match("[a-z]+:", link):
                is_there = target.exists() and (not anchor or anchor in anchors(target.read_text()))
                yield is_there, "%s: no %s" % (page, link)


def names(top):
    files = files_of(top)
    folders = {str(folder) for path in files for folder in Path(path).parents}
    # an ending may be left out
    known = "\n".join([*files, *(re.sub(r"\.\w+$", "", path) for path in files), *folders])
    code = {path: (top / path).read_text() for path in files if path.endswith(SOURCES)}
    words = {word for path, text in code.items() for word in re.findall(r"\w+", Path(path).stem + " " + text)}
    for page in (path for path in files if path.endswith(".md") and path != "CHANGELOG.md"):
        for name in re.findall(CODE, without_blocks((top / page).read_text())):
            if page in ABOUT_CODE and re.fullmatch(r"[a-z0-9]+(?:_[a-z0-9]+)+", name):
                yield name in words, "%s: `%s` is not in the code" % (page, name)
            elif re.fullmatch(ROOMS + r"[\w.*/-]*|[\w*/]+\.(?:c|h|cu|cuh|bats|py)|test_\w+\*?", name):
                pattern = re.escape(name.rstrip("/")).replace(r"\*", ".*")  # from the top or from some folder
                is_there = re.search("[A-Z]{2}", name) or re.search("^(.*/)?%s$" % pattern, known, re.M)
                yield is_there, "%s: `%s` is no file" % (page, name)
    for path, text in code.items():
        for page, heading in re.findall(r'(docs/[a-z-]+\.md)(?:, "([^"\n]*)")?', text):
            is_there = page in files and (not heading or heading in headings((top / page).read_text()))
            yield is_there, "%s cites %s, '%s'" % (path, page, heading)


places = list({"links": links, "names": names}[sys.argv[2]](Path(sys.argv[1]).resolve()))
wrong = [complaint for is_there, complaint in places if not is_there]
print("\n".join(wrong) if wrong else len(places))
sys.exit(wrong != [])
