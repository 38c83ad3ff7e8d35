"""Judges records of `weft check`: which figures are slow, and which part of the machine explains most.

  judge check.jsonl                     one check: verdict, suspects with confidence and evidence, each figure
  judge checks                          a folder of NODE.jsonl (jobs/check.sbatch): the nodes, the worst first
  judge check.jsonl --page check.html   the same as one page for a browser, with maps of pairs and rounds

All rounds of a check count; of each node the last check. With several nodes each figure of a node, the
median of its parts, also stands next to the median of all nodes. A node is slow there where it lies further
below than 3 %, than its own noise, and than four times the median deviation of the nodes. A rank that is
silent is named.

Exit status: 0 all deliver, 1 some are slow or wrong, 2 there are no records, 3 a check is incomplete, or
numpy (for a page jinja2) is missing, 4 nothing could be judged. Records of machines without Python are judged
elsewhere.
"""

from weftlab import files, records, text

COMMAND = "judge"


def main():
    parser = text.parser(COMMAND, __doc__)
    parser.add_argument("paths", nargs="+", metavar="FOLDER|FILE.jsonl", help="records, or a folder of them")
    parser.add_argument("--page", metavar="FILE.html", help="write a page for a browser")
    reference = "of jobs/check_reference; or none (that of this GPU, where there is one)"
    parser.add_argument("--reference", metavar="FILE.json", help=reference)
    asked = parser.parse_args()
    text.need(COMMAND, "numpy", *["jinja2"] * bool(asked.page))
    from weftlab import check_text, checks  # pylint: disable=import-outside-toplevel

    text.leave_with_the_reader()
    if asked.page:
        files.check(asked.page, COMMAND, asked.paths)
    last = dict(checks.rounds_of(asked.paths, COMMAND))
    if not last:
        text.fail(COMMAND, "%s: no records of weft check" % " ".join(asked.paths))
    nodes = []
    for hosts, rounds in last.items():
        gpu = str(records.at(rounds[-1]["ranks"][0], "gpu") or "") if rounds[-1]["ranks"] else ""
        reference = checks.reference_of(asked.reference, gpu) if asked.reference else None
        nodes.append(check_text.Node(hosts, checks.Check(rounds, reference)))
    one = len(nodes) == 1
    lines = list(check_text.lines_of_check(nodes[0].check) if one else check_text.lines_of_nodes(nodes))
    if asked.page:  # first: a reader of the lines may leave
        from weftlab import check_page  # pylint: disable=import-outside-toplevel

        files.write(asked.page, check_page.page(nodes), COMMAND)
    for line in lines:
        print(text.printable(line))
    return checks.STATUS[max((node.verdict for node in nodes), key=checks.WEIGHT.get)]
