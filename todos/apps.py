from django.apps import AppConfig


class TodosConfig(AppConfig):
    name = "todos"
    verbose_name = "Todos"

    def ready(self) -> None:
        from todos import tracing
        from todos.feed import publisher
        from todos.hooks import endpoint_ended, todo_transitioned
        from todos.metrics import deltas

        todo_transitioned.connect(deltas.count, dispatch_uid="metrics")
        todo_transitioned.connect(publisher.enqueue, dispatch_uid="feed")
        endpoint_ended.connect(publisher.end, dispatch_uid="feed")
        todo_transitioned.connect(tracing.follow, dispatch_uid="tracing")
