"""`python -m windrow`: its options, scripts, the prompt, `doctor`, and starting ranks."""
