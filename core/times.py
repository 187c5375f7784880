"""Times on their way out of the database."""

from typing import Any

from django.db.models import Func, TextField


class Written(Func):
    """A time as `isoformat` writes it in UTC. Of many rows only: an object of each time takes as long as to read all
    else of its row."""

    arity = 1
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """The text is there as `str` writes it."""
        return self.as_sql(compiler, connection, template="REPLACE(%(expressions)s, ' ', 'T') || '+00:00'", **context)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        digits = "TO_CHAR(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')"
        return self.as_sql(compiler, connection, template=f"REPLACE({digits}, '.000000', '') || '+00:00'", **context)
