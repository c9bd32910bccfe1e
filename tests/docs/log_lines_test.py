#!/usr/bin/env python3
"""Whether the pages list just the lines that the daemons log, with the names of their fields.

It reads texts alone. In a text, * is what is put in; the pages write "..."."""
import re
import unittest
from fnmatch import fnmatchcase

from reference_test import joined, rows, section, text_of

ARGUMENTS = r'((?:"(?:[^"\\]|\\.)*"|[^"{;])*)'  # up to the fields, or the statement's end
# Where a line of the log gets its text.
SITE = (r"(?:\blog_?(?:\(\))?\.(?:info|warn|error)\(|\bLevel::k(?:Info|Warn|Error)\b(?!:)"
        r"|\b(?:line|note|notes\.back\(\))\.text =|\bhandler_\.warn\()")


def texts_made(arguments):
    """The texts in C++: a sum is one, with * for what is no literal."""
    texts, goes_on = [], False
    for before, text, after in re.findall(r'(\+\s*)?"((?:[^"\\]|\\.)*)"(\)?\s*\+)?', arguments):
        if goes_on:
            texts[-1] += "*" + text
        else:
            texts.append(("*" if before else "") + text)
        goes_on = bool(after)
    if goes_on:
        texts[-1] += "*"
    return {re.sub(r"\s*\*\s*", "*", text) for text in texts}


def first_spans(page, *headings):
    """What is in backquotes in the first cells."""
    return [span for heading in headings for cells in rows(section(text_of(page), heading))
            for span in re.findall(r"`([^`]+)`", cells[0])]


def only_in(some, others):
    return sorted(one for one in some if not any(fnmatchcase(one, other) or fnmatchcase(other, one) for other in others))


class LogLines(unittest.TestCase):
    def compare(self, page, headings, sources, elsewhere, others=()):
        """`elsewhere`: what may stand in the place of a text, and where that text is made. `others`: lines of scripts."""
        source = joined(text_of(*sources))
        sites = re.findall(SITE + ARGUMENTS, source)
        places = "\n".join(re.sub(r"^[\s,=]*(?:\.text = )?", "", site) for site in sites if '"' not in site)
        self.assertEqual(set(re.findall(r"^[\w:.]+", places, re.M)), set(elsewhere), "where is the text of these lines made?")
        made = {text for site in sites for text in texts_made(site)}.union(others)
        for where in filter(None, elsewhere.values()):
            found = re.findall(rf"(?:{where}){ARGUMENTS}", source)
            self.assertNotEqual(found, [], where)
            made |= {text for site in found for text in texts_made(site)}
        self.assertGreater(len(made), 20)

        spans = first_spans(page, *headings)
        stated = {re.sub(r"\s*\.\.\.\s*", "*", re.split(r"\s+[\w./]+=", span)[0]) for span in spans}
        self.assertEqual(only_in(stated, made), [], f"in {page}, and not logged")
        self.assertEqual(only_in(made, stated), [], f"logged, and not in {page}")
        fields = {field for span in spans for field in re.findall(r" ([\w./]+)=", re.sub(r'"[^"]*"', "", span))}
        self.assertGreater(len(fields), 3)
        self.assertEqual([field for field in sorted(fields) if f'"{field}"' not in source], [], "fields that are not written")

    def test_of_the_agent(self):
        headings = ("### Start and connection", "### A container", "### Fences and kernel noise", "### Counting")
        sources = ("agent/**/*.cpp", "agent/engine/note.h", "base/**/*.cpp", "nri-plugin/*.cpp", "policy/*.cpp")
        self.compare("docs/operate.md", headings, sources, {
            "text": r"\bforeign_quota\(|\bconst std::string text =(?= \"the runtime)",
            "answer.text": r"\banswer\.text =(?= \")",
            "std::string": r"\bkRefused =",
            "kResizeRefused": r"\bkResizeRefused =",
            "warning": r"\bfound\.push_back\(|\bplanned\.ignored =|\bwarnings\.push_back\((?!planned)",
            "std::move": None,  # base/log itself
        })

    def test_of_the_extender(self):
        sources = ("cluster/extender/**/*.cpp", "policy/annotations.h")
        self.compare("docs/operate.md", ("## Log lines of the extender",), sources, {
            "text": r"\bkNot(?:Read|Written) =",
            "texts.at": r"\btexts = \{",
        })

    def test_of_the_slurm_bridge(self):
        scripts = re.findall(r'echo "([\w-]+: [^"]*)"', text_of("cluster/slurm/*.sh"))
        self.assertGreater(len(scripts), 1)
        self.compare("docs/virtual-clusters.md", ("### Log lines",), ("cluster/slurm/*.cpp",), {
            "to_text": r"\boperator\(\)\(const \w+& it\) const \{\s*return",
        }, [re.sub(r"\s*\$\w+\s*", "*", line) for line in scripts])

    def test_every_other_text_is_in_the_sources(self):
        """Why the agent ends at its start, and a container's trouble."""
        source = joined(text_of(*(f"{folder}/**/*.{end}" for folder in ("agent", "base", "policy", "topology")
                                  for end in ("cpp", "h"))))
        spans = first_spans("docs/operate.md", "### The agent ends at once", "### Troubles")
        self.assertGreater(len(spans), 15)
        # Names of settings and in quotes, and addresses, are put in.
        parts = [part.strip(" ():/") for span in spans for part in re.split(r"\.\.\.|'\w+'|\(\.\.\.\)", span)]
        self.assertEqual([part for part in parts if part not in source], [])


if __name__ == "__main__":
    unittest.main()
