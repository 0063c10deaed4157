from django.urls import path

from todos.board import views
from todos.board.stream import stream

app_name = "board"
urlpatterns = [
    path("", views.board, name="board"),
    path("stream", stream, name="stream"),
    path("todos/<str:todo_id>/", views.show, name="panel"),
    path("todos/<str:todo_id>/<slug:name>/", views.do, name="do"),
]
