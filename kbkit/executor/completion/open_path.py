"""A path of an answer expression that is not finished at the cursor."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class OpenPath:
    """A path before the cursor: the types of its sets (None: unknown or any) and its last element.

    ``last`` is ``""`` (start), ``set``, ``arrow`` or ``step``; ``step`` holds the relations of a step whose second set
    is missing, None elsewhere.
    """

    types: list[str | None] = field(default_factory=list)
    arrows: list[str] = field(default_factory=list)
    last: str = ""
    step: tuple[tuple[str, bool], ...] | None = None
    followed: tuple[tuple[str, bool], ...] = ()
    """The relations of the last step that has its second set."""
    lookup: str = ""
    """After a type: ``:`` or ``all`` before a name, ``@`` before the name of a set, ``done`` after one; ``count`` at
    the start of a count's path."""

    @property
    def answer(self) -> str | None:
        """The type where the arrows meet."""
        if not self.types:
            return None
        sets = [arrow for arrow, _ in zip(self.arrows, self.types[1:], strict=False)]
        return self.types[sets.index("<-")] if "<-" in sets else self.types[-1]

    def add(self, node_type: str | None) -> None:
        """Append a set."""
        self.types.append(node_type)
        self.followed = self.step or ()
        self.last, self.step, self.lookup = "set", None, ""
