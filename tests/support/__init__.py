"""What tests share.

`arrays`: lazy arrays beside NumPy's. `beside_scipy`: calls of SciPy's functions and ours. `chunks`: cuts of axes.
`counting`: what something costs, without a clock. `each_call`: an interrupt at each call. `loading`: modules that lie
in no package. `pairs`: cases of independent parameters. `ranks`: ranks that are killed. `sources`, `transports`: what
each kind of files, and each transport, must do. `verified`: checks of every plan. `views`: programs that write through
views. `waiting`: for what another thread or process does.
"""
