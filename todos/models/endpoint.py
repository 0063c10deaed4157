"""Vended endpoints."""

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from todos.inputs import MAX_LABEL_LENGTH
from todos.models.fields import StatementTimestamp
from todos.verbs import DRAIN


class Endpoint(models.Model):
    """A vended capability and the tenant boundary of its todos (the domain: Words)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=MAX_LABEL_LENGTH)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True)
    queues = ArrayField(models.CharField(max_length=MAX_LABEL_LENGTH))
    verbs = ArrayField(models.TextField(), db_default=[str(verb) for verb in DRAIN])
    default_lease_ttl_seconds = models.IntegerField(null=True, blank=True)
    credential_hash = models.BinaryField(unique=True)
    credential_prefix = models.CharField(max_length=16)
    created_at = models.DateTimeField(db_default=StatementTimestamp())
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revocation_finished_at = models.DateTimeField(null=True, blank=True)
    """When the last live todo of a revoked endpoint was dead-lettered; NULL: not yet."""

    class Meta:
        db_table = "endpoints"
        # Endpoints are vended and revoked, never edited or deleted.
        default_permissions = ("view",)
        permissions = [
            ("vend_endpoint", "Can vend endpoints"),
            ("revoke_endpoint", "Can revoke endpoints"),
        ]
        indexes = [
            # revocations_open.sql, in each tick
            models.Index(
                fields=["revoked_at"],
                name="endpoints_unfinished_idx",
                condition=Q(revoked_at__isnull=False, revocation_finished_at__isnull=True),
            ),
            # endpoints_expire.sql, in each tick
            models.Index(
                fields=["expires_at"],
                name="endpoints_expiry_idx",
                condition=Q(revoked_at__isnull=True, expires_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.name
