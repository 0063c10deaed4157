"""The operators' admin: what they see, and the transitions that they may call.

It writes no row itself but the log of who did what.
"""

from django.contrib import admin

from todos.admin import ttl
from todos.admin.attempts import AttemptAdmin
from todos.admin.endpoints import EndpointAdmin
from todos.admin.todos import TodoAdmin

# Its link "View site" would lead back here.
admin.site.site_url = None

__all__ = ["AttemptAdmin", "EndpointAdmin", "TodoAdmin", "ttl"]
