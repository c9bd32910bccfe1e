"""On which kind of machine this runs."""
import os


def machine(cpuinfo="/proc/cpuinfo"):
    """As "AMD EPYC (family 26, model 2), 2 CPUs"."""
    words = {}
    with open(cpuinfo, encoding="utf-8") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            words.setdefault(name.strip(), value.strip())
    return (f"{words.get('model name', 'an unknown CPU')} (family {words.get('cpu family')}, "
            f"model {words.get('model')}), {os.cpu_count()} CPUs")
