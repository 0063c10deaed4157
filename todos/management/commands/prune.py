import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from todos.retention import PruneResult, prune

PROGRESS_SECONDS = 2.0


class Command(BaseCommand):
    help = "Delete ended todos and their attempts as the retention settings say."

    def handle(self, *args: Any, **options: Any) -> None:
        self.told = time.monotonic()
        result = prune(progress=self.progress)
        self.stdout.write(self.in_words(result))
        if not result.good:
            raise CommandError("a part of the run failed: see the log above")

    def progress(self, result: PruneResult) -> None:
        if time.monotonic() - self.told >= PROGRESS_SECONDS:
            self.told = time.monotonic()
            self.stdout.write(f"… {self.in_words(result)}")

    def in_words(self, result: PruneResult) -> str:
        return (
            f"deleted {result.todos} todos ({result.by_age} by age, {result.by_count} by count, "
            f"{result.dead_letters} dead letters) and {result.attempts} attempts"
        )
