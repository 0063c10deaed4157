from typing import Any

from django.core.management.base import BaseCommand, CommandError

from todos import doctor


class Command(BaseCommand):
    help = "Check the invariants of every todo in one snapshot; fails if any is broken."

    def handle(self, *args: Any, **options: Any) -> None:
        count = 0
        for violation in doctor.examine():
            self.stdout.write(str(violation))
            count += 1
        if count:
            raise CommandError(f"{count} violations")
        self.stdout.write(f"healthy: {len(doctor.CHECKS)} checks found nothing")
