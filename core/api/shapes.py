"""The schema of an answer, read off the frozen dataclass that it is made from: the two cannot differ."""

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from django.utils.safestring import SafeString
from rest_framework import serializers

from core.api.problems import ALLOWED

PLAIN: dict[Any, type[serializers.Field[Any, Any, Any, Any]]] = {
    str: serializers.CharField,
    SafeString: serializers.CharField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    bool: serializers.BooleanField,
    datetime: serializers.DateTimeField,
    Any: serializers.JSONField,
}


@cache
def shape(kind: type) -> type[serializers.Serializer[Any]]:
    """A serializer class of the dataclass's name and fields."""
    hints = get_type_hints(kind)
    made = {field.name: _field(hints[field.name]) for field in fields(kind)}
    return type(kind.__name__, (serializers.Serializer,), made | {"__doc__": kind.__doc__})


def _field(hint: Any, **more: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (inner,) = [one for one in arguments if one is not type(None)]
        return _field(inner, allow_null=True, **more)
    if origin in (tuple, list) or (isinstance(origin, type) and issubclass(origin, Sequence)):
        # A tuple of several texts is a row of them.
        return serializers.ListField(child=_field(arguments[0]), **more)
    if origin is dict or (isinstance(origin, type) and issubclass(origin, Mapping)):
        child = arguments[1]
        return serializers.DictField(**({} if child is Any else {"child": _field(child)}), **more)
    if is_dataclass(hint):
        return shape(hint)(**more)  # type: ignore[arg-type]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return serializers.ChoiceField(choices=[one.value for one in hint], **more)
    if hint is str or hint is SafeString:
        more |= {"allow_blank": True}
    return PLAIN[hint](**more)


class Given(serializers.Serializer[Any]):
    """What a client sends. A name that is not known is said to be so: it may be a known one, mistyped."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            unknown = [str(name) for name in data if name not in self.fields]
            if unknown:
                allowed = ", ".join(self.fields) or "nothing"
                raise serializers.ValidationError(dict.fromkeys(unknown, f"not known here{ALLOWED}{allowed}"))
        return super().to_internal_value(data)


def one_of(values: Iterable[str], **more: Any) -> serializers.ChoiceField:
    names = list(values)
    said = {"invalid_choice": f"not one of these{ALLOWED}{', '.join(names)}"}
    return serializers.ChoiceField(choices=names, error_messages=said, **more)


def texts(longest: int | None = None, **more: Any) -> serializers.CharField:
    """A text as it was written: nothing is trimmed. Which may be blank, the service says."""
    given: dict[str, Any] = {"allow_blank": True, "trim_whitespace": False, "max_length": longest}
    return serializers.CharField(**(given | more))
