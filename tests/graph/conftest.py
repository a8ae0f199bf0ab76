"""Examples are the same in every run, and a busy machine is no failure."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("steady")
