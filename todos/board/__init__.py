"""The operators' live board: lanes of todos, a todo's panel, and what an operator does there.

It writes no row itself: what it does are the admin's operations, under the admin's permissions.
"""
