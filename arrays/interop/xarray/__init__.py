"""xarray on Windrow: the chunk manager "windrow", and what xarray does otherwise for arrays of Windrow."""
