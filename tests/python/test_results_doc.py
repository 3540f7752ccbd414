# SPDX-License-Identifier: BSD-3-Clause
"""What docs/guide.md and docs/api.md say of reading a run is there, and its examples run."""
import re
from pathlib import Path

import lanescope
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def section(document, heading):
    text = (DOCS / document).read_text(encoding="utf-8")
    return re.search(rf"^## {heading}\n(.*?)(?=^## )", text, flags=re.M | re.S)[1]


@pytest.fixture
def run(tmp_path, monkeypatch):
    with lanescope.session(tmp_path / "run.h5", verbose=False):
        for _ in range(3):
            with lanescope.region("solve"), lanescope.region("precondition"):
                pass
    monkeypatch.chdir(tmp_path)
    return lanescope.read_h5("run.h5")


def test_the_examples_of_the_guide_run(run, capsys):
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", section("guide.md", "Reading a run"), flags=re.S)
    assert len(blocks) == 3
    for block in blocks:
        if "to_dataframe" in block:
            pytest.importorskip("pandas")
        exec(block, names)
    out = capsys.readouterr().out
    assert f"solve 3 {run['solve'].mean_time}" in out and "  precondition" in out
    assert len(names["durations"]) == 3 == len(names["calls"]["call_ids"])


def test_what_the_reference_names_is_there(run):
    text = section("api.md", "Reading a run")
    parts = dict(re.findall(r"^### (.*?)\n(.*?)(?=^### |\Z)", text, flags=re.M | re.S))
    region = run["solve"]
    objects = {
        "Results": [run],
        "Statistics": [region, region[0], region[0].for_thread(0)],
        "CallStack": [run.call_stack(0)],
    }
    for heading, several in objects.items():
        rows = re.findall(r"^\| (`.*?) \|", parts[heading], flags=re.M)
        names = [name for row in rows for name in re.findall(r"`(\w+)", row)]
        assert len(names) > 10
        for one in several:
            assert [name for name in names if not hasattr(one, name)] == []
    for kind, names in re.findall(r"^\| `(\w+Info)` \| (.*) \|$", parts["Threads, tasks and lanes"], flags=re.M):
        assert [name for name in re.findall(r"\w+", names) if not hasattr(getattr(lanescope, kind), name)] == []
    fields = re.search(r"`CallRow` tuples with (.*?), made", parts["CallStack"], flags=re.S)[1]
    assert re.findall(r"`(\w+)`", fields) == list(lanescope.CallRow._fields)
