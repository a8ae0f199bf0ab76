"""Tasks: calls of users' functions on ranks, with futures for their results. A graph of calls beside that of arrays.

    Board        which task may run, and where: the rules, without I/O
    Dispatcher   tells ranks what to run, takes what they tell, and lets futures know
    Future       the standard library's, of a result that stays on the ranks until it is asked for

A task is a record: the pickled call, the tasks whose results it takes, and where its result is. That is its lineage: a
result that dies with a rank is made again from the record, and what it took before that. Results small enough come to
the driver with the word that they are there, and go out again along with the calls that take them.
"""
