from django.apps import AppConfig


class TodosConfig(AppConfig):
    name = "todos"
    verbose_name = "Todos"

    def ready(self) -> None:
        from todos.hooks import todo_transitioned
        from todos.metrics import deltas

        todo_transitioned.connect(deltas.count, dispatch_uid="metrics")
