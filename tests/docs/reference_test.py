#!/usr/bin/env python3
"""Whether the pages that people look things up in say what the sources say: settings, annotations, alerts, rights,
options; and whether links lead somewhere.

It reads texts alone. The tables of series and of doctor's checks have tests of their own, beside what makes them."""
import functools
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
        with open(path, encoding="utf-8", errors="replace") as file:
            texts.append(file.read())
    return "\n".join(texts)


def all_files():
    for folder, below, names in os.walk(TOP):
        below[:] = [name for name in below if name != "build" and not name.startswith((".", "__"))]
        yield from (os.path.relpath(os.path.join(folder, name), TOP) for name in names)


FILES = sorted(all_files())
PAGES = [path for path in FILES if path.endswith(".md") and path != "scripts/papers/text.md"]  # what docs/papers.md is made of


def joined(source):
    """Literals that stand on several lines as one."""
    return re.sub(r'"\s*\n\s*"', "", source)


def without_blocks(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def section(text, heading):
    """What stands below it, up to the next heading of its level; without blocks of code."""
    text = without_blocks(text)
    level = re.match("#+", heading).group(0)
    start = text.index(f"\n{heading}\n")
    end = re.compile(rf"^#{{1,{len(level)}}} ", re.M).search(text, start + len(heading) + 2)
    return text[start:end.start() if end else len(text)]


def rows(text):
    """Of all tables: the cells of each line."""
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.split("\n") if line.startswith("| `")]


def settings_of(*sources):
    """Each key that a program reads, with its default where the help states a short one."""
    row = r'(?:\(\s*|\.key = )"([a-z][A-Za-z]+)",\s*(?:\.help =\s*)?(?:(?:std::string\()?"((?:[^"\\]|\\.)*)"|\{\})'
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


class Options(unittest.TestCase):
    """Of the programs, as users call them; those that the daemons' settings make, too."""
    # A user's command up to its end; what follows a name with a slash or a dash is another one's.
    COMMAND = r"(?:^|[\s`])(pinionctl|kubectl pinion|pinion-agent|pinion-extender|pinion-slurm)((?: [^\s`|;&#)]+)+)"

    def setUp(self):
        policy = text_of("policy/*settings.cpp")
        source = re.sub(r'\{\s*"get",[^}]*\}|emplace_back\("[^"]*"\)', "", text_of("ctl/**/*.cpp"))  # what kubectl gets
        plan = "".join(re.search(rf"^Setting {name}\(.*?^}}", policy, re.M | re.S).group(0)
                       for name in re.findall(r"policy::(\w+)\(options", text_of("ctl/plan/node_options.cpp")))
        ctl = set(re.findall(r'"(?:-\w,)?(--[a-z-]+)"[,)}]', source + plan)) | self.flags(re.findall(r'"([a-z]+[A-Z]\w+)"', plan))
        # A setting without a help has no flag, and one has another.
        helped = re.findall(r'"([a-z]\w+)",\s*(?:\.help =\s*)?(?:std::string\()?"', text_of("agent/settings.cpp") + policy)
        named = set(re.findall(r'\.flag = "(.*?)"', policy))
        self.known = {
            "pinionctl": ctl,
            "kubectl pinion": ctl,
            "pinion-agent": self.flags(helped) - {"--reserved-system-cpus"} | named,
            "pinion-extender": self.flags(settings_of("cluster/extender/program/config.cpp")),
            "pinion-slurm": self.flags(settings_of("cluster/slurm/config.cpp")),
        }
        for program, known in self.known.items():
            known |= {"--help", "--version"} | ({"--config", "--check-config"} if program.startswith("pinion-") else set())

    @staticmethod
    def flags(keys):
        return {"--" + re.sub(r"(?<![A-Z])([A-Z])", r"-\1", key).lower() for key in keys}

    def test_every_option_of_a_command_is_there(self):
        unknown, commands = [], 0
        for path in PAGES:
            text = re.sub(r"\\\n\s*", "", text_of(path))
            for program, words in re.findall(self.COMMAND, text, re.M):
                options = re.findall(r" (--[a-z][a-z-]*)", words)
                commands += bool(options)
                unknown += [f"{path}: {program} {option}" for option in options if option not in self.known[program]]
        self.assertGreater(commands, 40)
        self.assertEqual(unknown, [])

    def test_every_option_named_by_itself_is_there(self):
        for path, programs in (("docs/pinionctl.md", ["pinionctl"]), ("docs/configuration.md", ["pinion-agent", "pinionctl"]),
                               ("docs/kubernetes.md", ["pinion-extender"])):
            known = set().union(*(self.known[program] for program in programs))
            text = without_blocks(text_of(path))
            self.assertEqual([option for option in re.findall(r"`(--[a-z][a-z-]*)", text) if option not in known], [], path)

    def test_every_subcommand_of_pinionctl_is_there_and_no_other(self):
        commands = set(re.findall(r'add_subcommand\(\s*"([\w-]+)"', text_of("ctl/**/*.cpp"))) - {"cluster"}  # of doctor
        self.assertGreater(len(commands), 10)
        stated = {re.match(r"`([\w-]+)", cells[0]).group(1)
                  for cells in rows(text_of("docs/pinionctl.md").split("\n\n**The agent**")[0])}
        self.assertEqual(stated, commands)
        self.assertIn("`doctor cluster`", text_of("docs/pinionctl.md"))


class Links(unittest.TestCase):
    @staticmethod
    @functools.cache
    def anchors(path):
        """As GitHub makes them of headings."""
        found = set()
        for heading in re.findall(r"^#+ (.+?)\s*$", without_blocks(text_of(path)), re.M):
            plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
            anchor = re.sub(r"[^\w -]", "", plain).replace(" ", "-")
            found.add(anchor if anchor not in found else anchor + "-1")
        return found

    def missing(self, path, links):
        for link in links:
            target, _, anchor = link.partition("#")
            there = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if not os.path.exists(f"{TOP}/{there}"):
                yield f"{path}: {link}: no file"
            elif anchor and anchor not in self.anchors(there):
                yield f"{path}: {link}: no heading"

    def test_every_link_of_a_page_leads_somewhere(self):
        wrong, count = [], 0
        for path in PAGES:
            text = re.sub(r"`[^`\n]*`", "", without_blocks(text_of(path)))
            links = re.findall(r"\]\((?![a-z]+:)([^)\s]+)\)", text)
            count += len(links)
            wrong += self.missing(path, links)
        self.assertGreater(count, 300)
        self.assertEqual(wrong, [])

    def test_every_page_that_a_source_names_is_there(self):
        wrong, count = [], 0
        for path in FILES:
            if path.endswith((".cpp", ".h", ".py", ".sh", ".yaml", ".txt", ".json", ".proto", ".html", ".service")):
                links = re.findall(r"\bdocs/[\w-]+\.md(?:#[\w-]+)?", text_of(path))
                count += len(links)
                wrong += self.missing("", links)
        self.assertGreater(count, 50)
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
