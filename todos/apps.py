from django.apps import AppConfig


class TodosConfig(AppConfig):
    name = "todos"
    verbose_name = "Todos"

    def ready(self) -> None:
        from todos import tracing
        from todos.feed import publisher
        from todos.hooks import endpoint_ended, todos_transitioned
        from todos.metrics import deltas

        todos_transitioned.connect(deltas.count, dispatch_uid="metrics")
        todos_transitioned.connect(publisher.enqueue, dispatch_uid="feed")
        endpoint_ended.connect(publisher.end, dispatch_uid="feed")
        todos_transitioned.connect(tracing.follow, dispatch_uid="tracing")
