"""Tasks on a rank: calls of users' functions on threads of their own, whose results stay until the driver drops them.

TaskService                      runs what is ordered, keeps results, gives them to other ranks
workers/wire/task_messages.py    what the scheduler's board and ranks tell each other
"""
