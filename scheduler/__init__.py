"""The central scheduler: the ledger of tasks and chunks, the engine that drives it, and clusters to run it on."""
