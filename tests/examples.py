"""How many examples Hypothesis takes: few, always the same; many new ones under ``--hypothesis-profile=thorough``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

Case = TypeVar("Case")

_NUMBER = 12
_TIMES = 20


def register_profiles() -> None:
    """Set what all properties have in common, before test modules are imported."""
    # A loaded machine is not a defect: there are no deadlines, and no health checks, which measure time too.
    common: dict[str, Any] = {"database": None, "deadline": None, "suppress_health_check": list(HealthCheck)}
    # A default run that passed passes again; the thorough run looks for new examples.
    settings.register_profile("default", max_examples=_NUMBER, derandomize=True, **common)
    settings.register_profile("thorough", max_examples=_NUMBER * _TIMES, derandomize=False, print_blob=True, **common)
    settings.load_profile("default")


def thorough() -> bool:
    """Return whether properties, and matrices of options, are tested at length."""
    return settings.get_current_profile_name() == "thorough"


def examples(number: int = _NUMBER, **options: Any) -> settings:
    """Return the settings of a test that takes ``number`` examples, twenty times as many in a thorough run."""
    return settings(max_examples=number * (_TIMES if thorough() else 1), **options)


def first_some(cases: Sequence[Case], every: int) -> list[Any]:
    """Return cases that are much alike for ``parametrize``: every so many by default, the others with ``system``."""
    return [case if i % every == 0 else pytest.param(case, marks=pytest.mark.system) for i, case in enumerate(cases)]


def some(cases: Sequence[Case], every: int) -> Sequence[Case]:
    """Return every so many of cases that are much alike, all of them in a thorough run."""
    return cases if thorough() else cases[::every]
