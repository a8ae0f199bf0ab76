"""Users' functions on their way to ranks: pickled, named by content, adapted."""
