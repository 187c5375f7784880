"""Settings of the property tests: the same examples each time, and no clock."""

from hypothesis import settings

settings.register_profile("stats", deadline=None, derandomize=True, max_examples=80)
settings.load_profile("stats")
