"""Other libraries: NumPy's protocols, the array API standard, DLPack, dtypes; what NumPy has and Windrow hasn't."""
