"""The outcomes of checks as JUnit XML: what continuous integration shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from .checking import Outcome

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(outcomes: Sequence[Outcome]) -> bytes:
    """One test case for each function and language: passed, failed, skipped where the language has no words for it."""
    cases = [_case(outcome) for outcome in outcomes]
    count = {kind: sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error", "skipped")}
    suite = ElementTree.Element(
        "testsuite",
        name="symgrad check",
        tests=str(len(cases)),
        failures=str(count["failure"]),
        errors=str(count["error"]),
        skipped=str(count["skipped"]),
        time=f"{sum(o.report.seconds for o in outcomes if o.report is not None):.3f}",
    )
    suite.extend(cases)
    ElementTree.indent(suite)
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"


def _case(outcome: Outcome) -> ElementTree.Element:
    report = outcome.report
    seconds = "0.000" if report is None else f"{report.seconds:.3f}"
    case = ElementTree.Element("testcase", classname=outcome.function, name=outcome.to, time=seconds)
    for kind, said in (("skipped", outcome.refused), ("error", outcome.lacking), ("failure", outcome.failed)):
        if said:
            _part(case, kind, said)
    if report is not None:
        if not report.ok:
            _part(case, "failure", str(report))
        out = ElementTree.SubElement(case, "system-out")
        out.text = _NO_XML.sub("?", str(report))
    return case


def _part(case: ElementTree.Element, kind: str, said: str) -> None:
    said = _NO_XML.sub("?", said)
    part = ElementTree.SubElement(case, kind, message=said.partition("\n")[0])
    part.text = said
