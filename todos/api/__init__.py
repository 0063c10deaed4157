"""The queue over HTTP: parse, one call of a transition or a selector, render."""
