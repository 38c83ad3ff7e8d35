"""The plan of a run on ranks that are not here, as the program makes it: `weft run --dry-run --json`."""

import json
import math
import os
import pathlib
import subprocess
from dataclasses import replace
from functools import lru_cache

from weftlab.predict_model import Case, exchange_alone, exchange_over, knows, parts_of_step

HERE = pathlib.Path(__file__).resolve().parents[2]


@lru_cache(maxsize=None)
def ask(*words):
    """The plan, or the sentence that refuses it."""
    weft = os.environ.get("WEFT") or str(HERE / "build" / "weft")
    done = subprocess.run([weft, "run", *words, "--dry-run", "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def case_of(plan, steps=None, **changes):
    steps = steps or plan["fuse"]
    made = Case(
        problem=plan["problem"],
        **{key: plan[key] for key in ("ranks", "ranks_x", "ranks_y", "per_host", "transport", "norm_every")},
        **{axis: float(plan["grid"][axis]) for axis in ("nx", "ny")},
        form=plan["step_form"],
        graph=plan["feed"] == "graph",
        steps=steps,
        norm_in_pass=plan["norm_in_pass"],
        pass_cells=plan["pass"]["cells"] if plan["pass"] else 0,
    )
    return replace(made, **changes)


def exchange_answers(machine, plan):
    """Of each transport, within a host and between hosts; what cells do on their way to MPI takes as long
    there."""
    case = case_of(plan, steps=max(1, plan["halo"]["depth_cells"] // plan["problem"]["radius"]))
    answers = {}
    for transport in plan["asks"]["exchange_s"]:
        over = replace(case, transport=transport)
        inside_s, between_s = (exchange_over(machine, over, far) for far in (False, True))
        seconds = (inside_s, between_s if math.isnan(inside_s) else max(inside_s, between_s))
        answers[transport] = [None if math.isnan(s) else s for s in seconds]
    return answers


def block_answers(machine, plan):
    """Seconds per step with an exchange and nothing beside it. Blocks that no record tells of, or with
    columns cut, are not tried."""
    answers = {}
    for asked in plan["asks"]["block_s"]:
        steps = asked["steps"]
        case = case_of(plan, steps, form="overlapped", graph=False, norm_every=0, pass_cells=asked["cells"])
        parts = None
        if steps == 1 or (case.ranks_x == 1 and case.kernel in machine.pass_cell_s):
            parts = parts_of_step(machine, case)
        if parts:
            parts["exchange"] = exchange_alone(machine, case) / steps
        answers[str(steps)] = parts and sum(parts.values())
    return answers


def transpose_answers(machine, plan):
    return {t: not math.isnan(machine.transpose_rate(t, plan["ranks"])) for t in plan["asks"]["transposes"]}


ANSWERS = {"exchange_s": exchange_answers, "transposes": transpose_answers, "block_s": block_answers}


def plan_of(machine, words, ranks, per_host):
    """The plan that the program makes when the model answers its trial's questions, in their order."""
    answers = {}
    on = (f"ranks={ranks}", f"per_host={per_host}", f"run.device={'cuda' if machine.cuda else 'host'}")
    while True:
        plan = ask(*words, *on, "answers=" + json.dumps(answers))
        if isinstance(plan, str) or not plan["asks"]:
            return plan
        question = next(key for key in ANSWERS if key in plan["asks"])
        answers.setdefault(question, {}).update(ANSWERS[question](machine, plan))


def unknown(machine, plan, case):
    """What of it no record tells, or None. Also where another transport would serve in place of the one that
    the deck asks for: to say so is a run's business."""
    wanted, asked = case, plan["transport_asked"]
    if machine.cuda and asked not in ("auto", case.transport):
        wanted = replace(case, transport=asked, form="overlapped")
    if knows(machine, case) and knows(machine, wanted):
        return None
    if case.steps > 1 and case.kernel not in machine.pass_cell_s:
        return f"no record shows what blocks of {case.steps} steps of this stencil cost"
    return f"no record shows what {'any transport' if asked == 'auto' else asked} costs on {case.ranks} ranks"
