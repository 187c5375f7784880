"""What a client announces and what it sends: a body that ends early is not taken for a whole one."""

from collections.abc import Callable, Iterable
from typing import Any

from django.core.exceptions import BadRequest

Environment = dict[str, Any]
Application = Callable[[Environment, Callable[..., Any]], Iterable[bytes]]


def whole_bodies(application: Application) -> Application:
    """Refuse, with 400, to read past the point where a client broke off: half a file looks like a shorter file."""

    def guarded(environ: Environment, start_response: Callable[..., Any]) -> Iterable[bytes]:
        announced = environ.get("CONTENT_LENGTH") or "0"
        if announced.isascii() and announced.isdigit():
            environ["wsgi.input"] = Announced(environ["wsgi.input"], int(announced))
        return application(environ, start_response)

    return guarded


class Announced:
    """The stream of a request's body, which must have the length that was announced for it."""

    def __init__(self, stream: Any, length: int) -> None:
        self.stream = stream
        self.left = length

    def read(self, size: int = -1) -> bytes:
        return self._checked(self.stream.read, size)

    def readline(self, size: int = -1) -> bytes:
        return self._checked(self.stream.readline, size)

    def _checked(self, read: Callable[[int], bytes], size: int) -> bytes:
        wanted = self.left if size < 0 else min(size, self.left)
        data = read(wanted) if wanted else b""
        if wanted and not data:
            raise BadRequest(f"the body ended {self.left} bytes before its announced length")
        self.left -= len(data)
        return data
