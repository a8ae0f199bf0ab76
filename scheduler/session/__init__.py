"""What a user's call goes through: clusters, sessions, jobs, results, progress."""
