"""How a rank comes to its link: launched by `mpirun`, spawning the others, or spawned."""
