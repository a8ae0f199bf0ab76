"""Workloads that other projects publish, run by Windrow and by its peers under one limit of memory."""
