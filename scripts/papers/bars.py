"""Bars of the papers' numbers beside the simulated ones, as SVG."""
import math

PAPER, SIMULATED = "#a0aec0", "#2b6cb0"
HEIGHT, LEFT, TOP, BAR, GROUP = 200, 40, 60, 26, 68  # pixels


def height(value, most, logarithmic):
    return HEIGHT * (math.log10(value) / math.log10(most) if logarithmic else value / most)


def plot(title, panels):
    """A panel for each (name, {label: (paper's or None, simulated)}, logarithmic), all values above 1, beside each other."""
    width = LEFT + sum(GROUP * len(bars) + LEFT for _, bars, _ in panels)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{TOP + HEIGHT + 60}"><style>text{{font:11px '
             'sans-serif;fill:#222}path{stroke:#888}svg{background:#fff}</style>',
             f'<text x="{LEFT}" y="20">{title}</text>']
    x0 = LEFT
    for name, bars, logarithmic in panels:
        most = max(value for pair in bars.values() for value in pair if value is not None)
        parts.append(f'<text x="{x0}" y="40">{name}{", logarithmic from 1" if logarithmic else ""}</text>'
                     f'<path d="M{x0} {TOP + HEIGHT}h{GROUP * len(bars)}"/>')
        for number, (label, pair) in enumerate(bars.items()):
            x = x0 + GROUP * number + 6
            for place, (value, color) in enumerate(zip(pair, (PAPER, SIMULATED))):
                if value is None:
                    continue
                tall = height(value, most, logarithmic)
                left, y = x + place * (BAR + 2), TOP + HEIGHT - tall
                parts.append(f'<rect x="{left}" y="{y:.1f}" width="{BAR}" height="{tall:.1f}" fill="{color}"/>'
                             f'<text x="{left + BAR // 2}" y="{y - 3:.1f}" text-anchor="middle" style="font-size:8px">'
                             f'{value:.0f}</text>')
            parts.append(f'<text x="{x + BAR}" y="{TOP + HEIGHT + 15}" text-anchor="middle" style="font-size:9px">{label}</text>')
        x0 += GROUP * len(bars) + LEFT
    for place, (name, color) in enumerate((("paper", PAPER), ("simulated", SIMULATED))):
        parts.append(f'<text x="{LEFT + 80 * place}" y="{TOP + HEIGHT + 42}" style="fill:{color}">{name}</text>')
    return "\n".join(parts) + "\n</svg>\n"
