#!/usr/bin/env python3
"""Whether the pages that people look things up in say what the sources say: settings, annotations, alerts, log lines.

It reads texts alone. The tables of series and of doctor's checks have tests of their own, beside what makes them."""
import glob
import os
import re
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def text_of(*patterns):
    found = sorted(path for pattern in patterns for path in glob.glob(f"{TOP}/{pattern}", recursive=True))
    if not found:
        raise AssertionError(f"no file {patterns}")
    texts = []
    for path in found:
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    return "\n".join(texts)


def joined(source):
    """Literals that stand on several lines as one."""
    return re.sub(r'"\s*\n\s*"', "", source)


def section(text, heading):
    """What stands below it, up to the next heading of its level; without blocks of code."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    level = re.match("#+", heading).group(0)
    start = text.index(f"\n{heading}\n")
    end = re.compile(rf"^#{{1,{len(level)}}} ", re.M).search(text, start + len(heading) + 2)
    return text[start:end.start() if end else len(text)]


def rows(text):
    """Of all tables: the cells of each line."""
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.split("\n") if line.startswith("| `")]


def settings_of(*sources):
    """Each key that a program reads, with its default where the help states a short one."""
    row = r'(?:\(\s*|\.key = )"([a-z][A-Za-z]+)",\s*(?:\.help =\s*)?(?:"((?:[^"\\]|\\.)*)"|\{\})'
    found = dict(re.findall(row, joined(text_of(*sources))))
    return {key: (re.search(r"\[([^\s\[\]]+)\]$", about) or [None, None])[1] for key, about in found.items()}


class Settings(unittest.TestCase):
    def compare(self, page, heading, default_at, *sources):
        source = text_of(*sources)
        stated = {}
        for cells in rows(section(text_of(page), heading)):
            for key in re.findall(r"`([A-Za-z]+)`", cells[0]):
                # Several keys in a row have several defaults: not compared.
                stated[key] = cells[default_at].strip('`"') if "`, `" not in cells[0] else None
        settings = settings_of(*sources)
        self.assertGreater(len(settings), 15)
        self.assertEqual([key for key in settings if key not in stated], [], f"not in {page}")
        self.assertEqual([key for key in stated if f'"{key}"' not in source], [], f"in {page}, and no setting")
        compared = [key for key, default in settings.items()
                    if default and stated[key] and " " not in stated[key] and default not in ("none", "nothing")]
        self.assertGreater(len(compared), 5)
        for key in compared:
            self.assertEqual(stated[key], settings[key], f"default of {key} in {page}")

    def test_of_the_agent(self):
        self.compare("docs/configuration.md", "## Settings", 2, "agent/settings.cpp", "policy/reserved_settings.cpp",
                     "policy/settings.cpp")

    def test_of_the_extender(self):
        self.compare("docs/kubernetes.md", "## Settings", 1, "cluster/extender/program/config.cpp")

    def test_of_the_slurm_bridge(self):
        self.compare("docs/virtual-clusters.md", "## For the operator", 1, "cluster/slurm/config.cpp")


class Examples(unittest.TestCase):
    def test_the_cores_example_of_an_adapter_is_the_one_that_a_test_runs(self):
        page = re.search(r"^```cpp\n(.*?)^```$", text_of("cluster/core/README.md"), re.M | re.S).group(1)
        test = re.search(r"// README: begin\n(.*?)// README: end",
                         text_of("tests/unit/cluster_core/adapter_example_test.cpp"), re.S).group(1)
        self.assertEqual(page.split(), test.split())


class Names(unittest.TestCase):
    def test_every_annotation_and_label_is_on_the_page_and_no_other(self):
        names = set(re.findall(r'"pinion\.dev/([a-z-]+)"', text_of("policy/annotations.h")))
        self.assertGreater(len(names), 50)
        page = text_of("docs/annotations.md")
        self.assertEqual([name for name in sorted(names) if f"`{name}`" not in page], [])
        stated = [cells[0].strip("`") for cells in rows(section(page, "## Of a pod"))]
        self.assertGreater(len(stated), 10)
        self.assertEqual([name for name in stated if name not in names], [])

    def test_every_figure_of_the_elastic_policy_is_on_the_page(self):
        knobs = {key: default for key, default in settings_of("cluster/extender/program/config.cpp").items()
                 if key.startswith("elastic") and key != "elastic"}
        self.assertGreater(len(knobs), 3)
        stated = rows(section(text_of("docs/elastic.md"), "### What `ours` weighs"))
        self.assertEqual({cells[0].strip("`"): cells[1].strip("`") for cells in stated}, knobs)

    def test_every_alert_has_what_to_do(self):
        alerts = re.findall(r"- alert: (\w+)", text_of("deploy/chart/pinion/rules/alerts.yaml"))
        self.assertGreater(len(alerts), 10)
        told = [re.match(r"`(\w+)`", cells[0]).group(1) for cells in rows(section(text_of("docs/operate.md"), "## Alerts"))]
        self.assertEqual(sorted(told), sorted(alerts))


class Rights(unittest.TestCase):
    def test_every_right_of_the_extender_has_a_row_and_no_other(self):
        chart = text_of("deploy/chart/pinion/templates/rbac.yaml")  # with what options add
        rule = r"- {apiGroups: \[(.*?)\], resources: \[(.*?)\],(?: resourceNames: \[.*?\],)? verbs: \[(.*?)\]}"
        rules = re.findall(rule, chart)
        self.assertEqual(len(rules), chart.count("apiGroups:"), "a rule is written otherwise")
        given = set()
        for groups, resources, verbs in rules:
            for group in groups.replace('"', "").split(", "):
                given |= {f"{verb} {resource}{'.' if group else ''}{group}"
                          for resource in resources.split(", ") for verb in verbs.split(", ")}
        lines = [line.split() for line in text_of("tests/e2e/rights.txt").splitlines() if not line.startswith("#")]
        self.assertEqual(sorted(" ".join(words[:2]) for words in lines), sorted(given))
        self.assertEqual({len(words) for words in lines}, {4})


class LogLines(unittest.TestCase):
    SOURCES = ("agent/**/*.cpp", "base/**/*.cpp", "base/*.h", "cluster/extender/**/*.cpp", "nri-plugin/**/*.cpp", "policy/*.cpp")
    AGENT = "## Log lines of the agent"
    EXTENDER = "## Log lines of the extender"

    def setUp(self):
        self.page = text_of("docs/operate.md")
        self.source = joined(text_of(*self.SOURCES))

    def test_every_line_on_the_page_is_in_the_sources(self):
        for heading in (self.AGENT, self.EXTENDER, "### Troubles"):
            lines = [line for cells in rows(section(self.page, heading)) for line in re.findall(r"`([^`]+)`", cells[0])]
            self.assertNotEqual(lines, [])
            # Up to the first value: "NAME=", "...", or one in brackets or quotes.
            fixed = {line: re.split(r"\s*\.\.\.|\s+\w+=|\s*\(|(?<= )'", line)[0].rstrip() for line in lines}
            self.assertEqual([line for line, text in fixed.items() if text not in self.source], [])

    def test_every_line_in_the_sources_is_on_the_page(self):
        said = re.compile(r'(?:\blog_?(?:\(\))?\.(?:info|warn|error)\(\s*(?:\w+ \? )?|\b(?:note(?:_of)?|say)\(\s*(?:Note::)?Level::\w+,\s*'
                          r'|\bloan_note\(|\bNote [^;]*?\.text = |\{\.level = [^;]*?\.text = )"([^"]+)"')
        lines = set(said.findall(self.source))
        self.assertGreater(len(lines), 80)
        missing = [line for line in sorted(lines) if line.split("...")[0][:40] not in self.page]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
