"""Statistics: reductions that ignore NaN, histograms, covariances, comparisons of whole arrays."""
