#!/usr/bin/env python3
"""Attacks an mfl server on loopback and prints what became of its rounds: run.py --mfl PATH.

Four honest nodes train while one process attacks, each attack with each certificate that applies. The attacker runs with
niceness 19 by default: on a network it would have a machine of its own, here it shares the server's cores. With --short
nothing is judged that depends on speed: the server must live, rounds must be committed during and after each attack with the
digests of mfl run, and memory must stay in its bounds. Exit code 1 if the server does not hold."""
import argparse
import json
import sys

from attacks import ATTACKS
from measure import finish, judge_speed, measure, started

HEAD = ("attack", "certificate", "rounds/s", "during", "share", "start MB", "peak +MB", "after +MB", "attacked with", "result")
WIDTHS = (19, 11, 9, 9, 7, 9, 9, 10, 44, 0)


def row(values):
    return "  ".join(f"{value:<{width}}" if number in (0, 1, 8, 9) else f"{value:>{width}}"
                     for number, (value, width) in enumerate(zip(values, WIDTHS))).rstrip()


def table_row(figure):
    effort = ", ".join(f"{count:,} {what}" for what, count in figure.tally.items() if count and what != "bytes")
    before, share = (f"{figure.before:.1f}", f"{100 * figure.share:.0f} %") if figure.before else ("-", "-")
    return row((figure.attack, figure.certificate, before, f"{figure.during:.1f}", share, f"{figure.start_mb:.0f}",
                f"{figure.peak_mb - figure.start_mb:.0f}", f"{figure.after_mb - figure.start_mb:.0f}", effort,
                "; ".join(figure.problems) or "holds"))


def figure_line(figure):
    return (f"{100 * figure.share:.0f} % of the rounds per second under {figure.attack} with certificate {figure.certificate} "
            f"({figure.during:.0f} of {figure.before:.0f}), {figure.peak_mb:.0f} MB at most, {figure.after_mb:.0f} MB "
            f"{figure.settled:.0f} s later"
            + (f"; FAILED: {'; '.join(figure.problems)}" if figure.problems else ""))


def rows(arguments):
    """(attack, certificate) pairs that the arguments choose."""
    for attack in ATTACKS:
        if arguments.only and attack.name not in arguments.only or arguments.group not in (None, attack.group):
            continue
        for certificate in attack.certificates:
            if arguments.certificate in (None, certificate) or len(attack.certificates) == 1:
                yield attack, certificate


def judged(federation, attack, certificate, arguments):
    niceness = 0 if arguments.no_nice else 19
    if arguments.short:
        seconds = arguments.seconds if certificate == attack.certificates[-1] else arguments.seconds / 2
        return measure(federation, attack, certificate, seconds, niceness=niceness)
    figure = measure(federation, attack, certificate, arguments.seconds, arguments.seconds, arguments.settle, niceness)
    return judge_speed(figure, arguments.settle)


def attack_all(arguments, show):
    """All figures, and how the rounds compare with mfl run."""
    figures, digests, federation = [], [], None
    try:
        for attack, certificate in rows(arguments):
            federation = federation or started(arguments.mfl)
            figures.append(judged(federation, attack, certificate, arguments))
            if arguments.any_memory:
                figures[-1].problems = [problem for problem in figures[-1].problems if "quota" not in problem and "kept" not in problem]
            show(figures[-1])
            if figures[-1].problems:  # the next attack must not pay for this one
                if federation.alive():
                    digests.append(finish(federation))
                federation.close()
                federation = None
        if federation:
            digests.append(finish(federation))
    finally:
        if federation:
            federation.close()
    return figures, digests


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mfl", required=True, help="the binary")
    parser.add_argument("--seconds", type=float, default=30, help="length of each attack, and of the undisturbed time before it")
    parser.add_argument("--settle", type=float, default=60, help="seconds after an attack within which memory must be given back")
    parser.add_argument("--only", action="append", metavar="NAME", help="this attack; may be repeated")
    parser.add_argument("--group", choices=("floods", "holds"), help="only the attacks of this kind")
    parser.add_argument("--short", action="store_true", help="judge nothing that depends on speed; no undisturbed time")
    parser.add_argument("--any-memory", action="store_true", help="do not judge memory, for builds with a sanitizer")
    parser.add_argument("--certificate", choices=("revoked", "valid", "none"), help="only with this certificate")
    parser.add_argument("--no-nice", action="store_true", help="the attacker competes for the cores as an equal")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--figures", action="store_true", help="one line per figure, which begins with a number")
    parser.add_argument("--list", action="store_true", help="print the attacks and exit")
    arguments = parser.parse_args()
    if arguments.list:
        for attack in ATTACKS:
            print(f"{attack.name:<20} {'/'.join(attack.certificates):<20} {attack.what}")
        return 0
    unknown = set(arguments.only or ()) - {attack.name for attack in ATTACKS}
    if unknown:
        parser.error(f"unknown attack {', '.join(sorted(unknown))}; see --list")
    shows = not arguments.json
    if shows and not arguments.figures:
        print(row(HEAD), flush=True)
    write = figure_line if arguments.figures else table_row
    figures, digests = attack_all(arguments, lambda figure: print(write(figure), flush=True) if shows else None)
    wrong = [problem for _, problem in digests if problem]
    rounds = sum(count for count, _ in digests)
    if arguments.json:
        print(json.dumps({"figures": [figure.as_json() for figure in figures], "rounds": rounds, "problems": wrong}))
    else:
        print(f"{rounds} rounds under attack compared with mfl run: {'; '.join(wrong) or 'equal digests'}")
    return 1 if wrong or any(figure.problems for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
