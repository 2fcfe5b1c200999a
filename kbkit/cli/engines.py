"""The options that choose the engine of answer expressions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from kbkit.cli.options import option
from kbkit.errors import Command, KbError, Option

if TYPE_CHECKING:
    from kbkit.answers.engines import Engine


@dataclass(frozen=True)
class EngineOptions:
    """The options that choose an engine."""

    engine: Annotated[
        str,
        option("--engine -e NAME", "Engine: walk, sql, sparql or spark; all return the same answers."),
    ] = "walk"
    parquet: Annotated[
        str | None,
        option("--parquet PATH", "Parquet export of the KB, for the engine spark.", rare=True),
    ] = None
    spark_master: Annotated[
        str,
        option("--spark-master URL", "URL of the Spark master, for the engine spark.", rare=True),
    ] = "local[*]"
    endpoint: Annotated[
        str | None,
        option("--endpoint URL", "SPARQL endpoint with the triples of the KB, used as the engine."),
    ] = None

    @contextlib.contextmanager
    def opened(self) -> Iterator[str | Engine]:
        """Open the engine."""
        if self.endpoint is not None:
            if self.engine != "walk" or self.parquet is not None:
                raise KbError(f"The endpoint {self.endpoint} is an engine itself", "Remove --engine and --parquet")
            from kbkit.answers.engines.sparql_endpoint import Endpoint

            yield Endpoint(self.endpoint)
        elif self.engine == "spark":
            if self.parquet is None:
                export = Command("export KB -f parquet -o PATH")
                hint = ("Use ", Option("parquet", "PATH"), "; to write one: ", export)
                raise KbError("The engine spark needs a Parquet export", *hint)
            from kbkit.answers.engines.spark import Spark

            with Spark(self.parquet, self.spark_master) as spark:
                yield spark
        elif self.parquet is not None:
            raise KbError("Option --parquet applies to the engine spark only", "Add ", Option("engine", "spark"))
        else:
            yield self.engine
