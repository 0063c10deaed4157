from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from settings_app import reading
from settings_app.registry import INTERRUPT_LEASE_TTL
from settings_app.values import accepted, shown, typed
from todos import reaper, ttl_effect
from todos.selectors import tick_prospects, waits_under


class Command(BaseCommand):
    help = "Run one tick of the reaper by hand, however recent the last one was."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="print what the tick would do, per cause, queue and outcome, and do nothing",
        )
        parser.add_argument(
            "--ttl",
            help=(
                "with --dry-run: as if the interrupt TTL were this one, in seconds or as 90m, "
                "36h or 2d; 0: the sweep is off"
            ),
        )

    def handle(self, *args: Any, dry_run: bool, ttl: object = None, **options: Any) -> None:
        if ttl is not None and not dry_run:
            raise CommandError(
                "--ttl is only for --dry-run. A tick goes by the settings row "
                f"{INTERRUPT_LEASE_TTL.key}. Nothing was done."
            )
        if dry_run:
            self.preview(None if ttl is None else self.parse(str(ttl)))
            return
        tick = reaper.tick()
        self.stdout.write(
            f"reaped {tick.reaped}, requeued {tick.requeued} due retries, "
            f"dead-lettered {tick.revoked} of ended endpoints"
        )
        if not tick.good:
            raise CommandError("a part of the tick failed: see the log above")

    def parse(self, text: str) -> str:
        value = typed(INTERRUPT_LEASE_TTL, text)
        if value is None:
            raise CommandError(f"--ttl: {shown(text)} is not {accepted(INTERRUPT_LEASE_TTL)}")
        return value

    def preview(self, value: str | None) -> None:
        key = INTERRUPT_LEASE_TTL.key
        if value is None:
            ttl = reading.interrupt_lease_ttl()
            waits = waits_under(ttl, ttl)
            if ttl is None:
                self.stdout.write(f"waits have no deadline: {key} is off or never")
        else:
            effect = ttl_effect.foresee(reading.report(key).stored, value)
            waits = effect.waits
            self.stdout.write(f"With {effect.words}: {effect.summary}")
            if waits.oldest:
                self.stdout.write(effect.oldest_in_words)
        prospects = tick_prospects(waits)
        for prospect in prospects:
            self.stdout.write(
                f"{prospect.cause}\tqueue {prospect.queue}\t→ {prospect.outcome}\t{prospect.todos}"
            )
        if not prospects:
            self.stdout.write("nothing is due")
