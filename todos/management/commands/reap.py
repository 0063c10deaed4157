from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from settings_app import reading, registry
from todos import reaper
from todos.selectors import tick_prospects


class Command(BaseCommand):
    help = "Run one tick of the reaper by hand, however recent the last one was."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="print what the tick would do, per cause, queue and outcome, and do nothing",
        )

    def handle(self, *args: Any, dry_run: bool, **options: Any) -> None:
        if dry_run:
            self.preview()
            return
        tick = reaper.tick()
        self.stdout.write(
            f"reaped {tick.reaped}, requeued {tick.requeued} due retries, "
            f"dead-lettered {tick.revoked} of ended endpoints"
        )
        if not tick.good:
            raise CommandError("a part of the tick failed: see the log above")

    def preview(self) -> None:
        ttl = reading.interrupt_lease_ttl()
        if ttl is None:
            key = registry.INTERRUPT_LEASE_TTL.key
            self.stdout.write(f"waits have no deadline: {key} is off or never")
        prospects = tick_prospects(ttl)
        for prospect in prospects:
            self.stdout.write(
                f"{prospect.cause}\tqueue {prospect.queue}\t→ {prospect.outcome}\t{prospect.todos}"
            )
        if not prospects:
            self.stdout.write("nothing is due")
