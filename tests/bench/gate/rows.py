"""What is measured, and what each figure is held against."""
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """Arguments may hold {bin} and {go}, folders with programs of C++ and of Go; {work}, a folder for all of one turn;
    {out}, the file where its measurements are to go; {filter}, of Google Benchmark, for the names that are wanted."""

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()  # programs that leave something in {work} for it
    # On one CPU, with all that it starts: else it depends on the others' idleness how long an answer from another
    # process takes, and how much of Go's garbage collection runs beside.
    one_cpu: bool = True


@dataclass(frozen=True)
class Figure:
    program: str
    name: str
    field: str  # ends with the unit


@dataclass(frozen=True)
class Row:
    what: str
    beside: str
    ours: Figure
    baseline: Figure
    floor: float = 0.25  # by so much, to one, the ratio may always be worse than recorded

    @property
    def key(self):
        return (self.what, self.beside)

    @property
    def uses_go(self):
        return self.baseline.program in GO or self.baseline.name.startswith("pinion-nri-floor-go")


def google(name, *arguments, looks=5):
    """A program of Google Benchmark: some short looks at each benchmark, all of them in random order."""
    return Program(name, (
        "{bin}/" + name, "--benchmark_filter={filter}", "--benchmark_out={out}", "--benchmark_out_format=json",
        f"--benchmark_repetitions={looks}", "--benchmark_min_time=0.05", "--benchmark_enable_random_interleaving=true",
    ) + arguments)


# What 5,000 nodes take does not fit a CPU's caches. How much of the last one is left depends on who else uses the machine,
# which a reference loop does not show.
BEYOND_CACHES = 0.6
# By the clock, and most of it runc's.
OF_CONTAINERD = 0.4

# In the order in which each turn runs them.
PROGRAMS = {program.name: program for program in (
    google("allocate_bench"),
    google("expose_bench"),
    google("extender_bench"),
    google("extender_calls_bench", looks=3),
    google("extender_wire_bench", "{work}"),
    Program("extender-wire-go",
            ("{go}/extender-wire-go", "-test.benchtime=300ms", "-out={out}", "{work}/names.json", "{work}/objects.json"),
            needs=("extender_wire_bench",)),
    Program("counting_bench", ("{bin}/counting_bench", "--json", "{out}", "200")),
    Program("pinion-nri-bench", (
        "{bin}/pinion-nri-bench", "--floor", "{bin}/pinion-nri-floor,{go}/pinion-nri-floor-go", "--standing", "200,500",
        "--lives", "192", "--drops", "2", "--json", "{out}")),
    Program("pinion-fence-bench", (
        "{bin}/pinion-fence-bench", "--fences", "none,leaf", "--shared", "50", "--rounds", "5", "--json", "{out}"),
            one_cpu=False),
)}
GO = {"extender-wire-go"}


def beside_loop(program, what, name, field="cpu_ms", floor=Row.floor):
    return Row(what, "reference loop", Figure(program, name, field), Figure(program, "reference_loop", "cpu_ms"), floor)


def beside_json(what, name):
    ours = Figure("extender_wire_bench", "pinion_reads_and_answers/" + name, "cpu_ms")
    return (
        Row(what, "Go's encoding/json", ours, Figure("extender-wire-go", "go_reads_and_answers/" + name, "cpu_ms")),
        Row(what, "nlohmann-json", ours, Figure("extender_wire_bench", "nlohmann_reads_and_answers/" + name, "cpu_ms")),
    )


def beside_floor(what, name, field, floors=("C++", "Go")):
    program = "pinion-nri-bench"
    names = {"C++": "pinion-nri-floor", "Go": "pinion-nri-floor-go"}
    return tuple(
        Row(what, f"do-nothing plugin in {floor}", Figure(program, "agent/" + name, field),
            Figure(program, f"{names[floor]}/{name}", field))
        for floor in floors)


ROWS = (
    beside_loop("allocate_bench", "4 CPUs in one NUMA node; 256 CPUs, 200 containers", "allocate_numa"),
    beside_loop("allocate_bench", "the same refused, with the reason", "refusal_with_reason"),
    beside_loop("allocate_bench", "from 4 to 6 CPUs there", "resize_by_two"),
    beside_loop("allocate_bench", "the largest request that fits there, of each alignment", "largest_of_all_alignments"),
    beside_loop("expose_bench", "a scrape of 200 containers with every figure", "expose_text/text/200"),
    beside_loop("expose_bench", "the same text packed with gzip", "pack/200"),
    beside_loop("extender_bench", "which of 5,000 nodes take a pod of 8 CPUs, and how well", "pod_filter_and_prioritize/8",
                "p50_us"),
    beside_loop("extender_bench", "the best of 5,000 nodes where none has the memory", "pod_best_node_without_memory"),
    beside_loop("extender_bench", "a plan for a gang of 256 alike in 64 groups", "gang_256_alike/64/500",
                floor=BEYOND_CACHES),
    beside_loop("extender_bench", "the same, two sizes", "gang_256_uneven/64/500", floor=BEYOND_CACHES),
    beside_loop("extender_bench", "policy auto for a job of 50,000 tasks", "granularity_auto/50000",
                floor=BEYOND_CACHES),
    beside_loop("extender_calls_bench", "filter and prioritize of 5,000 names, body to answer, 8 CPUs",
                "single_8_cpus/5000", "both_p50_us"),
    beside_loop("extender_calls_bench", "the same for 32 CPUs, which most nodes refuse", "single_32_cpus/5000", "both_p50_us"),
    beside_loop("extender_calls_bench", "first filter of a gang of 256 of two sizes, which plans it all",
                "gang_256_uneven/5000/500/iterations:30", "first_p50_us", floor=BEYOND_CACHES),
    *beside_json("a filter of 5,000 names read and answered", "names"),
    *beside_json("a filter of 400 node objects read and answered", "objects"),
    Row("counting 200 containers, CPU time of a period", "every event, CPU and container",
        Figure("counting_bench", "pinion/200", "period_cpu_ms"), Figure("counting_bench", "every_event/200", "period_cpu_ms")),
    *beside_floor("CreateContainer beside 200 containers, half of the answers below", "200", "create_p50_ms"),
    *beside_floor("StopContainer beside 200 containers, half of the answers below", "200", "stop_p50_ms"),
    *beside_floor("CPU time of a pod's life beside 200 containers", "200", "life_cpu_ms"),
    *beside_floor("CPU time to come back with 500 containers after a dropped connection", "500/dropped", "cpu_ms"),
    *beside_floor("resident memory with 500 containers", "500", "rss_mib"),
    Row("create and start of a rank beside 50 containers, fence leaf", "containerd without an agent",
        Figure("pinion-fence-bench", "leaf/50", "create_and_start_ms"),
        Figure("pinion-fence-bench", "none/50", "create_and_start_ms"), floor=OF_CONTAINERD),
)


def matching(pattern):
    """The rows whose program, name or baseline matches a regular expression."""
    return tuple(row for row in ROWS if re.search(pattern, " ".join((row.ours.program, row.what, row.beside))))
