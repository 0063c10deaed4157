from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from todos.api.urls import urls as api_urls
from todos.metrics.views import metrics

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("api/v1/", api_urls),
    path("board/", include("todos.board.urls")),
    path("metrics", metrics, name="metrics"),
]
