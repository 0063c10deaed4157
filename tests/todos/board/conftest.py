from tests.todos.admin.conftest import operator, stranger, viewer

__all__ = ["operator", "stranger", "viewer"]
