"""Calls of functions on the ranks: `submit` and its kin, and lazy calls.

submit, map, gather, scatter, Executor   calls that begin at once, with futures
delayed, from_delayed                    calls that wait until they are asked for
calls                                    what a call's pickle is, and how arguments go
"""
