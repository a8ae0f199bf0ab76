"""What estimators compute by: directions, centres, the logistic objective, and their documents."""
