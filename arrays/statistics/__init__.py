"""Statistics: reductions that pass over NaN, histograms, covariances, comparisons of whole arrays."""
